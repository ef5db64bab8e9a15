// A small table, of which only what has changed is touched. Where there is no
// room for columns each row is a block of its own, with the headings beside the
// values; the roles keep it a table for those who listen to it.
import { h, attr, text, show } from "./dom.js";

/** table makes one; draw takes rows of {name, cells}, a cell being a text or
 * {text, title, level, share}, share in percent. */
export function table(label, headings) {
  const body = h("tbody", { role: "rowgroup" });
  const el = h("table", { role: "table", "aria-label": label },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, ...headings.map((t) => h("th", { scope: "col", role: "columnheader" }, t)))), body);
  const rows = new Map();
  let names = "";
  const make = (name) => {
    const cells = headings.slice(1).map((label) => {
      const c = { words: h("span"), part: h("i") };
      c.bar = h("div", { class: "share", "aria-hidden": "true", hidden: true }, c.part);
      c.el = h("td", { role: "cell", "data-label": label }, c.words, c.bar);
      return c;
    });
    return { el: h("tr", { role: "row", "data-name": name }, h("th", { scope: "row", role: "rowheader" }, name), ...cells.map((c) => c.el)), cells };
  };
  const draw = (list) => {
    const now = JSON.stringify(list.map((r) => r.name));
    if (now !== names) {
      names = now;
      for (const name of rows.keys()) if (!list.some((r) => r.name === name)) rows.delete(name);
      body.replaceChildren(...list.map(({ name }) => (rows.get(name) ?? rows.set(name, make(name)).get(name)).el));
    }
    for (const r of list) {
      r.cells.forEach((v, i) => {
        const c = rows.get(r.name).cells[i], { text: words, title = null, level = null, share = null } = typeof v === "string" ? { text: v } : v;
        text(c.words, words);
        attr(c.el, "title", title);
        attr(c.el, "data-level", level);
        attr(c.el, "data-none", words === "–" ? "" : null);
        show(c.bar, share !== null);
        if (share !== null && c.width !== share) c.part.style.width = `${(c.width = share)}%`;
      });
    }
  };
  return { el, draw };
}
