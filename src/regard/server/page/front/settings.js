// Colours, language of the page, API key: the dialog.

import { $ } from "./element.js";
import { key } from "./server.js";
import { say } from "./wording.js";

/** Words that stand outside the elements that say what they say. */
function word() {
  document.title = say("page.title");
  const other = window.regard.language === "zh" ? "en" : "zh";
  $("tongue").lang = other;
  $("tongue").textContent = other === "zh" ? "中文" : "English";
}

/** Takes up what was chosen last time, and lets it be chosen; `onKey` is called for another key. */
export function settle({ onKey }) {
  document.addEventListener("regard:language", word);
  window.regard.setLanguage(window.regard.language);
  $("tongue").addEventListener("click", () => window.regard.setLanguage(window.regard.language === "zh" ? "en" : "zh"));
  $("themes").addEventListener("change", (event) => window.regard.setTheme(event.target.value));
  $("tongues").addEventListener("change", (event) => window.regard.setLanguage(event.target.value));
  $("settings").addEventListener("click", () => open());
  $("dialog").addEventListener("click", (event) => {
    if (event.target === $("dialog")) $("dialog").close(); // beside it
  });
  $("dialog").addEventListener("close", () => {
    const given = $("key").value.trim(), changed = given !== key.get();
    key.set(given);
    if (!changed) return;
    $("key-said").textContent = "";
    onKey();
  });
}

function open() {
  const check = (name, value) => {
    for (const one of document.querySelectorAll(`input[name=${name}]`)) one.checked = one.value === value;
  };
  check("theme", window.regard.theme);
  check("tongue", window.regard.language);
  $("key").value = key.get();
  $("dialog").showModal();
}

/** The key's field is there from now on, with what the server said of the last one. */
export function wantKey(sentence = "") {
  $("key-part").hidden = false;
  $("key-said").textContent = sentence;
}

/** Opens the dialog at the key. */
export function askKey() {
  if (!$("dialog").open) open();
  $("key").focus();
}
