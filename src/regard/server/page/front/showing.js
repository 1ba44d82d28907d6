// Showing what came: the translation and what it would be untouched, the model beside it, the views, the panel.

import { marked } from "./changes.js";
import * as choices from "./choices.js";
import { $, element, percent } from "./element.js";
import { change } from "./asking.js";
import * as alternatives from "./alternatives.js";
import { begin, followRow, setRow, toggle, wordOf } from "./hand.js";
import { showHold } from "./holding.js";
import * as looking from "./looking.js";
import * as rows from "./row.js";
import { beside } from "./rounds.js";
import { absent, page, present } from "./state.js";
import * as translation from "./translation.js";
import { say } from "./wording.js";

const SURE = 5; // per cent from which on a language counts as recognised
const LONG = 400; // characters from which on letters are smaller
const SPOKEN = 1000; // characters that it is told at most
const SPEECH = 900; // milliseconds after which a screen reader is told
let speech = 0;

const come = (text) => element("mark", { className: "changed" }, text);
const gone = (text) => element("del", {}, text);
const languageTag = () => page.state.target.replace("_", "-");
const isTouched = () => page.state.offs.length > 0 || present().length > 0;

/** The text and what is known of it. */
export function showText() {
  const { state, most, round } = page, count = [...state.text].length, found = round?.plain.detectedLanguage;
  $("text-mirror").replaceChildren(state.text, "\u200b");
  $("count").textContent = say("page.count", { count: count.toLocaleString("en"), most: most.toLocaleString("en") });
  $("count").classList.toggle("warn", count > most);
  const sure = found?.confidence >= SURE ? "page.detected" : "page.detected.not";
  $("detected").textContent = found ? say(sure, { language: choices.nameOf(found.language), share: percent(found.confidence / 100) }) : "";
  $("clear").hidden = !state.text;
  $("panes").classList.toggle("long", count > LONG);
  $("intro").hidden = Boolean(state.text);
  $("text").placeholder = say("page.placeholder");
  $("example").hidden = !choices.exampleOf(state);
}

export function showRound() {
  const { state, round, detected } = page, sentences = round?.sentences ?? [];
  const begun = present().some((one) => one.prefix);
  alternatives.check();
  translation.show(sentences);
  showStale(round?.of !== state.text);
  $("translation").lang = languageTag();
  choices.showChoices(state, detected);
  showText();
  showUntouched(sentences);
  $("held").hidden = !begun;
  $("gone").hidden = !absent().length;
  $("held-text").textContent = say("page.held");
  const cut = sentences.some((one) => !one.shown.finished);
  $("time").textContent = !round || begun ? "" : cut ? say("page.cut") : say("page.time", { ms: Math.max(1, Math.round(1000 * round.plain.seconds)) });
  showOther();
  showPanel();
  clearTimeout(speech);
  speech = setTimeout(() => {
    if (document.activeElement === $("translation")) return;
    const all = $("translation").value;
    $("said").textContent = all.length > SPOKEN ? `${all.slice(0, SPOKEN)} …` : all;
  }, SPEECH);
}

/** Whether the translation is of an earlier text: it is dim then, and said to be so. */
export function showStale(is = true) {
  const old = is && Boolean(page.round);
  $("answer").classList.toggle("stale", old);
  $("stale").hidden = !old;
  $("copy").hidden = old || !page.round;
  if (old) $("time").textContent = "";
}

/** What the translation would be if nobody had touched it, with what is not there any more. */
function showUntouched(sentences) {
  const others = sentences.filter((one) => one.text !== one.untouched), other = others.length > 0;
  $("untouched").hidden = !sentences.length || !isTouched();
  $("untouched").firstElementChild.textContent = say(other ? "page.untouched" : "page.same");
  const were = others.flatMap((one, place) => [place ? " … " : "", ...marked(one.untouched, one.were, one.gone, gone)]);
  $("untouched-text").replaceChildren(...(other ? were : []));
  $("untouched-text").lang = languageTag();
}

/** The translation of the model beside it, with the words that the first does not have. */
function showOther() {
  const { round } = page, other = round?.other;
  for (const id of ["second", "second-sight", "who", "first-view-title"]) $(id).hidden = !other;
  $("views").classList.toggle("two", Boolean(other));
  if (!other) return looking.show("second", null);
  $("who").textContent = $("first-view-title").textContent = round.plain.model;
  $("second-who").textContent = $("second-view-title").textContent = other.model;
  const alike = other.sentences.length === round.sentences.length;
  $("second-text").lang = languageTag();
  $("second-text").replaceChildren(...(alike ? beside(other, round.sentences, come) : [other.text]));
}

/** The views of a sentence, by the model and by the one beside it. */
export function showLook(answers) {
  const { state, round } = page;
  $("look").hidden = !answers;
  if (!answers) return;
  const [own, other] = answers;
  looking.show("first", own.sentences[0], looking.first() ? null : state.chosen);
  if (state.chosen && !looking.mapsOpen()) looking.openMaps();
  looking.show("second", other?.sentences[0] ?? null, looking.first()?.state);
  looking.showSentences(round.sentences.length, state.number, (number) => { rows.close(); change({ number }); });
  looking.openAlike();
  showMarks();
  followRow();
  showPanel(own.maps);
}

/** Marks in the first view: changed words, heads that are off. */
export function showMarks() {
  const { state, round } = page, one = round?.sentences[state.number];
  const touched = state.offs.length > 0 || present().some((held) => held.number === state.number);
  looking.mark({ changed: one?.changed.flatMap((is, place) => (is && touched ? [place] : [])) ?? [], offs: state.offs });
}

/** The panel beside the view. */
export function showPanel(maps = "all") {
  const view = looking.first(), { state, round } = page;
  $("hold").hidden = !view;
  if (!view) return;
  showHold({
    chosen: view.state, mapsOpen: looking.mapsOpen(), offs: state.offs, held: present(), several: round?.sentences.length > 1, word: wordOf, unused: round?.unused ?? 0,
    onToggle: toggle, onRemoveOff: toggle, onRemoveRow: (one, number) => setRow(one, null, { number }), onRelease: (number) => begin(number, ""),
  });
  if (maps === "none") $("hold-hint").textContent = say("page.maps.none");
  const one = round?.sentences[state.number];
  $("now").hidden = !one || !(looking.mapsOpen() || isTouched());
  $("now-text").lang = languageTag();
  $("now-text").replaceChildren(...(one ? marked(one.text, one.words, one.changed, come) : []));
}

/** Nothing to translate, nothing to see. */
export function showNothing() {
  for (const side of ["first", "second"]) looking.show(side, null);
  rows.close();
  $("look").hidden = true;
  showRound();
}
