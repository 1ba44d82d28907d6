// The stages of a sentence: a word's way through the model, and writing word by word.

import { $ } from "./element.js";
import { say } from "./messages.js";
import * as notices from "./notices.js";
import { post } from "../requests/server.js";
import { traceRequest } from "../requests/translations.js";
import { page } from "../state/state.js";

let player = null, controller = null;
let shown = ""; // the request of what is shown, without the words that were chosen
let written = []; // ids of the chosen words and those before them

const isStage = ({ name, side, part, layer }) => (step) => step.name === name && step.side === side && step.part === part && step.layer === layer;
const isOpen = () => !$("follow-close").hidden;

/** The request for the sentence that is shown. */
const currentRequest = () => traceRequest(page.state, page.result, page.state.number);

async function load(options) {
  const fields = currentRequest();
  controller?.abort();
  controller = new AbortController();
  const { signal } = controller;
  if (JSON.stringify(fields) !== shown) written = [];
  shown = JSON.stringify(fields);
  $("follow-close").hidden = false;
  $("stages").setAttribute("aria-busy", "true");
  try {
    const request = written.length ? { ...fields, prefix: null, written } : fields;
    const { trace, text } = await post("v1/trace", request, { signal, onWait: notices.waiting });
    show(trace, text, options);
  } catch (error) {
    if (!signal.aborted) fail(error);
  } finally {
    if (!signal.aborted) $("stages").removeAttribute("aria-busy");
  }
}

function show(trace, text, { start, positions, head, focus } = {}) {
  const box = $("stages");
  notices.clear();
  box.style.minHeight = `${box.offsetHeight}px`; // else the page would jump
  player?.destroy();
  player = window.regard.stages(box, trace, { keys: $("follow"), start, positions, head, onWord: goOn });
  player.ready.then(() => {
    box.style.minHeight = "";
    if (focus) box.querySelector(focus)?.focus({ preventScroll: true });
  });
  $("follow-said").textContent = "";
  $("follow-text").textContent = text;
  $("follow-text").lang = page.state.target.replace("_", "-");
  $("follow-now").hidden = !written.length;
}

/** Shows why there are no stages: what the server says of this sentence, or that it cannot be reached. */
function fail(error) {
  player?.destroy();
  player = null;
  $("follow-now").hidden = true;
  $("follow-said").textContent = error.status === 400 ? say("page.error.said", { sentence: error.sentence }) : "";
  if (error.status !== 400) notices.showError(error);
}

/** Goes on with a next word; the server writes what follows it. */
function goOn({ side, position, id }) {
  const { ids } = player.data.sides[side], { state } = player, next = Math.min(position + 1, ids.length - 1);
  if (ids[position] === id) return void player.setPosition(side, next);
  written = [...ids.slice(0, position), id];
  load({ start: isStage(state), head: state.head, positions: { ...state.positions, [side]: position + 1 }, focus: ".next-word" });
}

/** Shows the stages of the sentence that is shown now, if they are open. */
export function update() {
  $("follow").hidden = $("look").hidden;
  if (!isOpen() || !page.result?.sentences[page.state.number] || JSON.stringify(currentRequest()) === shown) return;
  load(player ? { start: isStage(player.state), head: player.state.head } : {}); // none while the first is loading
}

export function close() {
  controller?.abort();
  player?.destroy();
  player = null;
  shown = "";
  for (const id of ["follow-close", "follow-now"]) $(id).hidden = true;
  $("stages").removeAttribute("aria-busy");
  $("follow-said").textContent = "";
  $("follow").hidden = $("look").hidden;
}

export function listen() {
  const firstWord = { start: ({ name, side }) => name === "probabilities" && side === "decoder", positions: { decoder: 0 }, focus: ".next-word" };
  $("follow-stages").addEventListener("click", () => { written = []; load({ focus: "[data-go=next]" }); });
  $("follow-words").addEventListener("click", () => { written = []; load(firstWord); });
  $("follow-again").addEventListener("click", () => { written = []; load(firstWord); });
  $("follow-close").addEventListener("click", () => { close(); $("follow-stages").focus(); });
}
