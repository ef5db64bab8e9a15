// One row of the matrix.
import { h, attr, text, show } from "./dom.js";
import { count, left, method, time } from "./format.js";
import { model } from "./model.js";
import { drawMeter, meter } from "./meter.js";

/** titles is the row above all others. */
export const titles = () => h("div", { class: "row titles", role: "row" }, ...["Host and method", null, "Queue", "Wait p50 / p95", "Last"].map((t) => h("div", { role: "columnheader" }, t ?? h("div", { class: "window" }, ...["Windows", "used", "length", "free in"].map((t) => h("span", null, t))))));

export function makeRow(open) {
  const v = { service: h("b"), rest: h("span", { class: "dim" }), badge: h("span", { class: "pill", "data-state": "stale" }), windows: h("div", { class: "windows", role: "cell" }), queue: h("div", { class: "queue", role: "cell" }), wait: h("div", { class: "wait", role: "cell" }), last: h("div", { class: "last", role: "cell" }), meters: [] };
  v.key = h("span", { class: "dim of" });
  v.button = h("button", { type: "button", class: "name" }, v.service, " ", v.rest);
  v.none = h("span", { class: "dim none" });
  v.windows.append(v.none);
  v.el = h("div", { class: "row", role: "row", onclick: () => open(v.id) }, h("div", { class: "cell", role: "cell" }, v.button, v.key, v.badge), v.windows, v.queue, v.wait, v.last);
  return v;
}

export function drawRow(v, r) {
  const several = (model.general?.keys.length ?? 0) > 1;
  const m = r.method ? method(r.method) : { service: r.host, rest: "application" };
  v.id = r.id;
  attr(v.el, "data-kind", r.method ? "method" : "application");
  attr(v.el, "data-level", r.cool > 0 ? "stop" : r.depth > 0 ? "wait" : null);
  text(v.service, m.service);
  text(v.rest, m.rest);
  text(v.key, several ? r.key : "");
  attr(v.button, "title", `${r.host} ${r.method || "application"}${r.key ? ` · key ${r.key}` : ""}`);
  attr(v.button, "aria-label", `${r.host} ${r.method || "application"}${several && r.key ? `, key ${r.key}` : ""}: details`);
  const said = r.cool > 0 ? `stopped ${left(r.cool)}` : r.halved ? `halved ×${r.halved}` : "";
  text(v.badge, said);
  show(v.badge, said !== "");
  const windows = inRow(r);
  while (v.meters.length < windows.length) {
    const m = meter();
    v.meters.push(m);
    v.windows.append(m.box);
  }
  v.meters.forEach((m, i) => {
    show(m.box, i < windows.length);
    if (i < windows.length) drawMeter(m, r, windows[i]);
  });
  text(v.none, r.known ? "no limit" : "limit not known yet");
  show(v.none, windows.length === 0);
  text(v.queue, r.depth ? `${count(r.depth)} · ${time(r.oldest)}` : "–");
  attr(v.queue, "title", r.depth ? "calls that wait · how long the oldest has" : null);
  text(v.wait, r.p95 < 0 ? "–" : `${time(r.p50)} / ${time(r.p95)}`);
  const bad = r.status < 0 || r.status === 429 || r.status >= 500 || r.status === 401 || r.status === 403;
  text(v.last, r.status < 0 ? "none" : r.status ? `${r.status}` : "–");
  attr(v.last, "title", r.kind ? `429 ${r.kind}` : r.status < 0 ? "Riot didn't answer" : null);
  attr(v.last, "data-level", bad ? "bad" : null);
}

/** inRow gives the windows that a row shows; budgets' are in the drawer. */
const inRow = (r) => r.windows.filter((w) => !w.kind.startsWith("budget:"));

/** heightOf is what drawRow takes, so that rows out of sight need not be made. */
export function heightOf(r, narrow) {
  const windows = Math.max(1, inRow(r).length) * 22;
  return narrow ? 30 + windows + 24 + 12 : Math.max(windows, 22) + 14;
}
