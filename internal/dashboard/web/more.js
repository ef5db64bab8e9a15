// What else there is: the store that replicas share, and where to look further.
import { $, attr, show, text } from "./dom.js";
import { left, plural, time } from "./format.js";
import { model } from "./model.js";

/** relayURL is the relay's address as this browser's machine reaches it. */
export function relayURL() {
  const at = /^(https?):\/\/.*?(?::(\d+))?$/.exec(model.relay);
  return `${at?.[1] ?? "http"}://${location.hostname}:${at?.[2] ?? "8985"}`;
}

/** storeWords says in a few words how it is with the store. */
export function storeWords(st) {
  return st.away ? `store away for ${left(Math.max(1, st.for))}` : `${plural(st.replicas, "replica")} · store ${time(st.trip)}`;
}

export function drawMore() {
  const st = model.general.store;
  show($("store"), !!st);
  if (st) {
    text($("store"), storeWords(st));
    attr($("store"), "data-state", st.away ? "off" : "on");
    attr($("store"), "title", st.away ? st.away : `replicas that live · way to the store and back; this one is ${st.replica}`);
  }
  show($("to-explorer"), model.explorer);
  attr($("to-explorer"), "href", `${relayURL()}/swagger/`);
  show($("to-metrics"), model.metrics);
}
