// One window as a bar with its numbers.
import { h, attr, text, show } from "./dom.js";
import { count, left, time } from "./format.js";

const parts = ["ours", "flight", "peers", "others"];

export const nameOf = (w) => (w.kind ? `budget ${w.kind.slice(7)}, ` : "") + time(w.window);

export function meter() {
  const m = { parts: parts.map((p) => h("i", { class: `seg ${p}` })), tick: h("i", { class: "tick" }), numbers: h("span", { class: "numbers" }), length: h("span", { class: "length" }), reset: h("span", { class: "reset" }) };
  m.bar = h("div", { class: "bar", role: "meter", "aria-valuemin": "0" }, ...m.parts, m.tick);
  m.box = h("div", { class: "window" }, m.bar, m.numbers, m.length, m.reset);
  m.widths = [];
  return m;
}

/** drawMeter shows window w of row r. */
export function drawMeter(m, r, w) {
  const at = (n) => Math.round((1000 * Math.max(0, Math.min(n, w.limit))) / (w.limit || 1)) / 10;
  const ours = w.used - w.others - w.peers - w.flight;
  [ours, w.flight, w.peers, w.others].forEach((n, i) => {
    const width = at(n);
    if (m.widths[i] === width) return;
    m.widths[i] = width;
    m.parts[i].style.width = `${width}%`;
    show(m.parts[i], width > 0);
  });
  const leads = w.kind.startsWith("budget:") || r.rate < 0.05 ? -1 : at((r.rate * w.window) / 1000);
  show(m.tick, leads >= 0);
  if (leads >= 0 && m.leads !== leads) m.tick.style.left = `${(m.leads = leads)}%`;
  attr(m.bar, "data-level", w.used >= w.limit ? "full" : null);
  text(m.numbers, `${count(w.used)}/${count(w.limit)}`);
  text(m.length, `in ${nameOf(w)}`);
  text(m.reset, w.reset > 0 ? left(w.reset) : "");
  attr(m.bar, "aria-label", `${r.host} ${r.method || "application"}${r.key ? `, key ${r.key}` : ""}, ${nameOf(w)}`);
  attr(m.bar, "aria-valuemax", w.limit);
  attr(m.bar, "aria-valuenow", Math.min(w.used, w.limit));
  attr(m.bar, "aria-valuetext", [`${w.used} of ${w.limit} calls`, w.flight && `${w.flight} in flight`, w.peers && `${w.peers} by other replicas`, w.others && `${w.others} by others`, w.reset > 0 && `free again in ${left(w.reset)}`].filter(Boolean).join(", "));
}
