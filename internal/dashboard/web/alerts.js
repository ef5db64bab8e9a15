// One bar, and only when something is wrong.
import { $, h, show } from "./dom.js";
import { left, plural, time } from "./format.js";
import { live } from "./live.js";
import { last, model } from "./model.js";

/** alerts lists what is wrong: {id, level, words, button}. */
export function alerts() {
  const list = [];
  const add = (id, level, words, button) => list.push({ id, level, words, button });
  const gone = time(Math.max(1000, Math.floor((Date.now() - live.since) / 1000) * 1000));
  if (live.state === "off") add("off", "bad", `The relay doesn't answer${live.why ? `: ${live.why}` : ""}. Trying again for ${gone}; what is below is from before.`);
  if (live.state === "stale") add("stale", "warn", "No news for some seconds: what is below may be old.");
  if (live.outdated) add("outdated", "info", "The relay was updated, and has a newer page.", h("button", { type: "button", onclick: () => location.reload() }, "Load it"));
  const g = model.general;
  if (!g) return list;
  if (g.draining) add("draining", "warn", "The relay is draining: calls under way are finished, new ones refused.");
  const usable = g.keys.filter((k) => k.state === "usable");
  if (g.keys.length === 0) add("nokey", "bad", "No key is configured: calls that need one are refused.");
  else if (usable.length === 0) add("nokey", "bad", "No key is usable: calls that need one are refused.");
  for (const k of g.keys.filter((k) => k.state === "suspect").slice(0, 3)) {
    add(`suspect ${k.name}`, "bad", `Key ${k.name} is suspended: ${k.reasons.at(-1) ?? "Riot doesn't know it"}.`);
  }
  if (g.store?.away) add("store", "bad", `The store has been away for ${left(Math.max(1, g.store.for))}: ${g.store.away}. ${g.store.alone ? `This replica goes on within its share of the limits${g.store.replicas > 1 ? `, as one of ${g.store.replicas}` : ""}.` : "Nothing is sent (STORE_LOSS=closed)."}`);
  if (g.exposed) add("exposed", "warn", `Whoever reaches ${g.exposed} can use the keys: set CLIENT_TOKENS, or LISTEN_ADDR to localhost.`);
  if (g.connections?.full) add("full", "warn", `In the last minute a client found no room: ${g.connections.open} of ${plural(g.connections.most, "connection")} are open. Those without a request are closed for others.`);
  if (g.panics) add("panics", "warn", `${plural(g.panics, "panic")} in hooks: the log has their stacks`);
  const minute = last(60);
  const sum = (field) => minute.reduce((n, p) => n + p[field], 0);
  if (sum("ours")) add("ours", "bad", `429s of our own making in the last minute: ${sum("ours")}. Does another program use the key?`);
  if (sum("failed")) add("failed", "warn", `${plural(sum("failed"), "call")} refused in the last minute, for a full queue or after the longest wait.`);
  const rows = [...model.rows.values()];
  // A stop of the service's is one over all keys.
  const stops = new Map(rows.filter((r) => r.cool > 0).map((r) => [/^(application|method)$/.test(r.cause) ? r.id : `${r.host} ${r.method}`, r]));
  some(rows.filter((r) => r.halved), (r) => add(`halved ${r.id}`, "bad", `${place(r)}: limits are used by half, after too many 429s of our own making.`), (n) => add("halved", "bad", `Limits of ${n} more are used by half.`));
  some([...stops.values()].sort((a, b) => b.cool - a.cool), (r) => add(`cool ${r.id}`, "warn", `${place(r)} is stopped after a 429 (${r.cause}), goes on in ${left(r.cool)}.`), (n) => add("cool", "warn", `Stopped after 429s: ${n} more.`));
  return list;
}

const place = (r) => `${r.host} ${r.method || "application"}${r.key && model.general.keys.length > 1 ? ` (${r.key})` : ""}`;

function some(rows, each, more) {
  rows.slice(0, 3).forEach(each);
  if (rows.length > 3) more(rows.length - 3);
}

let shown = "", known = "";

export function drawAlerts() {
  const list = alerts();
  const box = $("alerts");
  const now = JSON.stringify(list);
  if (now === shown) return;
  shown = now;
  show(box, list.length > 0);
  box.replaceChildren(...list.map((a) => h("p", { class: "alert", "data-level": a.level }, a.words, a.button && " ", a.button)));
  // Screen readers hear of what is new, not of each second of a countdown.
  const ids = list.map((a) => a.id).join();
  if (ids !== known) $("announce").textContent = list.length ? list.map((a) => a.words).join(" ") : known ? "All is well again." : "";
  known = ids;
}
