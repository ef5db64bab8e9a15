// Ten minutes of throughput and of waits, by uPlot.
import { $, h } from "./dom.js";
import { rate, time } from "./format.js";
import { model } from "./model.js";

const probe = h("span", { hidden: true });
document.body.append(probe);

/** color is what a variable of the style sheet is in this theme. */
function color(name) {
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

const known = (v) => (v < 0 ? null : v);
const charts = [];

const kinds = [
  {
    id: "throughput",
    series: [["Requests", "dim", {}, (v) => `${rate(v)}/s`], ["To Riot", "accent", { fill: true, width: 2 }, (v) => `${rate(v)}/s`], ["Ceiling", "ok", { dash: [6, 4] }, (v) => `${rate(v)}/s`], ["429s", "bad", { ticks: true }, (v) => v]],
    least: 2, axes: [(v) => rate(v)],
    data: (p) => [p.map((x) => x.calls / (x.over || 1)), p.map((x) => x.sent / (x.over || 1)), p.map((x) => x.ceiling || null), p.map((x) => x.limited || null)],
  },
  {
    id: "waits",
    series: [["p50", "accent", {}, time], ["p95", "warn", { width: 2 }, time], ["Queued", "dim", { fill: true, scale: "n" }, (v) => v]],
    least: 20, axes: [time, (v) => v],
    data: (p) => [p.map((x) => known(x.p50)), p.map((x) => known(x.p95)), p.map((x) => x.queued)],
  },
];

/** ticks draws a red line for each second with 429s, instead of a curve. */
const ticks = (u, i) => {
  const { ctx, bbox } = u;
  ctx.save();
  ctx.strokeStyle = color("bad");
  ctx.lineWidth = devicePixelRatio * 1.5;
  ctx.setLineDash([]);
  ctx.beginPath();
  u.data[i].forEach((n, at) => {
    if (!n) return;
    const x = u.valToPos(u.data[0][at], "x", true);
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height * 0.18);
  });
  ctx.stroke();
  ctx.restore();
  return false;
};

function make(kind) {
  const box = $(kind.id);
  const ink = color("dim"), grid = { stroke: color("line"), width: 1 };
  const axis = (values, more) => ({ stroke: ink, grid, ticks: { show: false }, font: "11px system-ui, sans-serif", size: 56, values: (_, list) => list.map((v) => (v == null ? "" : values(v))), ...more });
  const legend = $(`${kind.id}-legend`);
  const values = kind.series.map(() => h("b"));
  legend.replaceChildren(...kind.series.map(([name, c], i) => h("span", null, h("i", { class: `swatch ${c}` }), `${name} `, values[i])));
  const u = new uPlot({
    width: box.clientWidth || 600, height: 200, legend: { show: false }, padding: [8, 8, 0, 0],
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: { x: { time: true, range: () => [Math.max(model.at / 1000 - 600, Math.min(model.points[0]?.at ?? Infinity, model.at / 1000 - 120)), model.at / 1000] }, y: { range: (_, __, max) => [0, Math.max(max * 1.1, kind.least)] }, n: { range: (_, __, max) => [0, Math.max(max * 1.1, 4)] } },
    axes: [axis((v) => new Date(v * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", ...(v % 60 ? { second: "2-digit" } : {}) }), { size: 28, space: 80 }), axis(kind.axes[0]), ...(kind.axes[1] ? [axis(kind.axes[1], { side: 1, scale: "n", grid: { show: false }, size: 40 })] : [])],
    series: [{}, ...kind.series.map(([label, c, o]) => ({
      label, scale: o.scale ?? (o.ticks ? "t" : "y"), stroke: color(c), width: o.width ?? 1.25, dash: o.dash, spanGaps: false, points: { show: false },
      fill: o.fill ? `color-mix(in srgb, ${color(c)} 14%, transparent)` : undefined, paths: o.ticks ? () => null : undefined,
    }))],
    hooks: {
      draw: [(u) => kind.series.forEach(([, , o], i) => o.ticks && ticks(u, i + 1))],
      setCursor: [(u) => say(u, kind, values)],
    },
  }, columns(kind), box);
  return { kind, u, box, values, seen: true };
}

/** say writes the values under the cursor, or else the latest, into the legend. */
function say(u, kind, values) {
  const i = u.cursor.idx ?? u.data[0].length - 1;
  kind.series.forEach(([, , , words], s) => {
    const v = u.data[s + 1]?.[i];
    const t = v == null ? "–" : String(words(v));
    if (values[s].textContent !== t) values[s].textContent = t;
  });
}

const columns = (kind) => [model.points.map((p) => p.at), ...kind.data(model.points)];

const watching = new IntersectionObserver((list) => {
  for (const e of list) {
    const c = charts.find((c) => c.box === e.target);
    if (c) c.seen = e.isIntersecting;
  }
  drawCharts();
});

/** startCharts makes them, anew when the theme has changed. */
export function startCharts() {
  for (const c of charts.splice(0)) c.u.destroy();
  for (const k of kinds) {
    const c = make(k);
    charts.push(c);
    watching.observe(c.box);
  }
}

new ResizeObserver(() => {
  for (const c of charts) if (c.box.clientWidth && c.box.clientWidth !== c.u.width) c.u.setSize({ width: c.box.clientWidth, height: 200 });
}).observe($("charts"));

export function drawCharts() {
  for (const c of charts) {
    if (!c.seen || c.at === model.at) continue;
    c.at = model.at;
    c.u.setData(columns(c.kind), true);
    say(c.u, c.kind, c.values);
  }
}
