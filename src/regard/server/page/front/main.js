// The page: connects to the server, handles input, and restores the state of a link.

import * as alternatives from "./edits/alternatives.js";
import { DELAY, update, setHandlers } from "./requests/requests.js";
import * as choices from "./state/choices.js";
import { $, element } from "./view/element.js";
import * as files from "./requests/files.js";
import * as editing from "./edits/edits.js";
import * as follow from "./view/follow.js";
import { read, written } from "./state/link.js";
import * as views from "./view/views.js";
import * as notices from "./view/notices.js";
import { clearCache } from "./requests/translations.js";
import * as rows from "./edits/row_editor.js";
import { get, key } from "./requests/server.js";
import { focusKeyField, initSettings, showKeyField } from "./view/settings.js";
import { showViews, showMarks, showNothing, showPanel, showTranslation, showStale, showText } from "./view/render.js";
import { EMPTY, page } from "./state/state.js";
import * as terms from "./view/terms_box.js";
import * as translation from "./view/translation_box.js";
import { say } from "./view/messages.js";

const RESET = { offHeads: [], edits: [], model: null, compare: null }; // what another language resets

/** Sets the text as if it were typed, so that the browser can undo it. */
function setText(text) {
  $("text").focus();
  $("text").select();
  const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
  if (!done || $("text").value !== text) $("text").value = text;
  update({ text });
  showText();
}

/** Chooses another language or model; choices that it rules out are corrected. */
function choose(what) {
  const another = "source" in what || "target" in what;
  if (another) page.detected = null;
  update(choices.validState({ ...page.state, ...what }, page.detected));
  choices.showChoices(page.state, page.detected);
  showText();
}

function swap() {
  const { state, detected } = page, text = $("translation").value || state.text;
  $("text").value = text;
  choose({ ...RESET, text, source: state.target, target: state.source === "auto" ? detected : state.source });
}

async function copy(text, button, done, idle) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const box = element("textarea", { value: text, className: "hidden" });
    document.body.append(box);
    box.select();
    const worked = document.execCommand("copy"); // where a page is not served securely
    box.remove();
    button.focus();
    if (!worked) return notices.notCopied();
  }
  button.textContent = say(done);
  setTimeout(() => { button.textContent = say(idle); }, 1600);
}

function share() {
  history.replaceState(null, "", written(page.state));
  copy(location.href, $("share"), "page.shared", "page.share");
}

function listenToInputs() {
  $("text").addEventListener("input", (event) => {
    if (event.isComposing) return void $("text-mirror").replaceChildren($("text").value, "\u200b"); // an unfinished Chinese word
    update({ text: $("text").value }, { delay: DELAY.typing });
    showText();
  });
  $("text").addEventListener("compositionend", () => $("text").dispatchEvent(new InputEvent("input")));
  $("clear").addEventListener("click", () => setText(""));
  $("example").addEventListener("click", () => setText(choices.exampleOf(page.state)));
  $("source").addEventListener("change", () => choose({ ...RESET, source: $("source").value }));
  $("target").addEventListener("change", () => choose({ ...RESET, target: $("target").value }));
  $("model").addEventListener("change", () => {
    rows.close();
    choose({ offHeads: [], edits: [], model: $("model").value });
  });
  $("compare").addEventListener("change", () => choose({ compare: $("compare").value || null }));
  $("swap").addEventListener("click", swap);
  terms.listen({ onChange: () => update({}, { delay: DELAY.prefix }) });
  $("copy").addEventListener("click", () => copy($("translation").value, $("copy"), "page.copied", "page.copy"));
  $("share").addEventListener("click", share);
  files.listen({ direction: () => page.state, onBegin: notices.clear, onRefusal: notices.showError });
}

/** Selects the sentence that is shown. */
function selectSentence(number) {
  if (number === page.state.number) return;
  rows.close();
  update({ number });
}

function listenToEdits() {
  $("release").addEventListener("click", () => { editing.clearPrefix(); $("translation").focus(); });
  $("forget").addEventListener("click", () => { editing.dropAbsent(); $("translation").focus(); });
  $("undo").addEventListener("click", () => { editing.undoAll(); $("hold").focus(); });
  alternatives.listen();
  translation.listen({
    onBegin: (number, prefix) => editing.setPrefix(number, prefix, DELAY.prefix), onRelease: editing.clearPrefix, onBack: editing.undoPrefix, onWord: editing.openAlternatives, onSentence: selectSentence,
    isMenu: alternatives.isOpen, enterMenu: alternatives.focusFirst, closeMenu: alternatives.close,
  });
  views.listen({
    onWord: ({ side, word }) => {
      const back = views.wordButton("first", { side, word });
      if (side === "target") editing.openAlternatives({ number: page.state.number, place: word, at: () => back.getBoundingClientRect(), focus: true, back });
    },
    onRow: editing.openRow,
    onChosen: (chosen) => { page.state.chosen = chosen; rows.close(); showMarks(); showPanel(); },
    onToggle: () => { views.syncMaps(); showMarks(); showPanel(); },
  });
}

function restore(linked) {
  if (!linked) return;
  page.detected = null;
  page.state = choices.validState({ ...EMPTY, ...linked }, null);
  $("text").value = page.state.text;
  views.show("first", null);
  const { hash } = location;
  update({});
  choices.showChoices(page.state, null);
  history.replaceState(null, "", hash); // until something changes
  showText();
}

/** Loads the server's models again; whether they have changed. */
async function reloadModels() {
  const [languages, models] = await Promise.all([get("languages"), get("v1/models")]);
  if (!choices.setModels({ languages, models })) return false;
  clearCache();
  page.detected = null;
  choose({ source: page.state.source, target: page.state.target });
  return true;
}

/** Shows an error, unless a model that was removed is the reason. */
async function showError(error) {
  const { state } = page;
  try {
    if ((error.status === 400 || error.status === 404) && await reloadModels()) return;
  } catch (other) {
    return notices.showError(other);
  }
  if (page.state !== state) return; // a newer request replaced it
  notices.showError(error, page.state.offHeads.length + page.state.edits.length > 0);
}

/** Asks for the key at the start, without taking the focus from a text that is being typed. */
function requestKey() {
  notices.showKeyNeeded();
  if (document.activeElement === document.body && !$("text").value) focusKeyField();
}

async function connect() {
  try {
    const [settings, languages, models] = await Promise.all([get("frontend/settings"), get("languages"), get("v1/models")]);
    connected = true;
    notices.clear();
    choices.setModels({ languages, models });
    files.setFileTypes(settings.supportedFilesFormat);
    page.most = settings.charLimit < 0 ? Infinity : settings.charLimit;
    if (settings.apiKeys) showKeyField();
    const text = $("text").value; // typed already, or kept by the browser
    page.state = choices.validState({ ...EMPTY, target: settings.language.target.code, text }, null);
    showTranslation();
    const linked = read(location.hash);
    if (linked) restore(linked);
    else if (text) update({});
    if (settings.keyRequired && !key.get()) requestKey();
  } catch (error) {
    notices.showError(error);
  }
}

let connected = false; // whether the server was reached

setHandlers({ result: showTranslation, look: showViews, nothing: showNothing, stale: showStale, showError });
initSettings({ onKey: () => { clearCache(); update({}); } });
listenToInputs();
listenToEdits();
follow.listen();
notices.listen({ again: () => (connected ? update({}) : connect()), undo: editing.undoAll });
addEventListener("hashchange", () => restore(read(location.hash)));
document.addEventListener("regard:language", () => {
  rows.close();
  if (!connected) return;
  showTranslation();
  setTimeout(showMarks); // once the views have changed their language
});
connect();
