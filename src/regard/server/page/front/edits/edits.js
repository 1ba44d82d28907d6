// Edits of a translation: its prefix, alternative words, and changed attention.

import * as alternatives from "./alternatives.js";
import { DELAY, update } from "../requests/requests.js";
import { $ } from "../view/element.js";
import { sameHead, sameRow } from "./edit_list.js";
import * as views from "../view/views.js";
import * as notices from "../view/notices.js";
import * as rows from "./row_editor.js";
import { restoreTyped } from "../requests/translations.js";
import { post } from "../requests/server.js";
import { absentEdits, editedRow, editedRows, withEdits, page, currentEdits } from "../state/state.js";
import { say } from "../view/messages.js";

const OTHERS = 6; // alternatives offered for a word
const MAX_UNDO = 200; // prefixes that can be undone
const undoStack = []; // {edits, target} before each change

/** Sets the prefix of a sentence's translation. */
export function setPrefix(number, prefix, delay = 0) {
  if (!page.result?.sentences[number]) return;
  pushUndo();
  update({ edits: withEdits(number, { prefix }), number }, { delay });
}

function pushUndo() {
  undoStack.push({ edits: page.state.edits, target: page.state.target });
  if (undoStack.length > MAX_UNDO) undoStack.shift();
}

/** Restores the prefixes before the last change; edited rows stay. */
export function undoPrefix() {
  const previous = undoStack.pop();
  if (previous?.target !== page.state.target) return;
  const findEntry = (list, entry) => list.find((other) => other.source === entry.source && other.number === entry.number);
  const kept = page.state.edits.map((entry) => ({ ...entry, prefix: findEntry(previous.edits, entry)?.prefix ?? "" }));
  const removed = previous.edits.filter((entry) => !findEntry(kept, entry)).map((entry) => ({ ...entry, rows: [] }));
  update({ edits: [...kept, ...removed].filter((entry) => entry.prefix || entry.rows.length) });
}

/** Removes the prefix of the shown sentence; if it has none, all prefixes. */
export function clearPrefix() {
  const begun = currentEdits().filter((entry) => entry.prefix);
  if (!begun.length) return;
  if (begun.some((entry) => entry.number === page.state.number)) return setPrefix(page.state.number, "");
  pushUndo();
  for (const { number } of begun) page.state.edits = withEdits(number, { prefix: "" });
  update({});
}

/** Drops the edits of removed sentences. */
export function dropAbsent() {
  const removed = absentEdits();
  update({ edits: page.state.edits.filter((entry) => !removed.includes(entry)) });
}

/** Opens the menu of alternatives for a word. */
export function openAlternatives({ number, place, at, focus, back }) {
  const { plain, sentences } = page.result ?? {}, entry = sentences?.[number];
  const { translation: text, sides } = entry?.shown ?? {}, words = sides?.target.words ?? [];
  if (place >= words.length) return; // the view still shows what was there before
  const parts = (other) => alternatives.splitAlternative(text, words, place, other);
  const fields = { q: entry.source, source: plain.source, target: plain.target, model: plain.model, translation: text, word: place, count: 2 * OTHERS };
  // a piece that only lengthens the word before is no other word
  const another = (choice) => {
    const { before, word, after } = parts(choice.text), whole = words[place], first = word.trim();
    const same = first === whole || (first.length < whole.length && `${first}${after}`.startsWith(whole));
    return first && !same && (place === 0 || before);
  };
  const choices = post("v1/alternatives", fields).then((all) => all.filter(another).slice(0, OTHERS));
  alternatives.open({
    at, word: words[place], alternatives: choices, parts, focus, back,
    still: () => back.isConnected && page.result?.sentences[number]?.shown.translation === text,
    onClose: (give) => { if (give) back.focus(); },
    onChoose: (prefix) => setPrefix(number, restoreTyped(prefix, entry.prefix, text, entry.shown.begun)),
  }).catch(notices.showError);
}

/** Switches a head off, or on again. */
export function toggle({ kind, layer, head }) {
  const entry = { kind, layer, head }, { offHeads } = page.state;
  const others = offHeads.filter((other) => !sameHead(entry, other));
  update({ offHeads: others.length < offHeads.length ? others : [...offHeads, entry] });
}

/** Sets the weights of a row; null restores the model's. */
export function setRow(place, weights, { number = page.state.number, ...options } = {}) {
  if (!page.result?.sentences[number]) return;
  const others = editedRows(number).filter((entry) => !sameRow(entry, place));
  update({ edits: withEdits(number, { rows: weights ? [...others, { ...place, weights }] : others }) }, options);
}

/** Moves the weights of a row to another scope. */
function moveRow(before, after) {
  const entry = editedRow(before);
  if (!entry) return;
  const others = editedRows().filter((row) => row !== entry && !sameRow(row, after));
  update({ edits: withEdits(page.state.number, { rows: [...others, { ...entry, ...after }] }) });
}

export function undoAll() {
  rows.close();
  update({ offHeads: [], edits: [] });
}

const AXES = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["inputs", "inputs"] };

/** The word of a row. */
export function rowWord({ kind, row }, number = page.state.number) {
  const axes = number === page.state.number ? views.first()?.data.axes : page.result?.sentences[number]?.shown.axes;
  return (axes?.[AXES[kind][0]]?.tokens[row] ?? `${row}`).replace(/^▁(?=.)/u, "");
}

/** The tokens that a row can attend to; in the decoder's self-attention those before it. */
function visibleTokens({ kind, row }) {
  const { tokens } = views.first().data.axes[AXES[kind][1]];
  return kind === "decoder" ? tokens.slice(0, row + 1) : tokens;
}

async function modelWeights(place) {
  return (await views.weights(place)).slice(0, visibleTokens(place).length);
}

/** Opens a row of the chosen map in the editor. */
export async function openRow({ kind, layer, head, row }) {
  if (visibleTokens({ kind, row }).length < 2) return rows.refuse();
  const scopes = [
    [{ kind, row, layer, head }, say("page.scope.head", { layer, head })],
    [{ kind, row, layer, head: null }, say("page.scope.layer", { layer })],
    [{ kind, row, layer: null, head: null }, say("page.scope.all")],
  ].slice(head === "mean" ? 1 : 0);
  const [place] = scopes.find(([entry]) => editedRow(entry)) ?? scopes[0];
  const values = editedRow(place)?.weights ?? await modelWeights({ kind, layer, head, row });
  rows.edit({
    place, scopes, values, word: rowWord(place), tokens: visibleTokens(place),
    onChange: (where, weights) => setRow(where, weights, { patient: true, delay: DELAY.slider }),
    onScope: moveRow,
    onReset: (where) => setRow(where, null),
    onClose: () => $("view-first").querySelector(".cells")?.focus(),
  });
}

/** Updates an open row that is not edited with the model's weights; closes one that is gone. */
export async function updateRow() {
  const place = rows.openRow(), view = views.first();
  if (!place) return;
  if (place.row >= view.data.axes[AXES[place.kind][0]].tokens.length && !editedRow(place)) return rows.close();
  rows.rename(rowWord(place), visibleTokens(place));
  if (editedRow(place)) return;
  rows.move(await modelWeights({ ...place, layer: place.layer ?? view.state.layer, head: place.head ?? view.state.head }));
}
