// Samples of the development set: what the model said at each validation, with the word links of its attention.

import { say } from "./messages.js";
import { clock, decimal, whole } from "./numbers.js";
import { runs } from "./state.js";

const { element, visible } = window.regard;
const $ = (id) => document.getElementById(id);
const PLAYED = 700; // milliseconds between two validations
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
const chosen = { run: 0, source: null, number: null }; // number: null follows the newest validation
let timer = null;

const parts = build();

function build() {
  const words = new window.regard.AlignmentView({
    clickable: false, weightsOf: () => ({ attended: [], attending: [], complete: true }), onActive: () => {}, onClick: () => {},
  });
  const play = element("button", { type: "button", className: "play" });
  const slider = element("input", { type: "range", min: 0, step: 1 });
  const where = element("output", { className: "where" }), texts = element("dl", { className: "sides" });
  const history = element("ol", { className: "history" }), title = element("h3");
  const note = element("p", { className: "note" });
  $("sample").replaceChildren(
    element("div", { className: "transport" }, play, slider, where),
    element("div", { className: "linked" }, words.box, words.out), texts,
    element("div", { className: "line" }, title, note), history);
  slider.addEventListener("input", () => choose(Number(slider.value)));
  play.addEventListener("click", () => (timer ? pause() : start()));
  history.addEventListener("click", (event) => {
    const row = event.target.closest("button");
    if (row) choose(Number(row.dataset.number));
  });
  return { words, play, slider, where, texts, history, title, note };
}

// ---- what is chosen

const run = () => runs[chosen.run];

/** The chosen sentence at each validation: { step, seconds, sample }. */
function story() {
  return run().validations.map(({ step, seconds, samples }) => ({ step, seconds, sample: samples.find(({ source }) => source === chosen.source) }))
    .filter(({ sample }) => sample);
}

function choose(number) {
  pause();
  chosen.number = number >= story().length - 1 ? null : number;
  showSample();
}

function pause() {
  clearInterval(timer);
  timer = null;
  showPlay();
}

/** Goes through the validations from the first, or on from the chosen one. */
function start() {
  if (chosen.number === null) chosen.number = 0;
  timer = setInterval(() => {
    if (chosen.number === null || ++chosen.number >= story().length - 1) {
      chosen.number = null;
      pause();
    }
    showSample();
  }, PLAYED);
  showPlay();
  showSample();
}

/** Shows the validation that is nearest to an update or a time. */
export function showAt(x, axis) {
  const list = story(), key = axis === "time" ? "seconds" : "step";
  if (!list.length) return;
  const far = list.map((entry) => Math.abs(entry[key] - x));
  choose(far.indexOf(Math.min(...far)));
}

// ---- drawing

function showPlay() {
  parts.play.textContent = timer ? "❚❚" : "▶";
  parts.play.setAttribute("aria-label", say(timer ? "sample.pause" : "sample.play"));
  parts.play.title = say(timer ? "sample.pause" : "sample.play");
}

function showRuns() {
  const with_ = runs.filter(({ validations }) => validations.length), key = JSON.stringify([with_.map(({ name }) => name), window.regard.language]);
  if (showRuns.key === key) return;
  showRuns.key = key;
  const radios = new window.regard.RadioGroup("segments", "sample.run", (number) => {
    Object.assign(chosen, { run: number, number: null });
    pause();
    showSamples();
  });
  radios.legend.className = "hidden";
  radios.show(with_.map(({ number }) => number), chosen.run, (number) => [visible(runs[number].name)]);
  $("sample-runs").replaceChildren(radios.box);
}

function showList() {
  const { samples } = run().validations.at(-1), list = $("texts"), { about = {} } = run();
  const focused = list.contains(document.activeElement);
  const labels = samples.map(({ source, output, score }) => {
    const input = element("input", { type: "radio", name: "sentence", value: source, checked: source === chosen.source });
    input.addEventListener("change", () => {
      chosen.source = source;
      pause();
      showSample();
    });
    const rating = Number.isFinite(score) ? [element("small", { title: say("sample.score", { score: decimal(score, 1) }) }, whole(score))] : [];
    return element("label", {}, input, element("span", {},
      element("b", { lang: window.regard.languageTag(about.source), dir: "auto" }, visible(source)),
      element("i", { lang: window.regard.languageTag(about.target), dir: "auto" }, visible(output) || say("sample.empty"))), ...rating);
  });
  list.replaceChildren(list.firstElementChild, ...labels);
  if (focused) list.querySelector("input:checked")?.focus();
}

/** An output with the words that the reference has too marked. */
function marked({ output, words = [], reference = "" }) {
  const known = new Set(reference.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []), nodes = [];
  let at = 0;
  for (const word of words) {
    const start = output.indexOf(word, at), lower = word.toLowerCase();
    if (start < 0 || !/[\p{L}\p{N}]/u.test(word)) continue;
    const stem = lower.replace(/[’']$/u, "");
    const hit = known.has(stem) || (WITHOUT_SPACES.test(word) && reference.includes(word));
    nodes.push(output.slice(at, start), element("span", { className: hit ? "hit" : "miss" }, word));
    at = start + word.length;
  }
  return [...nodes, output.slice(at)];
}

function showHistory(list, number) {
  const { about = {} } = run();
  parts.title.textContent = say("sample.history");
  parts.note.textContent = list.some(({ sample }) => sample.words?.length) ? say("sample.history.note") : "";
  const focused = parts.history.contains(document.activeElement) ? document.activeElement.dataset.number : null;
  parts.history.replaceChildren(...list.map(({ step, sample }, at) => {
    const bar = element("span", { className: "score" });
    if (Number.isFinite(sample.score)) {
      bar.textContent = whole(sample.score);
      bar.style.setProperty("--share", sample.score / 100);
    }
    const text = element("span", { className: "said", lang: window.regard.languageTag(about.target), dir: "auto" },
      ...(sample.output ? marked(sample) : [say("sample.empty")]));
    const button = element("button", { type: "button", data: { number: at } }, element("span", { className: "step" }, whole(step)), text, bar);
    if (at === number) button.setAttribute("aria-current", "true");
    return element("li", {}, button);
  }).reverse());
  if (focused !== null) parts.history.querySelector(`[data-number="${focused}"]`)?.focus();
}

function showSample() {
  const list = story(), { about = {} } = run();
  if (!list.length) return;
  const number = Math.min(chosen.number ?? list.length - 1, list.length - 1), { step, seconds, sample } = list[number];
  parts.slider.max = String(list.length - 1);
  parts.slider.value = String(number);
  const where = say("sample.at", { number: number + 1, count: list.length, step: whole(step), time: clock(seconds) });
  parts.where.textContent = where;
  parts.slider.setAttribute("aria-label", say("sample.slider"));
  parts.slider.setAttribute("aria-valuetext", where);
  const linked = sample.source_words?.length > 0;
  parts.words.box.parentElement.hidden = !linked;
  if (linked)
    parts.words.show({
      sides: { source: { words: sample.source_words, language: about.source }, target: { words: sample.words, language: about.target } },
      links: sample.links, confidence: sample.confidence, maps: [],
    });
  const side = (name, text, language, more = "") => (text === "" && name !== "output" ? [] : [element("div", {},
    element("dt", {}, say(`sample.${name}`), more && element("span", { className: "rating" }, more)),
    element("dd", { lang: window.regard.languageTag(language), dir: "auto" }, visible(text) || say("sample.empty")))]);
  const rating = Number.isFinite(sample.score) ? say("sample.score", { score: decimal(sample.score, 1) }) : "";
  parts.texts.replaceChildren(
    ...(linked ? [] : side("prompt", sample.source, about.source)),
    ...side(linked ? "output" : "continuation", sample.output, about.target, rating),
    ...side(linked ? "reference" : "text", sample.reference ?? "", about.target));
  showHistory(list, number);
}

/** Draws the samples of the chosen run; without any, nothing. */
export function showSamples() {
  const first = runs.find(({ validations }) => validations.length);
  $("samples").hidden = !first;
  if (!first) return;
  if (!run()?.validations.length) chosen.run = first.number;
  const { samples } = run().validations.at(-1);
  if (!samples.some(({ source }) => source === chosen.source)) chosen.source = samples[Math.floor(samples.length / 2)].source;
  showRuns();
  showList();
  showPlay();
  showSample();
}

/** Writes everything anew in another language. */
export function translateSamples() {
  if ($("samples").hidden) return;
  showSamples();
  parts.words.translate();
}
