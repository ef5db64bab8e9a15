// What the page costs a browser with everything busy: PAGE is its address.
import assert from "node:assert/strict";
import { open } from "./browser.mjs";

const SECONDS = 15, MOST = 0.05; // of a core

const origin = process.env.PAGE;
const { browser, context, problems } = await open(origin);
const page = await context.newPage();
await page.goto(origin + "/");
await page.waitForFunction(() => /28 hosts, 1,708 rows/.test(document.querySelector("#limits-count").textContent), null, { timeout: 30_000 });
await page.waitForTimeout(5000); // what starting costs is over
const cdp = await context.newCDPSession(page);
await cdp.send("Performance.enable", { timeDomain: "threadTicks" }); // processor time, not that of others on the machine
const read = async () => Object.fromEntries((await cdp.send("Performance.getMetrics")).metrics.map((m) => [m.name, m.value]));
const before = await read(), began = Date.now();
await page.waitForTimeout(SECONDS * 1000);
const after = await read(), took = (Date.now() - began) / 1000;
const share = (name) => (after[name] - before[name]) / took;
const shares = ["TaskDuration", "ScriptDuration", "LayoutDuration", "RecalcStyleDuration", "ThreadTime", "ProcessTime"].filter((n) => n in after).map((n) => `${n} ${(100 * share(n)).toFixed(2)} %`);
console.log(`28 hosts × 60 methods, ${took.toFixed(1)} s: ${shares.join(", ")} of a core`);
console.log(`${after.Nodes} nodes, ${(after.JSHeapUsedSize / 1e6).toFixed(1)} MB of heap`);
const elements = await page.evaluate(() => document.querySelectorAll(".rows .row").length);
assert.ok(elements < 60, `${elements} rows are elements: only those in sight should be`);

// Far down it is the same rows, filled anew.
await page.evaluate(() => (document.querySelector(".scroller").scrollTop = 30_000));
await page.waitForFunction(() => {
  const box = document.querySelector(".scroller").getBoundingClientRect();
  return document.elementFromPoint(box.x + 40, box.y + box.height / 2)?.closest(".row")?.querySelector("[role=meter]");
});
await browser.close();
assert.deepEqual(problems, []);
assert.ok(share("TaskDuration") < MOST, `the page's thread takes ${(100 * share("TaskDuration")).toFixed(1)} % of a core; allowed: ${100 * MOST} %`);
