// Clients: who has a token, what each does, and what it may. Present where
// CLIENT_TOKENS is set.
import { $, show, text } from "./dom.js";
import { count, plural, rate } from "./format.js";
import { model } from "./model.js";
import { table } from "./table.js";

const t = table("Clients", ["Client", "Requests", "Waiting", "In flight", "429s in 60 s", "Refused in 60 s", "Budget", "Caps"]);
$("client-list").append(t.el);

const number = (n, level) => (n ? { text: count(n), level } : "–");

function caps(c) {
  return [!c.high && "no high priority", c.allow.length && `only ${c.allow.join(", ")}`].filter(Boolean).join(" · ") || "–";
}

export function drawClients() {
  const all = model.general?.clients;
  show($("clients"), !!all);
  if (!all) return;
  text($("clients-count"), all.all > all.list.length ? `the ${all.list.length} busiest of ${count(all.all)}` : "");
  t.draw(all.list.map((c) => {
    const share = all.waiting ? Math.round((100 * c.waiting) / all.waiting) : 0;
    return { name: c.name, cells: [
      { text: `${rate(c.rate)}/s`, title: `${plural(c.minute, "call")} in the last minute` },
      c.waiting ? { text: `${count(c.waiting)} · ${share} %`, share, title: `${share} % of the clients' calls that wait` } : { text: "–", share: 0 },
      number(c.flight), number(c.limited, "bad"), number(c.refused, "warn"), c.budget || "–", caps(c),
    ] };
  }));
}
