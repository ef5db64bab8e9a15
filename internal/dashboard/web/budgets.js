// Budgets: shares of the limits that some callers have. Present if any is used.
import { $, show } from "./dom.js";
import { count, time } from "./format.js";
import { model } from "./model.js";
import { table } from "./table.js";

const t = table("Budgets", ["Budget", "Fullest window", "Where", "Queue"]);
$("budget-list").append(t.el);

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
  show($("budgets"), list.length > 0);
  t.draw(list.map((b) => ({ name: b.name, cells: [
    b.window ? `${count(b.window.used)}/${count(b.window.limit)} in ${time(b.window.window)}` : "–", b.where || "–", b.depth ? `${count(b.depth)} · ${time(b.oldest)}` : "–",
  ] })));
}
