// The connection: it comes back by itself, and says how it is.
import { model, hello, tick } from "./model.js";

const STALE = 3500; // without a word, milliseconds
const SILENT = 15_000; // then a new connection is tried

export const live = { state: "wait", since: Date.now(), heard: 0, outdated: false, why: "" };

let source, retry, wait = 500;

/** start connects, and calls changed after each message and change of state. */
export function start(changed) {
  const to = (state, why = "") => {
    if (live.state !== state) live.since = Date.now();
    live.state = state;
    live.why = why;
    changed();
  };
  const again = (why) => {
    source?.close();
    source = null;
    clearTimeout(retry);
    retry = setTimeout(open, wait);
    wait = Math.min(wait * 1.7, 4000);
    to("off", why);
  };
  const take = (how) => (e) => {
    live.heard = Date.now();
    wait = 500;
    how(JSON.parse(e.data));
    live.outdated = model.build !== document.documentElement.dataset.build;
    to("on");
  };
  function open() {
    source?.close();
    live.heard = Date.now();
    source = new EventSource("/live");
    source.addEventListener("hello", take(hello));
    source.addEventListener("tick", take(tick));
    source.addEventListener("bye", () => again("it is stopping"));
    source.onerror = () => again("");
  }
  setInterval(() => {
    const silent = Date.now() - live.heard;
    if (source && silent > SILENT) again("it went silent");
    else if (live.state === "on" && silent > STALE) to("stale");
    else if (live.state !== "on") changed();
  }, 1000);
  addEventListener("online", () => source ?? open());
  open();
}
