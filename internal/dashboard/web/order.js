// In which order the matrix stands: by pressure, without dancing.
import { model } from "./model.js";

/** level is how tight a row is, in steps: what lies within one keeps its place. */
export function level(pressure) {
  if (pressure >= 2) return 5;
  if (pressure >= 1) return 4;
  if (pressure >= 0.8) return 3;
  if (pressure >= 0.5) return 2;
  return pressure >= 0.05 ? 1 : 0;
}

/** order gives host after host, each with its applications first: the rows' ids. */
export function order(filter, pressed) {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
  const hosts = new Map();
  for (const r of model.rows.values()) {
    if (words.length) {
      const all = `${r.host} ${r.key} ${r.method || "application"}`.toLowerCase();
      if (!words.every((w) => all.includes(w))) continue;
    }
    if (pressed && r.pressure < 0.5) continue;
    let h = hosts.get(r.host);
    if (!h) hosts.set(r.host, (h = { name: r.host, top: 0, apps: [], methods: [] }));
    h.top = Math.max(h.top, level(r.pressure));
    (r.method ? h.methods : h.apps).push(r);
  }
  const byName = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
  const ids = [];
  for (const h of [...hosts.values()].sort((a, b) => b.top - a.top || byName(a.name, b.name))) {
    h.apps.sort((a, b) => byName(a.key, b.key));
    h.methods.sort((a, b) => level(b.pressure) - level(a.pressure) || byName(a.method, b.method) || byName(a.key, b.key));
    for (const r of h.apps) ids.push(r.id);
    for (const r of h.methods) ids.push(r.id);
  }
  return ids;
}
