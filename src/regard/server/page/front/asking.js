// When the server is asked: soon after something is wanted otherwise, and never for what is overtaken.

import { sound } from "./choices.js";
import { $ } from "./element.js";
import * as notices from "./notices.js";
import { looked, translated } from "./rounds.js";
import { located, page } from "./state.js";

export const DELAY = { typing: 60, beginning: 150, slider: 30, maps: 160 };

let timer = 0, controller = null, running = false, anew = false;
let show = { round() {}, look() {}, nothing() {}, stale() {}, refused() {} };

/** Who shows a round's text, then its maps; that there is nothing; that the text is older; what was refused. */
export function onAnswers(handlers) {
  show = handlers;
}

/** Something is wanted otherwise: ask, after a while; `patient` lets what is under way finish. */
export function change(what, { delay = 0, patient = false } = {}) {
  page.state = { ...page.state, ...what };
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
  if (patient && (running || timer)) {
    anew = running;
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
  running = anew = false;
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
    await answer(state, signal, delay === DELAY.typing);
  } catch (error) {
    if (signal.aborted) return;
    if (page.round?.of !== state.text) show.stale();
    await show.refused(error);
  } finally {
    if (!signal.aborted) finish();
  }
}

async function answer(asked, signal, typing) {
  const options = { signal, onWait: notices.waiting };
  const round = await translated(asked, page.detected, options);
  signal.throwIfAborted();
  notices.clear();
  const { state } = page, detected = round.plain.source;
  const held = located(state.held, round.plain.sentences);
  const number = Math.min(state.number, round.sentences.length - 1);
  Object.assign(page, { round, detected, state: sound({ ...state, held, number }, detected) });
  show.round();
  if (typing) await new Promise((resolve) => setTimeout(resolve, DELAY.maps)); // the next key may come before
  signal.throwIfAborted();
  const answers = number < 0 ? null : await looked(page.state, round, number, options);
  signal.throwIfAborted();
  notices.clear(); // that the server was busy when it was asked for the maps
  show.look(answers);
}

function finish() {
  running = false;
  $("answer").removeAttribute("aria-busy");
  if (anew) change({});
  anew = false;
}

function nothing() {
  notices.clear();
  $("answer").removeAttribute("aria-busy");
  Object.assign(page, { round: null, detected: null, state: sound({ ...page.state, number: 0 }) });
  show.nothing();
}
