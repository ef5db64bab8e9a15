// What the relay has told, as the other parts read it.
import { WINDOW, POINT } from "./wire.js";

const DEPTH = 600; // seconds, as in the relay

export const model = {
  boot: "", build: "", version: "", relay: "", explorer: false, metrics: false,
  at: 0, // the relay's clock at the latest sample, in milliseconds
  offset: 0, // what to add to our clock to get the relay's
  general: null,
  rows: new Map(), // by id
  points: [], // the past, oldest first
  events: [], // newest first
  shape: 0, // grows when rows come or go
};

/** pressure says how tight a row is: 1 is full; more than that stops. */
function pressure(r) {
  let p = 0;
  for (const w of r.windows) if (w.limit > 0 && !w.kind.startsWith("budget:")) p = Math.max(p, w.used / w.limit);
  if (r.depth > 0) p += 1;
  if (r.cool > 0) p += 2;
  return p;
}

function read(raw, names) {
  const r = {
    id: raw.id, key: names.key, host: names.host, method: names.method,
    rate: raw.rate ?? 0, status: raw.status ?? 0, kind: raw.kind ?? "", known: !!raw.known, halved: raw.halved ?? 0,
    flight: raw.flight ?? 0, cool: raw.cool ?? 0, cause: raw.cause ?? "",
    p50: raw.waits ? (raw.p50 ?? 0) : -1, p95: raw.waits ? (raw.p95 ?? 0) : -1,
    windows: raw.w.map(WINDOW),
    queues: (raw.q ?? []).map(([priority, budget, depth, oldest, start, key, kind, why]) => ({ priority, budget, depth, oldest, start, key, kind, why })),
  };
  r.depth = r.queues.reduce((n, q) => n + q.depth, 0);
  r.oldest = r.queues.reduce((n, q) => Math.max(n, q.oldest), 0);
  r.pressure = pressure(r);
  return r;
}

function point(list) {
  model.points.push(POINT(list));
  if (model.points.length > DEPTH) model.points.splice(0, model.points.length - DEPTH);
}

function common(m) {
  model.at = m.at;
  model.offset = m.at - Date.now();
  model.general = m.general ?? model.general;
  if (m.events.length) model.events = [...m.events.toReversed(), ...model.events].slice(0, 200);
}

/** hello takes over everything. What was seen of the time before stays. */
export function hello(m) {
  const first = m.history.length ? m.history[0][0] : m.at / 1000;
  const before = model.points.filter((p) => p.at < first);
  const same = model.boot === m.boot;
  Object.assign(model, { boot: m.boot, build: m.build, version: m.version, relay: m.relay, explorer: m.explorer, metrics: m.metrics, rows: new Map(), points: same ? [] : before, shape: model.shape + 1 });
  if (same || !model.events.length) model.events = [];
  for (const p of m.history) point(p);
  for (const raw of m.rows) model.rows.set(raw.id, read(raw, raw));
  common(m);
}

/** tick takes over what has changed. */
export function tick(m) {
  point(m.point);
  for (const id of m.gone) if (model.rows.delete(id)) model.shape++;
  for (const raw of m.rows) {
    const old = model.rows.get(raw.id);
    if (!old) model.shape++;
    model.rows.set(raw.id, read(raw, old ?? raw));
  }
  common(m);
}

/** last gives the points of the last so many seconds. */
export function last(seconds) {
  const from = model.at / 1000 - seconds - 0.5;
  let i = model.points.length;
  while (i > 0 && model.points[i - 1].at > from) i--;
  return model.points.slice(i);
}
