// Lines to paste for each client, with this relay's address in them.
import { $, h, show, toast } from "./dom.js";
import { model } from "./model.js";

const path = "/lol/status/v4/platform-data";
const clients = [
  ["curl", (u) => `curl '${u}/euw1${path}'`],
  ["Node: twisted", (u) => `import { LolApi } from "twisted";\n\nconst api = new LolApi({ key: "x", baseURL: "${u}/$(region)/:game" });`],
  ["Node: TeemoJS", (u) => `const TeemoJS = require("teemojs");\n\nconst api = TeemoJS("x", { prefix: "${u}/%s" });\nconst status = await api.get("euw1", "lol-status-v4.getPlatformData");`],
  ["Node: kayn", (u) => `const { Kayn } = require("kayn");\n\nconst kayn = Kayn("x")({ apiURLPrefix: "${u}/%s" });`],
  ["Node: fetch", (u) => `const response = await fetch("${u}/euw1${path}");\nconsole.log(response.status, await response.json());`],
  ["Python", (u) => `import requests\n\nresponse = requests.get("${u}/euw1${path}")\nprint(response.status_code, response.json())`],
  ["Go", (u) => `resp, err := http.Get("${u}/euw1${path}")`],
  ["C#", (u) => `var http = new HttpClient { BaseAddress = new Uri("${u}/") };\nvar json = await http.GetStringAsync("euw1${path}");`],
  ["Java", (u) => `var request = HttpRequest.newBuilder(URI.create("${u}/euw1${path}")).build();\nvar response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());`],
];

let shown = null, chosen = 0, wanted = null;

/** address is the relay's as this browser's machine reaches it. */
function address() {
  const port = /:(\d+)$/.exec(model.relay)?.[1] ?? "8985";
  return `http://${location.hostname}:${port}`;
}

export function startConnect() {
  $("connect-open").addEventListener("click", () => {
    wanted = $("connect").hidden;
    drawConnect();
    if (wanted) $("connect").scrollIntoView({ block: "nearest" });
  });
}

export function drawConnect() {
  const open = wanted ?? model.rows.size === 0;
  show($("connect"), open && model.general !== null);
  $("connect-open").setAttribute("aria-expanded", String(open));
  if (!open || shown === model.relay || model.general === null) return;
  shown = model.relay;
  const code = h("code"), copy = h("button", { type: "button", onclick: () => copyText(code.textContent) }, "Copy");
  const tabs = clients.map(([name], i) => h("button", { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": "snippet", onclick: () => choose(i) }, name));
  const panel = h("pre", { id: "snippet", role: "tabpanel", tabindex: "0" }, code);
  const choose = (i) => {
    chosen = i;
    tabs.forEach((t, n) => {
      t.setAttribute("aria-selected", String(n === i));
      t.tabIndex = n === i ? 0 : -1;
    });
    panel.setAttribute("aria-labelledby", `tab-${i}`);
    code.textContent = clients[i][1](address());
  };
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Clients", onkeydown: (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    choose((chosen + step + clients.length) % clients.length);
    tabs[chosen].focus();
  } }, ...tabs);
  choose(chosen);
  $("snippets").replaceChildren(h("p", null, "Put the host in front of the path and leave the key out: the relay adds it, and waits for the limits so that you don't have to. A key that a client insists on may be anything."),
    list, h("div", { class: "snippet" }, panel, copy));
}

async function copyText(words) {
  try {
    await navigator.clipboard.writeText(words);
  } catch { // not over plain http from another machine
    const area = h("textarea", { class: "unseen" });
    area.value = words;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  toast("Copied.");
}
