// The page over a real relay: RELAY_ADMIN is its address, CONTROL that of the
// test, which puts load on and starts the relay again.
import assert from "node:assert/strict";
import { mkdtempSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { accessible, open } from "./browser.mjs";

const { RELAY_ADMIN, RELAY_FRONT, CONTROL, TOKEN, SHOTS } = process.env;
const dir = mkdtempSync(join(tmpdir(), "riftrelay-page-"));
const { browser, context, problems, quiet } = await open(RELAY_ADMIN);
const page = await context.newPage();
page.setDefaultTimeout(30_000);
const control = (path) => fetch(CONTROL + path, { method: "POST" }).then((r) => assert.equal(r.status, 200, path));
const live = (state) => page.waitForSelector(`#live[data-state=${state}]`);

async function step(name, does) {
  const began = Date.now();
  try {
    await does();
  } catch (e) {
    if (SHOTS) await page.screenshot({ path: join(SHOTS, "failed.png") });
    console.error(`FAILED at "${name}": ${e.stack}\n${problems.join("\n")}`);
    await browser.close();
    process.exit(1);
  }
  console.log(`${name}: ${Date.now() - began} ms`);
}

async function shots(name) {
  for (const width of [360, 768, 1440]) {
    for (const scheme of ["light", "dark"]) {
      await page.setViewportSize({ width, height: width === 360 ? 740 : 900 });
      await page.emulateMedia({ colorScheme: scheme });
      await page.waitForTimeout(300);
      const wide = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
      assert.ok(wide <= 0, `${name} at ${width} px is ${wide} px too wide`);
      problems.push(...(await accessible(page, `${name}, ${width} px, ${scheme}`)));
      if (SHOTS) {
        mkdirSync(SHOTS, { recursive: true });
        await page.screenshot({ path: join(SHOTS, `${name}-${width}-${scheme}.png`), fullPage: !name.startsWith("drawer") });
      }
    }
  }
  await page.setViewportSize({ width: 1440, height: 900 });
  await page.emulateMedia({ colorScheme: "light" });
}

await step("empty: snippets with this relay's address", async () => {
  const response = await page.goto(RELAY_ADMIN + "/");
  assert.match(response.headers()["content-security-policy"], /^default-src 'self'; /);
  await live("on");
  await page.waitForSelector("#connect:not([hidden])");
  assert.match(await page.textContent("#snippet"), new RegExp(`curl '${RELAY_FRONT}/euw1/`));
  await page.getByRole("tab", { name: "Node: twisted" }).click();
  await page.getByRole("button", { name: "Copy" }).click();
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), new RegExp(`baseURL: "${RELAY_FRONT}/\\$\\(region\\)/:game"`));
  await page.keyboard.press("Tab");
  assert.equal(await page.isVisible("#alerts"), false, "nothing is wrong");
  await shots("empty");
});

await step("links: explorer, metrics, admin API, state", async () => {
  const links = page.getByRole("navigation", { name: "More" });
  assert.equal(await links.getByRole("link", { name: "API explorer" }).getAttribute("href"), `${RELAY_FRONT}/swagger/`);
  assert.equal(await page.locator("#connect").getByRole("link", { name: "API explorer" }).getAttribute("href"), `${RELAY_FRONT}/swagger/`);
  for (const [name, has] of [["Metrics", "riftrelay_build_info"], ["Admin API", "openapi|swagger"], ["State as JSON", "\"scopes\""]]) {
    const to = await links.getByRole("link", { name }).evaluate((a) => a.href);
    assert.match(await page.evaluate(async (u) => (await fetch(u)).text(), to), new RegExp(has), name);
  }
});

await step("load: tiles, meters, charts", async () => {
  await control("/load");
  await page.waitForSelector(".row [role=meter]");
  await page.waitForFunction(() => document.querySelectorAll("#limits .rows .row").length > 6);
  await page.waitForFunction(() => [...document.querySelectorAll(".tile")].find((t) => /Queued/.test(t.textContent))?.querySelector("b").textContent > 0);
  assert.equal(await page.isVisible("#connect"), false, "snippets are gone once calls come");
  const meter = page.locator(".row [role=meter]").first();
  assert.match(await meter.getAttribute("aria-valuetext"), /^\d+ of \d+ calls/);
  assert.match(await meter.getAttribute("aria-label"), /key (main|spare), \d+ s$/);
  await page.waitForSelector("#budgets:not([hidden]) >> text=crawler");
  await page.waitForSelector("#events li >> text=limit");
  assert.equal(await page.locator("#charts canvas").count(), 2);
});

await step("titles stay above the rows", async () => {
  const above = await page.evaluate(() => {
    const s = document.querySelector(".scroller");
    s.scrollTop = 200;
    const box = s.getBoundingClientRect(), titles = s.querySelector(".titles").getBoundingClientRect();
    return titles.top - box.top;
  });
  assert.ok(Math.abs(above) <= 2, `they are ${above} px off`);
  await page.evaluate(() => (document.querySelector(".scroller").scrollTop = 0));
});

await step("filter, by mouse and keyboard", async () => {
  await page.keyboard.press("/");
  await page.keyboard.type("europe match");
  await page.waitForFunction(() => [...document.querySelectorAll(".rows .row button.name")].every((b) => /europe .*match/.test(b.title)));
  assert.match(await page.textContent("#limits-count"), /of \d+ rows/);
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#filter"), "");
  await page.fill("#filter", "nothing like this");
  await page.waitForSelector(".scroller[data-empty]");
  await page.fill("#filter", "");
  await page.locator(".rows .row button.name").first().focus();
  await page.keyboard.press("ArrowDown");
  const second = await page.evaluate(() => document.activeElement.closest(".row").getAttribute("aria-rowindex"));
  assert.equal(second, "3", "the arrow goes to the second row");
});

await step("drawer: windows, queue, why, estimate", async () => {
  const waits = ".row[data-kind=method][data-level=wait]:has(.window:not([hidden])) button.name";
  await page.waitForSelector(waits);
  await page.locator(waits).first().focus();
  const was = await page.evaluate(() => document.activeElement.getAttribute("aria-label"));
  await page.keyboard.press("Enter");
  await page.waitForSelector("#drawer .why");
  assert.match(await page.textContent("#drawer .why"), /next slot in|goes on|goes next|asked for/);
  await page.waitForSelector("#drawer .note >> text=Normal priority: would");
  await page.waitForFunction(() => document.querySelector("#drawer .past .curve")?.getAttribute("d")?.split("L").length > 3);
  await shots("drawer");
  await page.keyboard.press("Escape");
  assert.equal(await page.isVisible("#drawer"), false);
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute("aria-label")), was, "the focus is back");
  if (SHOTS) {
    await page.setViewportSize({ width: 1280, height: 940 });
    await page.waitForTimeout(1500);
    await page.evaluate(() => {
      document.activeElement.blur();
      document.querySelector(".scroller").scrollTop = 0;
    });
    await page.screenshot({ path: join(SHOTS, "page.png") });
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  await page.locator(".row[data-kind=application]").first().click();
  await page.waitForSelector("#drawer:not([hidden])");
  await page.getByRole("button", { name: "Close the details" }).click();
});

await step("keys: disable and enable, with the token", async () => {
  quiet.refused = true; // the browser itself writes of a 401
  const card = page.locator("[data-key=spare]");
  await card.getByRole("button", { name: "Disable" }).click();
  await page.locator("dialog").getByRole("button", { name: "Cancel" }).click();
  await card.getByRole("button", { name: "Disable" }).click();
  await page.locator("dialog").getByRole("button", { name: "Disable" }).click();
  await page.fill("dialog input", "wrong");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog >> text=That was not it");
  await page.fill("dialog input", TOKEN);
  await page.keyboard.press("Enter");
  await page.waitForSelector("[data-key=spare][data-state=disabled]");
  await page.waitForSelector("#events li >> text=the key is disabled");
  await card.getByRole("button", { name: "Enable" }).click(); // the token is known now
  await page.waitForSelector("[data-key=spare][data-state=usable]");
  await page.getByRole("button", { name: "Read keys again" }).click();
  await page.waitForSelector("#toast >> text=The keys are as they were");
  quiet.refused = false;
});

await step("a dead key: alert and recheck", async () => {
  await control("/kill");
  await page.waitForSelector("[data-key=spare][data-state=suspect]");
  await page.waitForSelector("#alerts .alert[data-level=bad] >> text=Key spare is suspended");
  await page.locator("[data-key=spare]").getByRole("button", { name: "Recheck" }).click();
  await page.waitForSelector("#toast >> text=the next call tries it");
});

await step("trouble: a stop after a 429 is told", async () => {
  await control("/storm");
  await page.waitForSelector("#alerts .alert >> text=is stopped after a 429");
  await page.waitForFunction(() => [...document.querySelectorAll(".tile")].find((t) => /429s/.test(t.textContent)).querySelector("b").textContent > 0);
  await shots("busy");
});

await step("theme: auto, dark, light, kept over a reload", async () => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.click("#theme");
  assert.equal(await page.textContent("#theme"), "Theme: dark");
  assert.notEqual(await ground(), light);
  await page.reload();
  await live("on");
  assert.equal(await page.textContent("#theme"), "Theme: dark");
  await page.waitForFunction(() => document.querySelector("#throughput-legend b")?.textContent.includes("/s"));
  await page.click("#theme");
  assert.equal(await ground(), light);
  await page.click("#theme");
  assert.equal(await page.textContent("#theme"), "Theme: auto");
});

await step("report: one file that needs nothing else", async () => {
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#report")]);
  assert.match(download.suggestedFilename(), /^riftrelay-\d{4}-\d\d-\d\dT\d{6}\.html$/);
  const file = join(dir, "report.html");
  await download.saveAs(file);
  const text = readFileSync(file, "utf8");
  assert.ok(!/<script|<link|RGAPI-/.test(text), "no script, no link, no key");
  const saved = await context.newPage();
  await saved.goto(pathToFileURL(file).href);
  const rows = await saved.locator(".row:not(.titles)").count();
  assert.ok(rows > 6, `${rows} rows`);
  assert.equal(await saved.evaluate(() => [...document.images].filter((i) => i.complete && i.naturalWidth > 100).length), 2);
  if (SHOTS) await saved.screenshot({ path: join(SHOTS, "report.png"), fullPage: true });
  await saved.close();
});

await step("restart: offline is told, then it is live again by itself", async () => {
  const before = await page.evaluate(() => performance.timeOrigin);
  quiet.offline = true;
  await control("/stop");
  await live("off");
  await page.waitForSelector("#alerts .alert[data-level=bad] >> text=doesn't answer");
  if (SHOTS) await page.screenshot({ path: join(SHOTS, "offline.png") });
  await control("/start");
  await live("on");
  quiet.offline = false;
  await page.waitForSelector("#alerts .alert >> text=doesn't answer", { state: "detached" });
  await page.waitForSelector(".rows .row");
  assert.equal(await page.evaluate(() => performance.timeOrigin), before, "nobody had to load the page again");
  assert.equal(await page.isVisible("#alerts >> text=newer page"), false);
});

await step("silence: a connection that stands still is told, and when it goes on", async () => {
  const answers = new Set();
  const between = createServer((client) => {
    const { hostname, port } = new URL(RELAY_ADMIN);
    const relay = connect(port, hostname);
    answers.add(relay);
    for (const [a, b] of [[client, relay], [relay, client]]) a.on("error", () => b.destroy()).on("close", () => b.destroy()).pipe(b);
  });
  await new Promise((ready) => between.listen(0, "127.0.0.1", ready));
  const other = await browser.newPage();
  const state = (s) => other.waitForSelector(`#live[data-state=${s}]`, { timeout: 20_000 });
  await other.goto(`http://127.0.0.1:${between.address().port}/`);
  await state("on");
  const before = await other.evaluate(() => performance.timeOrigin);
  for (const a of answers) a.pause();
  await state("stale");
  await other.waitForSelector("#alerts .alert[data-level=warn] >> text=No news for some seconds");
  for (const a of answers) a.resume();
  await state("on");
  await other.waitForSelector("#alerts .alert >> text=No news", { state: "detached" });
  assert.equal(await other.evaluate(() => performance.timeOrigin), before);
  await other.context().close();
  for (const a of answers) a.destroy();
  await new Promise((ended) => between.close(ended));
});

await step("clients, and a store: there once there are tokens", async () => {
  assert.equal(await page.isVisible("#clients"), false, "nobody needs a token");
  assert.equal(await page.isVisible("#store"), false, "there is no store");
  quiet.offline = true;
  await control("/stop");
  await live("off");
  await control("/tokens");
  await control("/start");
  await live("on");
  quiet.offline = false;
  const clients = page.getByRole("table", { name: "Clients" });
  await clients.waitFor();
  const cell = (name, column) => clients.getByRole("row", { name }).locator(`[data-label="${column}"]`);
  const busy = (name, column) => page.waitForFunction(([n, c]) => /[1-9]/.test(document.querySelector(`#clients tr[data-name=${n}] [data-label="${c}"]`)?.textContent ?? ""), [name, column]);
  await busy("web", "Requests");
  await busy("web", "Waiting");
  assert.match(await cell("web", "Waiting").textContent(), /^[\d,]+ · \d+ %$/);
  await busy("bot", "Refused in 60 s");
  assert.equal(await cell("bot", "Budget").textContent(), "crawler");
  assert.equal(await cell("bot", "Caps").textContent(), "no high priority · only /lol/match/v5, euw1:/lol/status");
  assert.equal(await cell("idle", "Requests").textContent(), "0/s");
  assert.ok(!(await page.content()).includes("token-of-"), "no token is shown");
  assert.deepEqual(await page.getByRole("navigation", { name: "More" }).getByRole("link").allTextContents(), ["Admin API", "State as JSON"], "no link to what is turned off");
  await page.click("#connect-open");
  assert.match(await page.textContent("#snippet"), /YOUR-TOKEN/);
  assert.equal(await page.locator("#connect").getByRole("link").count(), 0);
  await page.click("#connect-open");
  await shots("clients");
  const [download] = await Promise.all([page.waitForEvent("download"), page.click("#report")]);
  const file = join(dir, "clients.html");
  await download.saveAs(file);
  assert.match(readFileSync(file, "utf8"), /<h2[^>]*>Clients<\/h2>.*no high priority/s);
  assert.ok(!readFileSync(file, "utf8").includes("token-of-"));
});

await step("a store: how many replicas live, and what happens while it is away", async () => {
  await page.waitForFunction(() => /^1 replica · store \d+ ms$/.test(document.querySelector("#store:not([hidden])")?.textContent ?? ""));
  await control("/away");
  await page.waitForSelector("#store[data-state=off] >> text=store away for");
  await page.waitForSelector("#alerts .alert[data-level=bad] >> text=/The store has been away for .*This replica goes on within its share/");
  await shots("away");
  await control("/back");
  await page.waitForSelector("#store[data-state=on] >> text=1 replica");
  await page.waitForSelector("#events li >> text=the store is back");
});

await step("an older page asks to be loaded again", async () => {
  await page.evaluate(() => (document.documentElement.dataset.build = "of yesterday"));
  await Promise.all([page.waitForNavigation(), page.getByRole("button", { name: "Load it" }).click()]);
  await live("on");
});

await browser.close();
rmSync(dir, { recursive: true });
assert.deepEqual(problems, []);
