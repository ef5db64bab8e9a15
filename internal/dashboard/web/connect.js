// Lines to paste for each client, with this relay's address in them.
import { $, h, show, toast } from "./dom.js";
import { model } from "./model.js";
import { relayURL } from "./more.js";

const path = "/lol/status/v4/platform-data";
// Each is given the relay's address, and what stands for a client's token where
// tokens are needed, or else "".
const clients = [
  ["curl", (u, t) => `curl ${t && `-H 'X-Relay-Token: ${t}' `}'${u}/euw1${path}'`],
  ["Node: twisted", (u, t) => `import { LolApi } from "twisted";\n\nconst api = new LolApi({ key: "${t || "x"}", baseURL: "${u}/$(region)/:game" });`],
  ["Node: TeemoJS", (u, t) => `const TeemoJS = require("teemojs");\n\nconst api = TeemoJS("${t || "x"}", { prefix: "${u}/%s" });\nconst status = await api.get("euw1", "lol-status-v4.getPlatformData");`],
  ["Node: kayn", (u, t) => `const { Kayn } = require("kayn");\n\nconst kayn = Kayn("${t || "x"}")({ apiURLPrefix: "${u}/%s" });`],
  ["Node: fetch", (u, t) => `const response = await fetch("${u}/euw1${path}"${t && `, { headers: { "X-Relay-Token": "${t}" } }`});\nconsole.log(response.status, await response.json());`],
  ["Python", (u, t) => `import requests\n\nresponse = requests.get("${u}/euw1${path}"${t && `, headers={"X-Relay-Token": "${t}"}`})\nprint(response.status_code, response.json())`],
  ["Go", (u, t) => (t ? `req, err := http.NewRequest("GET", "${u}/euw1${path}", nil)\nreq.Header.Set("X-Relay-Token", "${t}")\nresp, err := http.DefaultClient.Do(req)` : `resp, err := http.Get("${u}/euw1${path}")`)],
  ["C#", (u, t) => `var http = new HttpClient { BaseAddress = new Uri("${u}/") };${t && `\nhttp.DefaultRequestHeaders.Add("X-Relay-Token", "${t}");`}\nvar json = await http.GetStringAsync("euw1${path}");`],
  ["Java", (u, t) => `var request = HttpRequest.newBuilder(URI.create("${u}/euw1${path}"))${t && `.header("X-Relay-Token", "${t}")`}.build();\nvar response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());`],
];

let shown = null, chosen = 0, wanted = null;

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
  const token = model.general?.clients ? "YOUR-TOKEN" : "", now = `${relayURL()} ${token} ${model.explorer}`;
  if (!open || shown === now || model.general === null) return;
  shown = now;
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
    code.textContent = clients[i][1](relayURL(), token);
  };
  const list = h("div", { class: "tabs", role: "tablist", "aria-label": "Clients", onkeydown: (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    choose((chosen + step + clients.length) % clients.length);
    tabs[chosen].focus();
  } }, ...tabs);
  choose(chosen);
  $("snippets").replaceChildren(h("p", null, `Put the host in front of the path and leave the key out: the relay adds it, and waits for the limits so that you don't have to. ${token ? "Your client's token of CLIENT_TOKENS goes in its place." : "A key that a client insists on may be anything."}`),
    list, h("div", { class: "snippet" }, panel, copy),
    ...(model.explorer ? [h("p", { class: "note" }, "Or try calls in the ", h("a", { href: `${relayURL()}/swagger/` }, "API explorer"), ".")] : []));
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
