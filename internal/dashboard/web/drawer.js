// All about one row: its windows over time, what waits and why, and how long a
// call that came now would wait.
import { $, h, s, attr, show, text } from "./dom.js";
import { clock, count, left, rate, time } from "./format.js";
import { model } from "./model.js";
import { drawMeter, meter, nameOf } from "./meter.js";
import { focusRow } from "./matrix.js";

const DEPTH = 600;
let id = null, parts, pasts = new Map(), asked = 0, from = null;

const of = (w) => `${w.kind} ${w.window}`;

export function openDrawer(which, open) {
  const r = model.rows.get(which);
  if (!r) return;
  id = which;
  from = { key: r.key, host: r.host, method: r.method };
  pasts = new Map();
  asked = 0;
  const focused = open && parts.close === document.activeElement;
  build(r);
  if (focused) parts.close.focus();
  show($("drawer"), true);
  drawDrawer();
  if (!open) parts.close.focus();
  loadPast(r);
}

function close() {
  const was = id;
  id = null;
  show($("drawer"), false);
  focusRow(was);
}

addEventListener("keydown", (e) => {
  if (e.key === "Escape" && id !== null && !$("ask").open) close();
});

function build(r) {
  parts = { close: h("button", { type: "button", class: "quiet", "aria-label": "Close the details", onclick: close }, "✕"), facts: h("dl"), windows: h("div"), meters: [], queue: h("div"), estimate: h("p", { class: "note" }), spread: h("p", { class: "note" }), since: h("p", { class: "note" }) };
  $("drawer").replaceChildren(
    h("div", { class: "head" }, h("h2", { id: "drawer-title" }, `${r.host} `, h("span", { class: "path" }, r.method || "application")), parts.close),
    parts.facts, h("h3", null, "What waits, and why"), parts.queue,
    ...(r.method ? [h("h3", null, "A call that came now"), parts.estimate] : []),
    h("h3", null, "Windows"), parts.windows, parts.since);
}

async function loadPast(r) {
  const q = new URLSearchParams({ key: r.key, host: r.host, method: r.method });
  const answer = await fetch(`/live/windows?${q}`).then((a) => a.json()).catch(() => null);
  if (!answer || parts.row !== r.id) return;
  for (const w of answer.windows) pasts.set(of(w), { used: w.past[0], others: w.past[1] });
  drawDrawer();
}

/** again finds the row that was gone: of a relay that was started again it has
 * another number, and what waited before any limit was known has keys by now. */
function again() {
  const list = [...model.rows.values()].filter((r) => r.host === from.host && r.method === from.method);
  return list.find((r) => r.key === from.key) ?? (from.key === "" ? list[0] : undefined);
}

/** tickDrawer adds the newest second to what is shown. */
export function tickDrawer() {
  if (id === null) return;
  const r = model.rows.get(id) ?? again();
  if (!r) return drawDrawer();
  if (r.id !== id) return openDrawer(r.id, true);
  for (const w of r.windows) {
    const p = pasts.get(of(w)) ?? { used: [], others: [] };
    p.used.push((1000 * w.used) / (w.limit || 1));
    p.others.push((1000 * (w.others + w.peers)) / (w.limit || 1));
    if (p.used.length > DEPTH) {
      p.used.shift();
      p.others.shift();
    }
    pasts.set(of(w), p);
  }
}

export function drawDrawer() {
  if (id === null) return;
  const r = model.rows.get(id);
  if (!r) {
    text(parts.since, "Nothing is known of it any more: nothing has called it for long, or the relay was started again.");
    return;
  }
  parts.row = r.id;
  facts(r);
  windows(r);
  queue(r);
  if (r.method && Date.now() - asked > 2000) estimate(r);
}

function facts(r) {
  const list = [["Key", r.key || (r.known ? "none (RSO)" : "none yet")], ["Lately", `${rate(r.rate)}/s · ${count(r.flight)} in flight`], ["Waits", r.p95 < 0 ? "no call in the last minute" : `half ${time(r.p50)}, 95 % ${time(r.p95)} or less`],
    ["Last answer", r.status < 0 ? "none came" : r.status ? `${r.status}${r.kind ? ` (${r.kind})` : ""}` : "–"]];
  if (!r.method) list.pop();
  if (r.cool > 0) list.push(["Stopped", `after a 429 (${r.cause}), goes on in ${left(r.cool)}`]);
  if (r.halved) list.push(["Halved", `${r.halved} times: too many 429s of our own making`]);
  if (!r.known) list.push(["Limits", "assumed: Riot has not told them yet"]);
  const now = JSON.stringify(list);
  if (parts.factsShown === now) return;
  parts.factsShown = now;
  parts.facts.replaceChildren(...list.flatMap(([k, v]) => [h("dt", null, k), h("dd", null, v)]));
}

function windows(r) {
  while (parts.meters.length < r.windows.length) {
    const m = meter();
    m.area = s("path", { class: "area" });
    m.foreign = s("path", { class: "foreign" });
    m.curve = s("path", { class: "curve" });
    m.title = h("p", { class: "line" });
    m.wrap = h("div", { class: "past" }, m.title, m.box, s("svg", { viewBox: "0 0 600 60", preserveAspectRatio: "none", role: "img" }, s("path", { class: "ceiling", d: "M0 2H600" }), m.area, m.foreign, m.curve));
    parts.meters.push(m);
    parts.windows.append(m.wrap);
  }
  parts.meters.forEach((m, i) => {
    const w = r.windows[i];
    show(m.wrap, !!w);
    if (!w) return;
    drawMeter(m, r, w);
    text(m.title, [`${w.kind ? nameOf(w) : `${time(w.window)} window`}: ${count(w.used)} of ${count(w.limit)}`, w.flight && `in flight ${count(w.flight)}`, w.peers && `other replicas ${count(w.peers)}`, w.others && `others ${count(w.others)}`].filter(Boolean).join(", "));
    const p = pasts.get(of(w)) ?? { used: [], others: [] };
    const path = (list) => {
      let d = "";
      list.forEach((v, i) => (d += `${i ? "L" : "M"}${DEPTH - list.length + 1 + i} ${(60 - 0.058 * Math.min(v, 1000)).toFixed(1)}`));
      return d;
    };
    const below = (list) => (list.length > 1 ? `${path(list)}L600 60L${DEPTH - list.length + 1} 60Z` : "");
    m.curve.setAttribute("d", path(p.used));
    m.area.setAttribute("d", below(p.used));
    m.foreign.setAttribute("d", p.others.some((v) => v) ? below(p.others) : "");
    attr(m.wrap.lastChild, "aria-label", `Use of the ${nameOf(w)} window over the last ${time(p.used.length * 1000)}`);
  });
  text(parts.since, r.windows.length ? "The last ten minutes; the dashed line is the limit." : "No limit is known.");
}

function queue(r) {
  // Several keys have one queue: the first row of the method has it.
  const holder = r.method ? [...model.rows.values()].find((o) => o.host === r.host && o.method === r.method && o.queues.length) : null;
  const list = holder ? holder.queues : r.method ? [] : [...model.rows.values()].filter((o) => o.host === r.host).flatMap((o) => o.queues.map((q) => ({ ...q, method: o.method })));
  const now = JSON.stringify(list);
  if (parts.queueShown === now) return;
  parts.queueShown = now;
  parts.queue.replaceChildren(...(list.length ? list.slice(0, 20).map((q) => h("div", { class: "waiting" },
    h("p", null, h("b", null, `${count(q.depth)} waiting`), ` · ${q.priority} priority${q.budget ? ` · budget ${q.budget}` : ""}${q.method ? ` · ${q.method}` : ""} · oldest ${time(q.oldest)} · next in ${q.start < 0 ? "?" : time(q.start)}`),
    q.why && h("p", { class: "why" }, (q.key ? `${q.key}: ` : "") + q.why))) : [h("p", { class: "note" }, "Nothing waits.")]));
}

/** ofPlayer is for methods whose calls may go on the key only that gave the id. */
const ofPlayer = (method) => model.general.keys.length > 1 && /\{(encrypted)?(puuid|summonerid|accountid)\}/i.test(method);

async function estimate(r) {
  asked = Date.now();
  const verb = /^([A-Z]+) /.exec(r.method)?.[1] ?? "GET";
  const path = r.method.replace(/^[A-Z]+ /, "").replace(/\{[^}]*\}/g, "x");
  const ask = async (priority) => {
    const answer = await fetch(`/api/v1/estimate?${new URLSearchParams({ host: r.host, path, verb, priority })}`);
    const e = await answer.json();
    return e.error ? e.error : e.refused ? `would be refused (${e.refused})` : e.wait_seconds == null ? "nobody can tell" : e.wait_seconds < 0.0005 ? "would go at once" : `would wait ${time(e.wait_seconds * 1000)}`;
  };
  const said = await Promise.all([ask("normal"), ask("high")]).catch(() => null);
  if (said && parts.row === r.id) text(parts.estimate, `Normal priority: ${said[0]}. High priority: ${said[1]}. ${ofPlayer(r.method) ? "With an id that one of the keys gave, it waits for that key. " : ""}As of ${clock(Date.now() + model.offset)}.`);
}
