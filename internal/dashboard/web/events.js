// What changed, the latest first.
import { $, h } from "./dom.js";
import { clock } from "./format.js";
import { model } from "./model.js";

let top = null;

export const eventLine = (e) => h("li", { "data-level": e.level }, h("time", { datetime: new Date(e.at).toISOString() }, clock(e.at)), h("span", null, h("b", null, [e.key && `key ${e.key}`, e.host, e.method].filter(Boolean).join(" · ")), " ", e.text));

export function drawEvents() {
  if (model.events[0] === top) return;
  const fresh = [];
  for (const e of model.events) {
    if (e === top) break;
    fresh.push(e);
  }
  top = model.events[0];
  const list = $("events");
  if (fresh.length === model.events.length) list.replaceChildren();
  list.prepend(...fresh.map(eventLine));
  while (list.children.length > 200) list.lastChild.remove();
}
