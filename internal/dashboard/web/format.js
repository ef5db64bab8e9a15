/** time writes milliseconds as people do: "180 ms", "2.5 s", "60 s", "10 min". */
export function time(ms) {
  if (ms == null || ms < 0) return "–";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 9950 && ms % 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 600_000) return `${Math.round(ms / 1000)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** left is time for countdowns: whole seconds, so that they don't dance. */
export function left(ms) {
  if (ms <= 0) return "–";
  if (ms < 1000) return "< 1 s";
  return ms < 600_000 ? `${Math.ceil(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** rate writes a number of calls a second. */
export function rate(n) {
  if (n >= 100) return Math.round(n).toLocaleString("en");
  return n >= 10 ? n.toFixed(1) : n < 0.005 ? "0" : n.toFixed(n < 1 ? 2 : 1);
}

export const count = (n) => n.toLocaleString("en");

export const clock = (ms) => new Date(ms).toLocaleTimeString("en-GB");

/** plural is for "1 call", "2 calls". */
export const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** method takes a template apart: what tells methods from each other first. */
export function method(label) {
  const verb = /^([A-Z]+) /.exec(label)?.[1] ?? "";
  const [product, service, version, ...rest] = label.slice(verb ? verb.length + 1 : 0).split("/").slice(1);
  if (rest.length === 0) return { service: label, rest: "" };
  const head = product === "lol" || product === "riot" ? service : `${product} ${service}`;
  return { service: `${verb ? verb + " " : ""}${head} ${version}`, rest: rest.join("/").replace(/\{[^}]*\}/g, "{}") };
}
