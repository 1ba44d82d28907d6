// The page: meets the server, listens to what people do, and restores what a link says.

import * as alternatives from "./alternatives.js";
import { DELAY, change, onAnswers } from "./asking.js";
import * as choices from "./choices.js";
import { $, element } from "./element.js";
import * as files from "./files.js";
import * as hand from "./hand.js";
import { read, written } from "./link.js";
import * as looking from "./looking.js";
import * as notices from "./notices.js";
import { forget } from "./rounds.js";
import * as rows from "./row.js";
import { get, key } from "./server.js";
import { askKey, settle, wantKey } from "./settings.js";
import { showLook, showMarks, showNothing, showPanel, showRound, showStale, showText } from "./showing.js";
import { EMPTY, page } from "./state.js";
import * as translation from "./translation.js";
import { say } from "./wording.js";

const AFRESH = { offs: [], held: [], model: null, compare: null }; // what another direction has no use for

/** Another text, put in as if it were typed, so that the browser can undo it. */
function setText(text) {
  $("text").focus();
  $("text").select();
  const done = text ? document.execCommand("insertText", false, text) : document.execCommand("delete");
  if (!done || $("text").value !== text) $("text").value = text;
  change({ text });
  showText();
}

/** Another language or model; what is not possible with it is put right. */
function choose(what) {
  const another = "source" in what || "target" in what;
  if (another) page.detected = null;
  change(choices.sound({ ...page.state, ...what }, page.detected));
  choices.showChoices(page.state, page.detected);
  showText();
}

function swap() {
  const { state, detected } = page, text = $("translation").value || state.text;
  $("text").value = text;
  choose({ ...AFRESH, text, source: state.target, target: state.source === "auto" ? detected : state.source });
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

function listenToBench() {
  $("text").addEventListener("input", (event) => {
    if (event.isComposing) return void $("text-mirror").replaceChildren($("text").value, "\u200b"); // half a Chinese word
    change({ text: $("text").value }, { delay: DELAY.typing });
    showText();
  });
  $("text").addEventListener("compositionend", () => $("text").dispatchEvent(new InputEvent("input")));
  $("clear").addEventListener("click", () => setText(""));
  $("example").addEventListener("click", () => setText(choices.exampleOf(page.state)));
  $("source").addEventListener("change", () => choose({ ...AFRESH, source: $("source").value }));
  $("target").addEventListener("change", () => choose({ ...AFRESH, target: $("target").value }));
  $("model").addEventListener("change", () => {
    rows.close();
    choose({ offs: [], held: [], model: $("model").value });
  });
  $("compare").addEventListener("change", () => choose({ compare: $("compare").value || null }));
  $("swap").addEventListener("click", swap);
  $("copy").addEventListener("click", () => copy($("translation").value, $("copy"), "page.copied", "page.copy"));
  $("share").addEventListener("click", share);
  files.listen({ direction: () => page.state, onBegin: notices.clear, onRefusal: notices.refused });
}

/** The sentence that is looked at. */
function lookAt(number) {
  if (number === page.state.number) return;
  rows.close();
  change({ number });
}

function listenToHand() {
  $("release").addEventListener("click", () => { hand.release(); $("translation").focus(); });
  $("forget").addEventListener("click", () => { hand.forgetAbsent(); $("translation").focus(); });
  $("undo").addEventListener("click", () => { hand.undoAll(); $("hold").focus(); });
  alternatives.listen();
  translation.listen({
    onBegin: (number, prefix) => hand.begin(number, prefix, DELAY.beginning), onRelease: hand.release, onBack: hand.back, onWord: hand.askInstead, onSentence: lookAt,
    isMenu: alternatives.isOpen, enterMenu: alternatives.enter, closeMenu: alternatives.close,
  });
  looking.listen({
    onWord: ({ side, word }) => {
      const back = looking.chipOf("first", { side, word });
      if (side === "target") hand.askInstead({ number: page.state.number, place: word, at: () => back.getBoundingClientRect(), focus: true, back });
    },
    onRow: hand.openRow,
    onChosen: (chosen) => { page.state.chosen = chosen; rows.close(); showMarks(); showPanel(); },
    onToggle: () => { looking.openAlike(); showMarks(); showPanel(); },
  });
}

function restore(found) {
  if (!found) return;
  page.detected = null;
  page.state = choices.sound({ ...EMPTY, ...found }, null);
  $("text").value = page.state.text;
  looking.show("first", null);
  const { hash } = location;
  change({});
  choices.showChoices(page.state, null);
  history.replaceState(null, "", hash); // until something is changed
  showText();
}

/** Another server may stand there by now: whether it has other models, which are known then. */
async function meetOthers() {
  const [languages, models] = await Promise.all([get("languages"), get("v1/models")]);
  if (!choices.know({ languages, models })) return false;
  forget();
  page.detected = null;
  choose({ source: page.state.source, target: page.state.target });
  return true;
}

/** What was refused may be no more than a model that is not there any more. */
async function refused(error) {
  const { state } = page;
  try {
    if ((error.status === 400 || error.status === 404) && await meetOthers()) return;
  } catch (other) {
    return notices.refused(other);
  }
  if (page.state !== state) return; // it is overtaken
  notices.refused(error, page.state.offs.length + page.state.held.length > 0);
}

/** Asks for the key at the beginning; but whoever is writing already is not taken away from it. */
function askFirst() {
  notices.keyless();
  if (document.activeElement === document.body && !$("text").value) askKey();
}

async function meet() {
  try {
    const [settings, languages, models] = await Promise.all([get("frontend/settings"), get("languages"), get("v1/models")]);
    met = true;
    notices.clear();
    choices.know({ languages, models });
    files.allow(settings.supportedFilesFormat);
    page.most = settings.charLimit < 0 ? Infinity : settings.charLimit;
    if (settings.apiKeys) wantKey();
    const text = $("text").value; // typed already, or kept by the browser
    page.state = choices.sound({ ...EMPTY, target: settings.language.target.code, text }, null);
    showRound();
    const found = read(location.hash);
    if (found) restore(found);
    else if (text) change({});
    if (settings.keyRequired && !key.get()) askFirst();
  } catch (error) {
    notices.refused(error);
  }
}

let met = false; // whether the server was reached once

onAnswers({ round: showRound, look: showLook, nothing: showNothing, stale: showStale, refused });
settle({ onKey: () => { forget(); change({}); } });
listenToBench();
listenToHand();
translation.word();
notices.listen({ again: () => (met ? change({}) : meet()), undo: hand.undoAll });
addEventListener("hashchange", () => restore(read(location.hash)));
document.addEventListener("regard:language", () => {
  translation.word();
  rows.close();
  if (!met) return;
  showRound();
  setTimeout(showMarks); // once the views have said all in the other language
});
meet();
