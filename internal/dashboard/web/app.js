// The page: what the relay tells once a second is drawn once a second, and only
// what can be seen.
import { $, attr, text } from "./dom.js";
import { drawAlerts } from "./alerts.js";
import { drawBudgets } from "./budgets.js";
import { drawCharts, startCharts } from "./charts.js";
import { drawClients } from "./clients.js";
import { drawConnect, startConnect } from "./connect.js";
import { drawDrawer, openDrawer, tickDrawer } from "./drawer.js";
import { drawEvents } from "./events.js";
import { time } from "./format.js";
import { drawKeys } from "./keys.js";
import { live, start } from "./live.js";
import { drawMatrix, startMatrix } from "./matrix.js";
import { model } from "./model.js";
import { drawMore } from "./more.js";
import { saveReport } from "./report.js";
import { drawTiles } from "./tiles.js";

const words = { wait: "connecting", on: "live", stale: "stale", off: "offline" };
let at = 0, planned = false;

function draw() {
  planned = false;
  attr($("live"), "data-state", live.state);
  text($("live"), live.state === "on" || live.state === "wait" ? words[live.state] : `${words[live.state]} for ${time(Math.max(1000, Math.floor((Date.now() - live.since) / 1000) * 1000))}`);
  attr(document.body, "data-live", live.state);
  drawAlerts();
  if (model.general === null || at === model.at) return;
  at = model.at;
  text($("version"), model.version);
  drawMore();
  drawTiles();
  drawKeys();
  drawConnect();
  drawMatrix();
  drawCharts();
  drawClients();
  drawBudgets();
  drawEvents();
  drawDrawer();
}

function plan() {
  if (planned || document.hidden) return;
  planned = true;
  requestAnimationFrame(draw);
}

document.addEventListener("visibilitychange", plan);
$("report").addEventListener("click", saveReport);

const themes = ["auto", "dark", "light"];
function theme(next) {
  const root = document.documentElement;
  if (next) {
    root.dataset.theme = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
    try { localStorage.setItem("riftrelay-theme", root.dataset.theme); } catch { /* for this page only, then */ }
  }
  $("theme").textContent = `Theme: ${root.dataset.theme ?? "auto"}`;
}
$("theme").addEventListener("click", () => { theme(true); startCharts(); });
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", startCharts);

addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName) && !$("ask").open) {
    e.preventDefault();
    $("filter").focus();
  }
});

theme(false);
startMatrix((id) => openDrawer(id));
startConnect();
startCharts();
let heard = 0;
start(() => {
  if (heard !== model.at) {
    heard = model.at;
    tickDrawer();
  }
  plan();
});
