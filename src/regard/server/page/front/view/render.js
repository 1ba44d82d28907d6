// Shows a result: the translation and the one without edits, the compared model, the views, the panel.

import { markWords } from "../state/word_diff.js";
import * as choices from "../state/choices.js";
import { $, element, percent } from "./element.js";
import { update } from "../requests/requests.js";
import * as alternatives from "../edits/alternatives.js";
import * as follow from "./follow.js";
import { setPrefix, updateRow, setRow, toggle, rowWord } from "../edits/edits.js";
import { showEdits } from "../edits/edit_list.js";
import * as views from "./views.js";
import * as rows from "../edits/row_editor.js";
import { markOther } from "../requests/translations.js";
import { absentEdits, page, currentEdits } from "../state/state.js";
import * as translation from "./translation_box.js";
import { say } from "./messages.js";

const SURE = 5; // minimum confidence of a detected language, in per cent
const LONG = 400; // characters from which on letters are smaller
const SPOKEN = 1000; // maximum characters for screen readers
const SPEECH = 900; // milliseconds before a screen reader reads it
let speech = 0;

const added = (text) => element("mark", { className: "changed" }, text);
const removed = (text) => element("del", {}, text);
const languageTag = () => page.state.target.replace("_", "-");
const isEdited = () => page.state.offHeads.length > 0 || currentEdits().length > 0;

/** Shows the text, its length and its language. */
export function showText() {
  const { state, most, result } = page, count = [...state.text].length, detection = result?.plain.detectedLanguage;
  $("text-mirror").replaceChildren(state.text, "\u200b");
  $("count").textContent = say("page.count", { count: count.toLocaleString("en"), most: most.toLocaleString("en") });
  $("count").classList.toggle("warn", count > most);
  const message = detection?.confidence >= SURE ? "page.detected" : "page.detected.not";
  $("detected").textContent = detection ? say(message, { language: choices.languageName(detection.language), share: percent(detection.confidence / 100) }) : "";
  $("clear").hidden = !state.text;
  $("panes").classList.toggle("long", count > LONG);
  $("intro").hidden = Boolean(state.text);
  $("text").placeholder = say("page.placeholder");
  $("example").hidden = !choices.exampleOf(state);
}

export function showTranslation() {
  const { state, result, detected } = page, sentences = result?.sentences ?? [];
  const begun = currentEdits().some((entry) => entry.prefix);
  alternatives.check();
  translation.show(sentences);
  showStale(result?.of !== state.text);
  $("translation").lang = languageTag();
  choices.showChoices(state, detected);
  showText();
  showUntouched(sentences);
  $("held").hidden = !begun;
  $("gone").hidden = !absentEdits().length;
  const cut = sentences.some((entry) => !entry.shown.finished);
  $("time").textContent = !result || begun ? "" : cut ? say("page.cut") : say("page.time", { ms: Math.max(1, Math.round(1000 * result.plain.seconds)) });
  showOther();
  showPanel();
  clearTimeout(speech);
  speech = setTimeout(() => {
    if (document.activeElement === $("translation")) return;
    const all = $("translation").value;
    $("said").textContent = all.length > SPOKEN ? `${all.slice(0, SPOKEN)} …` : all;
  }, SPEECH);
}

/** Marks the translation as one of an earlier text. */
export function showStale(is = true) {
  const old = is && Boolean(page.result);
  $("answer").classList.toggle("stale", old);
  $("stale").hidden = !old;
  $("copy").hidden = old || !page.result;
  if (old) $("time").textContent = "";
}

/** Shows the translation without edits, with the words that edits removed. */
function showUntouched(sentences) {
  const others = sentences.filter((entry) => entry.text !== entry.untouched), other = others.length > 0;
  $("untouched").hidden = !sentences.length || !isEdited();
  $("untouched").firstElementChild.textContent = say(other ? "page.untouched" : "page.same");
  const previousWords = others.flatMap((entry, place) => [place ? " … " : "", ...markWords(entry.untouched, entry.previousWords, entry.removed, removed)]);
  $("untouched-text").replaceChildren(...(other ? previousWords : []));
  $("untouched-text").lang = languageTag();
}

/** Shows the compared model's translation, with the words that the first lacks. */
function showOther() {
  const { result } = page, other = result?.other;
  for (const id of ["second", "second-sight", "who", "first-view-title"]) $(id).hidden = !other;
  $("views").classList.toggle("two", Boolean(other));
  if (!other) return views.show("second", null);
  $("who").textContent = $("first-view-title").textContent = result.plain.model;
  $("second-who").textContent = $("second-view-title").textContent = other.model;
  const alike = other.sentences.length === result.sentences.length;
  $("second-text").lang = languageTag();
  $("second-text").replaceChildren(...(alike ? markOther(other, result.sentences, added) : [other.text]));
}

/** Shows the views of a sentence, by the model and the compared one. */
export function showViews(answers) {
  const { state, result } = page;
  $("look").hidden = !answers;
  follow.update();
  if (!answers) return;
  const [own, other] = answers;
  views.show("first", own.sentences[0], views.first() ? null : state.chosen);
  if (state.chosen && !views.mapsOpen()) views.openMaps();
  views.show("second", other?.sentences[0] ?? null, views.first()?.state);
  views.showSentences(result.sentences.length, state.number, (number) => { rows.close(); update({ number }); });
  views.syncMaps();
  showMarks();
  updateRow();
  showPanel(own.maps);
}

/** Marks changed words and heads that are off. */
export function showMarks() {
  const { state, result } = page, entry = result?.sentences[state.number];
  const touched = state.offHeads.length > 0 || currentEdits().some((edits) => edits.number === state.number);
  views.mark({ changed: entry?.changed.flatMap((is, place) => (is && touched ? [place] : [])) ?? [], offHeads: state.offHeads });
}

/** Shows the panel beside the view. */
export function showPanel(maps = "all") {
  const view = views.first(), { state, result } = page;
  $("hold").hidden = !view;
  if (!view) return;
  showEdits({
    chosen: view.state, mapsOpen: views.mapsOpen(), offHeads: state.offHeads, edits: currentEdits(), several: result?.sentences.length > 1, word: rowWord, unused: result?.unused ?? 0,
    onToggle: toggle, onRemoveOff: toggle, onRemoveRow: (entry, number) => setRow(entry, null, { number }), onRelease: (number) => setPrefix(number, ""),
  });
  if (maps === "none") $("hold-hint").textContent = say("page.maps.none");
  const entry = result?.sentences[state.number];
  $("now").hidden = !entry || !(views.mapsOpen() || isEdited());
  $("now-text").lang = languageTag();
  $("now-text").replaceChildren(...(entry ? markWords(entry.text, entry.words, entry.changed, added) : []));
}

/** Shows the empty page. */
export function showNothing() {
  for (const side of ["first", "second"]) views.show(side, null);
  rows.close();
  $("look").hidden = true;
  follow.close();
  showTranslation();
}
