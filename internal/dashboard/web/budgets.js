// Budgets: shares of the limits that some callers have. Present if any is used.
import { $, h, show } from "./dom.js";
import { count, time } from "./format.js";
import { model } from "./model.js";

let shown = "";

export function drawBudgets() {
  const all = new Map();
  const at = (name) => all.get(name) ?? all.set(name, { name, depth: 0, oldest: 0, window: null, where: "" }).get(name);
  for (const r of model.rows.values()) {
    for (const w of r.windows) {
      if (!w.kind.startsWith("budget:")) continue;
      const b = at(w.kind.slice(7));
      if (!b.window || w.used / w.limit > b.window.used / b.window.limit) Object.assign(b, { window: w, where: `${r.host} ${r.method || "application"}` });
    }
    for (const q of r.queues) {
      if (!q.budget) continue;
      const b = at(q.budget);
      b.depth += q.depth;
      b.oldest = Math.max(b.oldest, q.oldest);
    }
  }
  const list = [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  const rows = list.map((b) => [b.name, b.window ? `${count(b.window.used)}/${count(b.window.limit)} in ${time(b.window.window)}` : "–", b.where, b.depth ? `${count(b.depth)} · ${time(b.oldest)}` : "–"]);
  const now = JSON.stringify(rows);
  if (now === shown) return;
  shown = now;
  show($("budgets"), rows.length > 0);
  $("budget-list").replaceChildren(h("table", null, h("thead", null, h("tr", null, ...["Budget", "Fullest window", "Where", "Queue"].map((t) => h("th", { scope: "col" }, t)))),
    h("tbody", null, ...rows.map(([name, ...rest]) => h("tr", null, h("th", { scope: "row" }, name), ...rest.map((t) => h("td", null, t)))))));
}
