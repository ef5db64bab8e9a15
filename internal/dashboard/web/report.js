// The page as it is now, as one file that needs nothing else.
import { $, h, toast } from "./dom.js";
import { alerts } from "./alerts.js";
import { eventLine } from "./events.js";
import { clock } from "./format.js";
import { model } from "./model.js";
import { order } from "./order.js";
import { drawRow, makeRow, titles } from "./row.js";
import { drawCharts } from "./charts.js";

export async function saveReport() {
  const [page, chart, state] = await Promise.all([file("/assets/style.css"), file("/assets/vendor/uPlot.min.css"), file("/api/v1/state")]);
  if (page === null) {
    toast("The relay doesn't answer, and a report needs it.", true);
    return;
  }
  drawCharts();
  const at = new Date(model.at);
  const body = h("body", { class: "saved" },
    h("header", { class: "top" }, h("h1", null, "RiftRelay ", h("small", null, model.version)), h("p", null, `as of ${at.toISOString()}`), $("store").hidden ? null : still($("store"))),
    h("main", null,
      alerts().length ? h("section", { id: "alerts" }, ...alerts().map((a) => h("p", { class: "alert", "data-level": a.level }, a.words))) : null,
      still($("tiles")),
      h("section", null, h("h2", null, "Keys"), still($("keys"))),
      h("section", null, h("h2", null, "Limits"), matrix()),
      h("section", { id: "charts" }, ...["throughput", "waits"].map((id) => h("figure", null, h("figcaption", null, h("h2", null, id === "waits" ? "Waits" : "Throughput"), still($(`${id}-legend`))), picture(id)))),
      $("clients").hidden ? null : still($("clients")),
      $("budgets").hidden ? null : still($("budgets")),
      h("section", null, h("h2", null, "Events"), h("ol", { id: "events" }, ...model.events.map(eventLine))),
      h("details", null, h("summary", null, "/api/v1/state"), h("pre", null, state ?? "could not be read"))));
  const policy = h("meta", { "http-equiv": "Content-Security-Policy", content: "default-src 'none'; style-src 'unsafe-inline'; img-src data:" });
  const root = h("html", { lang: "en", "data-theme": document.documentElement.dataset.theme ?? "auto" },
    h("head", null, h("meta", { charset: "utf-8" }), policy, h("meta", { name: "viewport", content: "width=device-width, initial-scale=1" }), h("title", null, `RiftRelay, ${at.toISOString()}`)), body);
  const style = `<style>${chart}\n${page}</style></head>`; // both are our own files
  const text = `<!doctype html>\n${root.outerHTML.replace("</head>", () => style).replaceAll('data-src="data:', 'src="data:')}`;
  const link = h("a", { href: URL.createObjectURL(new Blob([text], { type: "text/html" })), download: `riftrelay-${at.toISOString().slice(0, 19).replaceAll(":", "")}.html` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  toast(`Saved as of ${clock(model.at)}.`);
}

const file = (path) => fetch(path).then((r) => (r.ok ? r.text() : null)).catch(() => null);

/** still copies a part of the page, without what can be clicked. */
function still(e) {
  const copy = e.cloneNode(true);
  copy.querySelectorAll("button").forEach((b) => b.remove());
  return copy;
}

function matrix() {
  return h("div", { class: "scroller", role: "table", "aria-label": "Limits" },
    titles(),
    ...order("", false).map((id) => {
      const v = makeRow(() => {});
      drawRow(v, model.rows.get(id));
      const name = h("span", { class: "name" }, ...v.button.childNodes);
      v.button.replaceWith(name);
      return v.el;
    }));
}

/** picture is a chart as an image. Its address is made one in the text only:
 * this page loads none but its own files. */
function picture(id) {
  const canvas = $(id).querySelector("canvas");
  return canvas ? h("img", { class: "chart", alt: `${id} over the last ten minutes`, "data-src": canvas.toDataURL("image/png") }) : null;
}
