// Six numbers, each with its last minute.
import { $, h, s, text, attr, show } from "./dom.js";
import { count, plural, rate, time } from "./format.js";
import { last, model } from "./model.js";

const MINUTE = 60;
const sum = (points, of) => points.reduce((n, p) => n + of(p), 0);
const perSecond = (field) => (p) => p[field] / (p.over || 1);

/** mean is the rate over the last three seconds. */
function mean(points, field) {
  const few = points.slice(-3);
  return sum(few, (p) => p[field]) / (sum(few, (p) => p.over) || 1);
}

const known = (points, field) => points.findLast((p) => p[field] >= 0)?.[field] ?? -1;

const tiles = [
  { name: "Requests", unit: "/s", value: (m) => rate(mean(m, "calls")), of: perSecond("calls"),
    note: (m) => { const n = sum(m, (p) => p.refused); return n ? `${count(n)} refused in 60 s` : "none refused"; } },
  { name: "To Riot", unit: "/s", value: (m) => rate(mean(m, "sent")), of: perSecond("sent"), line: (m) => m.at(-1)?.ceiling ?? 0,
    note: (m) => { const c = m.at(-1)?.ceiling; return c ? `${Math.round((100 * mean(m, "sent")) / c)} % of ${rate(c)}/s allowed` : "no limit known yet"; } },
  { name: "Queued", unit: "", value: (m) => count(m.at(-1)?.queued ?? 0), of: (p) => p.queued,
    note: (m) => (m.at(-1)?.queued ? `oldest ${time(m.at(-1).oldest)}` : "nothing waits") },
  { name: "Wait p95", unit: "", value: (m) => time(known(m.slice(-10), "p95")), of: (p) => Math.max(0, p.p95),
    note: (m) => (known(m.slice(-10), "p50") >= 0 ? `half waited ${time(known(m.slice(-10), "p50"))} or less` : "no call of late") },
  { name: "429s", unit: "in 60 s", value: (m) => count(sum(m, (p) => p.limited)), of: (p) => p.limited, bad: (m) => sum(m, (p) => p.ours) > 0,
    note: (m) => ["application", "method", "service", "other"].map((k) => [k, sum(m, (p) => p[k])]).filter(([, n]) => n).map(([k, n]) => `${k} ${n}`).join(" · ") || "none from Riot" },
  { name: "Retries", unit: "in 60 s", value: (m) => count(sum(m, (p) => p.retries)), of: (p) => p.retries,
    note: (m) => `${plural(m.at(-1)?.flight ?? 0, "call")} in flight${model.general?.connections?.most ? `, ${plural(model.general.connections.open, "connection")}` : ""}` },
];

for (const t of tiles) {
  t.number = h("b", null, "–");
  t.small = h("p", { class: "note" }, "");
  t.area = s("path", { class: "area" });
  t.curve = s("path", { class: "curve" });
  t.limit = s("path", { class: "ceiling" });
  t.box = h("article", { class: "tile" }, h("h3", null, t.name), h("p", { class: "value" }, t.number, " ", h("small", null, t.unit)), t.small,
    s("svg", { viewBox: "0 0 60 20", preserveAspectRatio: "none", "aria-hidden": "true" }, t.area, t.curve, t.limit));
  $("tiles").append(t.box);
}

export function drawTiles() {
  const minute = last(MINUTE);
  for (const t of tiles) {
    text(t.number, t.value(minute));
    text(t.small, t.note(minute));
    attr(t.box, "data-level", t.bad?.(minute) ? "bad" : null);
    spark(t, minute);
  }
}

function spark(t, points) {
  const ceiling = t.line?.(points) ?? 0;
  const values = points.map(t.of);
  const top = Math.max(...values, ceiling, 1e-9) * 1.08;
  const now = model.at / 1000;
  const y = (v) => (19.5 - (18.5 * v) / top).toFixed(1);
  let line = "";
  points.forEach((p, i) => (line += `${i ? "L" : "M"}${(MINUTE - now + p.at).toFixed(1)} ${y(values[i])}`));
  const flat = values.every((v) => !v);
  attr(t.curve, "d", flat ? "M0 19.5H60" : line);
  attr(t.area, "d", flat || points.length < 2 ? "" : `${line}L60 20L${(MINUTE - now + points[0].at).toFixed(1)} 20Z`);
  attr(t.limit, "d", ceiling ? `M0 ${y(ceiling)}H60` : "");
  show(t.box, true);
}
