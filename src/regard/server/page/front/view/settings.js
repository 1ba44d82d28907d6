// The settings dialog: colors, language of the page, API key.

import { $ } from "./element.js";
import { key } from "../requests/server.js";
import { say } from "./messages.js";

/** Updates texts that are not in the markup. */
function updateTexts() {
  document.title = say("page.title");
  $("translation").placeholder = say("page.translation.empty");
  const other = window.regard.language === "zh" ? "en" : "zh";
  $("tongue").lang = other;
  $("tongue").textContent = other === "zh" ? "中文" : "English";
}

/** Restores the settings and handles changes; `onKey` is called for another key. */
export function initSettings({ onKey }) {
  document.addEventListener("regard:language", updateTexts);
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
    for (const entry of document.querySelectorAll(`input[name=${name}]`)) entry.checked = entry.value === value;
  };
  check("theme", window.regard.theme);
  check("tongue", window.regard.language);
  $("key").value = key.get();
  $("dialog").showModal();
}

/** Shows the key's field, with the server's message about the last key. */
export function showKeyField(sentence = "") {
  $("key-part").hidden = false;
  $("key-said").textContent = sentence;
}

/** Opens the dialog at the key's field. */
export function focusKeyField() {
  if (!$("dialog").open) open();
  $("key").focus();
}
