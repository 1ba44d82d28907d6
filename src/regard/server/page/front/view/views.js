// The views of the model and of the compared model, and the sentence they show.

import { $, button, element } from "./element.js";
import { say } from "./messages.js";

const MAX_BUTTONS = 12; // sentences that have a button each
const views = { first: null, second: null };
let together = false; // while one view is synced to the other
let events = {};

export const first = () => views.first;
const isMap = (entry, { kind, layer }) => entry.kind === kind && entry.layer === layer;
const mapDetails = (side) => $(`view-${side}`).querySelector("details");

/** Sets the handlers of clicked words, chosen rows and chosen maps. */
export function listen(handlers) {
  events = handlers;
  for (const side of ["first", "second"]) {
    const box = $(`view-${side}`);
    box.addEventListener("regard:chosen", (event) => syncChoice(side, event.detail));
    box.addEventListener("toggle", (event) => relayout(event.target), true);
    if (side === "second") continue;
    box.addEventListener("regard:word", (event) => events.onWord(event.detail));
    box.addEventListener("regard:row", (event) => events.onRow(event.detail));
    box.addEventListener("toggle", () => setTimeout(events.onToggle), true); // once the view has opened its maps
  }
}

/**
 * Chromium leaves parts of closed details without a layout for good if their container, which is asked for its
 * width, changes it meanwhile: once opened, they are taken out and put back.
 */
function relayout(details) {
  if (!details.open) return;
  const parts = [...details.children].slice(1); // behind the summary, which may have the focus
  for (const entry of parts) entry.style.display = "none";
  details.getBoundingClientRect();
  for (const entry of parts) entry.style.display = "";
}

/** Applies a choice in one view to the other, if it has such a map. */
function syncChoice(side, { kind, layer, head }) {
  if (together) return;
  together = true;
  const other = views[side === "first" ? "second" : "first"];
  if (other) choose(other, { kind, layer, head });
  together = false;
  if (side === "first") events.onChosen({ kind, layer, head });
}

function choose(view, { kind, layer, head }) {
  const { maps } = view.data;
  const map = maps.find((entry) => isMap(entry, { kind, layer })) ?? maps.find((entry) => entry.kind === kind);
  if (!map) return;
  view.choose({ kind, layer: map.layer, head: map.heads.includes(head) ? head : "mean" });
}

/** Whether the maps of the first view are open. */
export function mapsOpen() {
  const details = mapDetails("first");
  return views.first !== null && views.first.data.maps.length > 0 && (!details || details.open);
}

/** The weights of a row of the first view's map. */
export async function weights({ kind, layer, head, row }) {
  const { data } = views.first;
  const map = data.maps.find((entry) => isMap(entry, { kind, layer }));
  const values = data.axes[map.columns].tokens.map(() => 0);
  const matrix = await new window.regard.Layer(data, map).matrix(head);
  matrix.eachInRow(row, (column, weight) => { values[column] = weight; });
  return values;
}

/** The button of a word. */
export function wordButton(view, { side, word }) {
  return $(`view-${view}`).querySelector(`.words.${side} .word[data-word="${word}"]`);
}

/** Replaces the sentence of a view; a focused word keeps the focus if it still exists. */
function replace(side, shown) {
  const chip = $(`view-${side}`).querySelector(".word:focus");
  const at = chip && { side: chip.closest(".words").dataset.side, word: chip.dataset.word };
  views[side].replace(shown);
  if (at) (wordButton(side, at) ?? wordButton(side, { ...at, word: 0 }))?.focus({ preventScroll: true });
}

/** Shows a sentence on a side, or nothing. */
export function show(side, shown, wanted = null) {
  const box = $(`view-${side}`);
  if (!shown) {
    views[side]?.destroy();
    views[side] = null;
    box.replaceChildren();
    return;
  }
  if (views[side]) replace(side, shown);
  else views[side] = window.regard.view(box, shown, { maps: false, clickable: side === "first" });
  if (wanted) {
    together = true;
    choose(views[side], wanted);
    together = false;
  }
}

export function openMaps() {
  const details = mapDetails("first");
  if (details) details.open = true;
}

/** Opens or closes the second view's maps like the first's. */
export function syncMaps() {
  const [own, other] = ["first", "second"].map(mapDetails);
  if (own && other) other.open = own.open;
}

/** Marks the first view: changed words, heads and maps that are off. */
export function mark({ changed, offHeads }) {
  const box = $("view-first"), state = views.first?.state;
  const describe = (node, message) => {
    if (message) node.setAttribute("aria-description", say(message));
    else node.removeAttribute("aria-description");
  };
  for (const chip of box.querySelectorAll(".words.target .word")) {
    const is = changed.includes(Number(chip.dataset.word));
    chip.classList.toggle("changed", is);
    chip.setAttribute("aria-haspopup", "menu");
    describe(chip, is && "page.changed");
  }
  const off = offHeads.filter((entry) => isMap(entry, state ?? {})).map(({ head }) => head);
  for (const input of box.querySelectorAll(".heads input")) {
    const is = off.map(String).includes(input.value);
    input.parentNode.classList.toggle("off", is);
    describe(input, is && "page.is.off");
  }
  views.first?.dim(offText(off));
}

/** The text over the large map if its head is, or all heads are, off. */
function offText(off) {
  const { data, state } = views.first;
  if (off.includes(state.head)) return say("page.map.off", { head: state.head });
  const all = state.head === "mean" && data.maps.find((entry) => isMap(entry, state))?.heads.every((head) => off.includes(head));
  return all ? say("page.map.all.off") : null;
}

/** Buttons for the sentences, where there are several; a list with arrows where there are many. */
export function showSentences(count, number, onChoose) {
  const box = $("sentences"), focused = box.contains(document.activeElement);
  box.hidden = count < 2;
  if (count < 2) return box.replaceChildren();
  if (count > MAX_BUTTONS) return showMany(box, count, number, onChoose);
  const entry = (place) => button(String(place + 1), () => onChoose(place), {
    "aria-label": say("page.sentence", { number: place + 1 }), "aria-pressed": String(place === number),
  });
  box.replaceChildren(...Array.from({ length: count }, (_, place) => entry(place)));
  if (focused) box.children[number]?.focus();
}

function showMany(box, count, number, onChoose) {
  const focused = [...box.children].indexOf(document.activeElement);
  const name = (place) => say("page.sentence.of", { number: place + 1, count });
  const all = Array.from({ length: count }, (_, place) => element("option", { value: place }, name(place)));
  const list = element("select", { onchange: () => onChoose(Number(list.value)), "aria-label": say("page.sentences") }, ...all);
  list.value = String(number);
  const step = (sign, to) => button(sign, () => onChoose(to), {
    label: say("page.sentence", { number: to + 1 }), disabled: to < 0 || to >= count,
  });
  box.replaceChildren(step("‹", number - 1), list, step("›", number + 1));
  const again = box.children[focused];
  (again?.disabled ? list : again)?.focus();
}
