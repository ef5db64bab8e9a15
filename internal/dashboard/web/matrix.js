// The limits, sorted by pressure. Of thousands of rows only those in sight are
// elements; they are moved, not made anew.
import { $, h, attr, text } from "./dom.js";
import { plural } from "./format.js";
import { model } from "./model.js";
import { order } from "./order.js";
import { drawRow, heightOf, makeRow, titles } from "./row.js";

const REORDER = 5000; // milliseconds: rows that jump can't be read
const narrow = matchMedia("(max-width: 900px)");

let ids = [], tops = [], height = 0, ordered = 0, shape = -1, dirty = true, openRow;
const views = new Map(); // by row id
const spare = [];

const inner = h("div", { class: "rows", role: "rowgroup" });
const scroller = h("div", { class: "scroller", tabindex: "0", role: "table", "aria-label": "Limits, the tightest first" },
  h("div", { class: "heads", role: "rowgroup" }, titles()), inner);

export function startMatrix(open) {
  openRow = open;
  $("matrix").append(scroller);
  scroller.addEventListener("scroll", () => requestAnimationFrame(drawRows), { passive: true });
  const again = () => { dirty = true; drawMatrix(); };
  new ResizeObserver(() => requestAnimationFrame(drawRows)).observe(scroller);
  narrow.addEventListener("change", again);
  $("filter").addEventListener("input", again);
  $("pressed").addEventListener("change", again);
  $("filter").addEventListener("keydown", (e) => {
    if (e.key === "Escape" && e.target.value) {
      e.target.value = "";
      again();
      e.stopPropagation();
    }
  });
  scroller.addEventListener("keydown", (e) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[e.key];
    const v = step && [...views.values()].find((v) => v.button === document.activeElement);
    if (!v) return;
    e.preventDefault();
    focusRow(ids[ids.indexOf(v.id) + step]);
  });
}

/** focusRow brings a row into sight and puts the focus on it. */
export function focusRow(id) {
  const i = ids.indexOf(id);
  if (i < 0) return;
  const title = scroller.firstChild.offsetHeight, bottom = tops[i] + heightOf(model.rows.get(id), narrow.matches);
  if (tops[i] < scroller.scrollTop) scroller.scrollTop = tops[i];
  else if (bottom + title > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = bottom + title - scroller.clientHeight;
  drawRows();
  views.get(id)?.button.focus({ preventScroll: true });
}

export function drawMatrix() {
  const now = performance.now();
  const busy = scroller.matches(":hover") || scroller.contains(document.activeElement);
  if (dirty || shape !== model.shape || (now - ordered > REORDER && !busy)) {
    ids = order($("filter").value, $("pressed").checked);
    ordered = now;
    shape = model.shape;
    dirty = false;
    const hosts = new Set(ids.map((id) => model.rows.get(id).host)).size;
    text($("limits-count"), ids.length === model.rows.size ? `${plural(hosts, "host")}, ${plural(ids.length, "row")}` : `${ids.length} of ${plural(model.rows.size, "row")}`);
    attr(scroller, "aria-rowcount", ids.length + 1);
  }
  measure();
  drawRows();
}

function measure() {
  let top = 0;
  tops = ids.map((id) => {
    const at = top;
    top += heightOf(model.rows.get(id), narrow.matches);
    return at;
  });
  if (top !== height) inner.style.height = `${(height = top)}px`;
  attr(scroller, "data-empty", ids.length ? null : "yes");
}

function drawRows() {
  const from = scroller.scrollTop - 200, to = scroller.scrollTop + (scroller.clientHeight || 600) + 200;
  let first = 0;
  for (let low = 0, high = ids.length; low < high; ) {
    const mid = (low + high) >> 1;
    if (tops[mid] < from) first = low = mid + 1;
    else high = mid;
  }
  const wanted = new Map();
  for (let i = Math.max(0, first - 1); i < ids.length && tops[i] < to; i++) wanted.set(ids[i], i);
  for (const [id, v] of views) {
    const focused = v.button === document.activeElement && model.rows.has(id);
    if (wanted.has(id) || (focused && ids.includes(id) && wanted.set(id, ids.indexOf(id)))) continue;
    views.delete(id);
    v.el.remove();
    spare.push(v);
  }
  let before = null;
  for (const [id, i] of [...wanted].sort((a, b) => a[1] - b[1])) {
    let v = views.get(id);
    if (!v) views.set(id, (v = spare.pop() ?? makeRow((id) => openRow(id))));
    const r = model.rows.get(id);
    if (v.drawn !== r || v.id !== id) {
      drawRow(v, r);
      v.drawn = r;
    }
    if (v.top !== tops[i]) v.el.style.transform = `translateY(${(v.top = tops[i])}px)`;
    const tall = heightOf(r, narrow.matches);
    if (v.tall !== tall) v.el.style.height = `${(v.tall = tall)}px`;
    attr(v.el, "aria-rowindex", i + 2);
    // Elements stand in the order of rows, for the keyboard and screen readers.
    const after = before ? before.nextSibling : inner.firstChild;
    if (after !== v.el) {
      const had = document.activeElement;
      inner.insertBefore(v.el, after);
      if (v.el.contains(had)) had.focus({ preventScroll: true });
    }
    before = v.el;
  }
}
