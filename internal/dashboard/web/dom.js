// Elements without a framework: text is set as text, never parsed, and what
// hasn't changed isn't touched.

/** h makes an element: h("p", {class: "dim", onclick}, "text", child, …). */
export function h(tag, props, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value === true) e.setAttribute(name, "");
    else if (value !== false && value != null) e.setAttribute(name, value);
  }
  e.append(...children.flat().filter((c) => c != null && c !== false));
  return e;
}

/** s makes an element of SVG. */
export function s(tag, props, ...children) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(props ?? {})) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

export const $ = (id) => document.getElementById(id);

/** text sets the text of an element whose only child it is. */
export function text(e, value) {
  const t = String(value);
  if (e.shown !== t) {
    e.shown = t;
    e.textContent = t;
  }
}

/** attr sets an attribute; null takes it away. */
export function attr(e, name, value) {
  const known = (e.attrs ??= {});
  const v = value == null ? null : String(value);
  if (known[name] === v) return;
  known[name] = v;
  if (v === null) e.removeAttribute(name);
  else e.setAttribute(name, v);
}

/** show hides or shows. */
export function show(e, on) {
  if (e.hidden === on) e.hidden = !on;
}

/** toast says something for a few seconds. */
export function toast(words, bad) {
  const e = $("toast");
  e.textContent = words;
  e.dataset.level = bad ? "bad" : "ok";
  e.hidden = false;
  clearTimeout(e.timer);
  e.timer = setTimeout(() => (e.hidden = true), bad ? 8000 : 4000);
}
