// What changes something: with the admin token where one is set, typed once
// and kept until the tab is closed.
import { $, h, toast } from "./dom.js";

const TOKEN = "riftrelay-admin-token";

/** act posts, and gives the answer, or null after having said why not. */
export async function act(path) {
  for (let wrong = false; ; wrong = true) {
    const token = sessionStorage.getItem(TOKEN);
    let response;
    try {
      response = await fetch(path, { method: "POST", headers: token ? { Authorization: `Bearer ${token}` } : {} });
    } catch {
      toast("The relay doesn't answer.", true);
      return null;
    }
    const answer = await response.json().catch(() => ({}));
    if (response.ok) return answer;
    if (response.status !== 401) {
      toast(answer.error ?? `${response.status} ${response.statusText}`, true);
      return null;
    }
    sessionStorage.removeItem(TOKEN);
    const typed = await askToken(wrong && token);
    if (!typed) return null;
    sessionStorage.setItem(TOKEN, typed);
  }
}

function askToken(wrong) {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-describedby": "ask-words" });
  return ask("Admin token", wrong ? "That was not it. The value of ADMIN_TOKEN:" : "Changes need the value of ADMIN_TOKEN. It is kept until this tab is closed.", "Go on", input);
}

/** confirm asks whether to do it. */
export const confirm = (title, words, yes) => ask(title, words, yes);

function ask(title, words, yes, input) {
  const d = $("ask");
  return new Promise((resolve) => {
    let result = null;
    const form = h("form", { method: "dialog", onsubmit: () => (result = input ? input.value.trim() : true) },
      h("h2", { id: "ask-title" }, title), h("p", { id: "ask-words" }, words), input && h("label", null, "Token ", input),
      h("div", { class: "actions" }, h("button", { type: "button", onclick: () => d.close() }, "Cancel"), h("button", { class: "main" }, yes)));
    d.replaceChildren(form);
    d.addEventListener("close", () => resolve(result), { once: true });
    d.showModal();
  });
}
