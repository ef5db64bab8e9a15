// The explorer on the relay's own listener, RELAY_FRONT, which takes the client
// token TOKEN: what is tried in it goes through the relay to Riot.
import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { open } from "./browser.mjs";

const { RELAY_FRONT, TOKEN, SHOTS } = process.env;
const { browser, context, problems, quiet } = await open(RELAY_FRONT);
const page = await context.newPage();
page.setDefaultTimeout(30_000);

async function step(name, does) {
  const began = Date.now();
  try {
    await does();
  } catch (e) {
    if (SHOTS) await page.screenshot({ path: join(SHOTS, "explorer-failed.png") });
    console.error(`FAILED at "${name}": ${e.stack}\n${problems.join("\n")}`);
    await browser.close();
    process.exit(1);
  }
  console.log(`${name}: ${Date.now() - began} ms`);
}

async function shot(name) {
  if (!SHOTS) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const width of [360, 1440]) {
    await page.setViewportSize({ width, height: 900 });
    await page.waitForTimeout(300);
    await page.screenshot({ path: join(SHOTS, `explorer-${name}-${width}.png`) });
  }
}

const operation = page.locator(".opblock", { hasText: "/{host}/lol/status/v4/platform-data" });
const live = operation.locator(".live-responses-table");

/** execute clicks, and gives the status, body and headers that are shown. */
async function execute() {
  const answered = page.waitForResponse((r) => r.url().includes("/lol/status/"));
  await operation.getByRole("button", { name: "Execute" }).click();
  const response = await answered;
  await live.locator(".response .response-col_status", { hasText: String(response.status()) }).waitFor();
  await live.getByText(response.headers()["x-request-id"]).waitFor(); // of this call, not of the one before
  return { status: response.status(), headers: response.headers(), sent: await response.request().allHeaders(), shown: await live.innerText(), url: await operation.locator(".request-url").innerText() };
}

async function authorize(token) {
  await page.getByRole("button", { name: "Authorize" }).first().click();
  const field = page.locator(".auth-container", { hasText: "X-Relay-Token" });
  const logout = field.getByRole("button", { name: /remove authorization|logout/i });
  if (await logout.isVisible()) await logout.click();
  await field.locator("input").fill(token);
  await field.getByRole("button", { name: "apply" }).or(field.getByRole("button", { name: "Authorize" })).first().click();
  if (token === TOKEN) await shot("authorize");
  await field.locator(".btn-done").click();
}

await step("all methods, by their tags", async () => {
  const response = await page.goto(RELAY_FRONT + "/swagger/");
  assert.match(response.headers()["content-security-policy"], /^default-src 'none'; /);
  await page.waitForSelector(".opblock-tag");
  const { tags } = await page.evaluate(() => fetch("openapi.json").then((r) => r.json()));
  assert.equal(await page.locator(".opblock-tag").count(), tags.length);
  await shot("begin");
});

await step("without a token: 401", async () => {
  await page.locator(".opblock-tag", { hasText: "lol-status-v4" }).first().click();
  await operation.locator(".opblock-summary-control").click();
  const tryIt = operation.getByRole("button", { name: "Try it out" });
  if (await tryIt.isVisible()) await tryIt.click();
  quiet.refused = true; // the browser itself writes of a 401
  const a = await execute();
  quiet.refused = false;
  assert.equal(a.status, 401);
  assert.match(a.shown, /X-Relay-Token/, "the answer says what to do");
});

await step("with a wrong token: 401", async () => {
  await authorize("nobody-has-this-token");
  quiet.refused = true;
  assert.equal((await execute()).status, 401);
  quiet.refused = false;
});

await step("with the token: 200, by Riot", async () => {
  await authorize(TOKEN);
  const a = await execute();
  assert.equal(a.status, 200);
  assert.equal(a.headers["x-riftrelay-source"], "riot");
  assert.equal(a.sent["x-relay-token"], TOKEN);
  for (const header of ["x-priority", "x-max-wait", "x-riot-token-index", "x-rate-budget"]) assert.equal(a.sent[header], undefined, `${header} is sent, and nobody filled it in`);
  assert.match(a.shown, /x-app-rate-limit/i, "Riot's headers are shown");
  await operation.scrollIntoViewIfNeeded();
  await shot("answered");
});

await step("control headers and another host", async () => {
  const field = (name) => operation.locator(`tr[data-param-name="${name}"]`);
  await field("host").locator("select").selectOption("kr");
  await field("X-Priority").locator("select").selectOption("high");
  await field("X-Max-Wait").locator("input").fill("8s");
  const a = await execute();
  assert.equal(a.status, 200);
  assert.equal(a.sent["x-priority"], "high");
  assert.equal(a.sent["x-max-wait"], "8s");
  assert.match(a.url, /\/kr\/lol\/status\/v4\/platform-data/);
});

await browser.close();
assert.deepEqual(problems, []);
