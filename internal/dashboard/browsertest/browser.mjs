// A browser that notices what a page must not do.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** open starts a browser; problems gathers what no test may see. */
export async function open(origin, options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, acceptDownloads: true, ...options });
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin });
  const problems = [];
  const quiet = { offline: false }; // while the relay is away, failed calls are as they should be
  context.on("console", (m) => {
    if (m.type() !== "error" && m.type() !== "warning") return;
    if (quiet.offline && /Failed to load resource|net::ERR/.test(m.text())) return;
    if (quiet.refused && /the server responded with a status of 40[13]/.test(m.text())) return;
    problems.push(`console ${m.type()}: ${m.text()}`);
  });
  context.on("weberror", (e) => problems.push(`error: ${e.error().stack}`));
  context.on("request", (r) => {
    if (!/^(blob|data|file):/.test(r.url()) && new URL(r.url()).origin !== origin) problems.push(`a request left the relay: ${r.url()}`);
  });
  return { browser, context, problems, quiet };
}

/** accessible checks a page by axe, and names what is serious. */
export async function accessible(page, where) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return found.violations.filter((v) => v.impact === "serious" || v.impact === "critical")
    .map((v) => `axe, ${where}: ${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => `${n.target.join(" ")} ${n.any[0]?.message ?? ""}`).join(" | ")}`);
}
