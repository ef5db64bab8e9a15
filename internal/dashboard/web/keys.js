// A card for each key, by its name: the value never leaves the relay.
import { $, h, text, attr, show, toast } from "./dom.js";
import { left, rate } from "./format.js";
import { model } from "./model.js";
import { act, confirm } from "./act.js";

const cards = new Map();

export function drawKeys() {
  const keys = model.general?.keys ?? [];
  const use = usage();
  for (const [name, c] of cards) {
    if (!keys.some((k) => k.name === name)) {
      c.box.remove();
      cards.delete(name);
    }
  }
  for (const k of keys) {
    let c = cards.get(k.name);
    if (!c) cards.set(k.name, (c = card(k.name)));
    draw(c, k, use);
  }
}

/** usage sums, for each key, what its applications do. */
function usage() {
  const of = new Map();
  let all = 0;
  for (const r of model.rows.values()) {
    const u = of.get(r.key) ?? { rate: 0, cool: 0, where: "" };
    if (!r.method) {
      u.rate += r.rate;
      all += r.rate;
    }
    if (r.cool > u.cool) Object.assign(u, { cool: r.cool, where: `${r.host} ${r.method || "application"}` });
    of.set(r.key, u);
  }
  return { of, all };
}

const words = { usable: "usable", suspect: "suspended", disabled: "disabled" };

function card(name) {
  const c = { state: h("span", { class: "pill" }), group: h("span", { class: "dim" }), rate: h("span"), share: h("i"), cool: h("p", { class: "note warn" }), why: h("p", { class: "note" }) };
  const button = (label, action, ask) =>
    h("button", { type: "button", "aria-label": `${label} key ${name}`, onclick: async () => {
      if (ask && !(await confirm(`Disable key ${name}?`, "No call goes on it until it is enabled again. It stays disabled over a restart if the relay keeps a state file.", "Disable"))) return;
      if (await act(`/api/v1/keys/${encodeURIComponent(name)}/${action}`)) toast(`Key ${name}: ${action === "recheck" ? "the next call tries it" : action + "d"}.`);
    } }, label);
  c.disable = button("Disable", "disable", true);
  c.enable = button("Enable", "enable");
  c.recheck = button("Recheck", "recheck");
  c.box = h("article", { class: "key", "data-key": name },
    h("div", { class: "line" }, h("h3", { title: name }, name), c.state, c.group),
    h("div", { class: "line" }, c.rate, h("div", { class: "share", "aria-hidden": "true" }, c.share)),
    c.cool, c.why, h("div", { class: "actions" }, c.recheck, c.enable, c.disable));
  $("keys").append(c.box);
  return c;
}

function draw(c, k, use) {
  const u = use.of.get(k.name) ?? { rate: 0, cool: 0 };
  const share = use.all > 0.05 ? Math.round((100 * u.rate) / use.all) : 0;
  attr(c.box, "data-state", k.state);
  attr(c.state, "data-state", k.state === "usable" ? "on" : k.state === "suspect" ? "off" : "stale");
  text(c.state, words[k.state] ?? k.state);
  text(c.group, k.group ? `group ${k.group}` : "");
  text(c.rate, `${rate(u.rate)}/s · ${share} % of all calls`);
  c.share.style.width = `${share}%`;
  show(c.cool, u.cool > 0);
  text(c.cool, u.cool > 0 ? `cooling: ${u.where}, ${left(u.cool)} left` : "");
  const probe = k.state === "suspect" ? (k.probe > 0 ? `next probe in ${left(k.probe)}` : "a probe is under way") : "";
  text(c.why, [...k.reasons, probe].filter(Boolean).join(" · "));
  show(c.why, c.why.shown !== "");
  show(c.disable, k.state !== "disabled");
  show(c.enable, k.state === "disabled");
  show(c.recheck, k.state === "suspect");
}

$("reload").addEventListener("click", async () => {
  const r = await act("/api/v1/reload");
  if (r) toast([["added", r.added], ["replaced", r.replaced], ["removed", r.removed]].filter(([, l]) => l?.length).map(([w, l]) => `${w}: ${l.join(", ")}`).join("; ") || "The keys are as they were.");
});
