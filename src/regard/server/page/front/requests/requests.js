// Requests to the server: after a short delay, cancelled by newer ones.

import { validState } from "../state/choices.js";
import { $ } from "../view/element.js";
import * as notices from "../view/notices.js";
import { fetchMaps, fetchTranslation } from "./translations.js";
import { matchEdits, page } from "../state/state.js";

export const DELAY = { typing: 60, prefix: 150, slider: 30, maps: 160 };

let timer = 0, controller = null, running = false, repeat = false;
let show = { result() {}, look() {}, nothing() {}, stale() {}, showError() {} };

/** Sets the functions that show a result's text, its maps, an empty page, a stale text, and errors. */
export function setHandlers(handlers) {
  show = handlers;
}

/** Updates the state and sends requests after a delay; `patient` lets running requests finish. */
export function update(what, { delay = 0, patient = false } = {}) {
  page.state = { ...page.state, ...what };
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  if (patient && (running || timer)) {
    repeat = running;
    return;
  }
  clearTimeout(timer);
  controller?.abort();
  controller = new AbortController();
  const { signal } = controller;
  timer = setTimeout(() => run(signal, delay), delay);
}

async function run(signal, delay) {
  timer = 0;
  running = repeat = false;
  const { state, most } = page, count = [...state.text].length;
  if (!state.text.trim()) return nothing();
  if (count > most) {
    $("answer").removeAttribute("aria-busy");
    show.stale();
    return notices.tooLong(count, most);
  }
  running = true;
  $("answer").setAttribute("aria-busy", "true");
  try {
    await load(state, signal, delay === DELAY.typing);
  } catch (error) {
    if (signal.aborted) return;
    if (page.result?.of !== state.text) show.stale();
    await show.showError(error);
  } finally {
    if (!signal.aborted) finish();
  }
}

async function load(requested, signal, typing) {
  const options = { signal, onWait: notices.waiting };
  const result = await fetchTranslation(requested, page.detected, options);
  signal.throwIfAborted();
  notices.clear();
  const { state } = page, detected = result.plain.source;
  const edits = matchEdits(state.edits, result.plain.sentences);
  const number = Math.min(state.number, result.sentences.length - 1);
  Object.assign(page, { result, detected, state: validState({ ...state, edits, number }, detected) });
  show.result();
  if (typing) await new Promise((resolve) => setTimeout(resolve, DELAY.maps)); // the next key may be typed before
  signal.throwIfAborted();
  const answers = number < 0 ? null : await fetchMaps(page.state, result, number, options);
  signal.throwIfAborted();
  notices.clear(); // the notice that the server was busy
  show.look(answers);
}

function finish() {
  running = false;
  $("answer").removeAttribute("aria-busy");
  if (repeat) update({});
  repeat = false;
}

function nothing() {
  notices.clear();
  $("answer").removeAttribute("aria-busy");
  Object.assign(page, { result: null, detected: null, state: validState({ ...page.state, number: 0 }) });
  show.nothing();
}
