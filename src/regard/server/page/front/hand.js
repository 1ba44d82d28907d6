// The hand on a translation: its beginning, other words in it, and the attention behind it.

import * as alternatives from "./alternatives.js";
import { DELAY, change } from "./asking.js";
import { $ } from "./element.js";
import { sameHead, sameRow } from "./holding.js";
import * as looking from "./looking.js";
import * as notices from "./notices.js";
import * as rows from "./row.js";
import { retyped } from "./rounds.js";
import { ask } from "./server.js";
import { absent, heldRow, heldRows, hold, page, present } from "./state.js";
import { say } from "./wording.js";

const OTHERS = 6; // words offered in the place of one
const BACK = 200; // beginnings that can be gone back to
const past = []; // {held, target}: what was held before each

/** A sentence begins with this from now on. */
export function begin(number, prefix, delay = 0) {
  if (!page.round?.sentences[number]) return;
  remember();
  change({ held: hold(number, { prefix }), number }, { delay });
}

function remember() {
  past.push({ held: page.state.held, target: page.state.target });
  if (past.length > BACK) past.shift();
}

/** The beginnings as they were before the last one; rows that were set stay. */
export function back() {
  const was = past.pop();
  if (was?.target !== page.state.target) return;
  const among = (list, one) => list.find((other) => other.source === one.source && other.number === one.number);
  const now = page.state.held.map((one) => ({ ...one, prefix: among(was.held, one)?.prefix ?? "" }));
  const gone = was.held.filter((one) => !among(now, one)).map((one) => ({ ...one, rows: [] }));
  change({ held: [...now, ...gone].filter((one) => one.prefix || one.rows.length) });
}

/** Lets go of the beginning of the sentence that is looked at; if it has none, of all. */
export function release() {
  const begun = present().filter((one) => one.prefix);
  if (!begun.length) return;
  if (begun.some((one) => one.number === page.state.number)) return begin(page.state.number, "");
  remember();
  for (const { number } of begun) page.state.held = hold(number, { prefix: "" });
  change({});
}

/** Forgets what is held of sentences that are not there. */
export function forgetAbsent() {
  const gone = absent();
  change({ held: page.state.held.filter((one) => !gone.includes(one)) });
}

/** Menu of what else could stand at a word. */
export function askInstead({ number, place, at, focus, back }) {
  const { plain, sentences } = page.round ?? {}, one = sentences?.[number];
  const { translation: text, sides } = one?.shown ?? {}, words = sides?.target.words ?? [];
  if (place >= words.length) return; // the view still shows what was there before
  const parts = (other) => alternatives.beginning(text, words, place, other);
  const asked = { q: one.source, source: plain.source, target: plain.target, model: plain.model, translation: text, word: place, count: 2 * OTHERS };
  // a piece that only lengthens the word before is no other word
  const another = (each) => {
    const { before, word, after } = parts(each.text), whole = words[place], first = word.trim();
    const same = first === whole || (first.length < whole.length && `${first}${after}`.startsWith(whole));
    return first && !same && (place === 0 || before);
  };
  const found = ask("v1/alternatives", asked).then((all) => all.filter(another).slice(0, OTHERS));
  alternatives.open({
    at, word: words[place], found, parts, focus, back,
    still: () => back.isConnected && page.round?.sentences[number]?.shown.translation === text,
    onClose: (give) => { if (give) back.focus(); },
    onChoose: (prefix) => begin(number, retyped(prefix, one.prefix, text, one.shown.begun)),
  }).catch(notices.refused);
}

/** A head is switched off, or on again. */
export function toggle({ kind, layer, head }) {
  const one = { kind, layer, head }, { offs } = page.state;
  const others = offs.filter((other) => !sameHead(one, other));
  change({ offs: others.length < offs.length ? others : [...offs, one] });
}

/** Other weights for a row, or none: those of the model. */
export function setRow(place, weights, { number = page.state.number, ...options } = {}) {
  if (!page.round?.sentences[number]) return;
  const others = heldRows(number).filter((one) => !sameRow(one, place));
  change({ held: hold(number, { rows: weights ? [...others, { ...place, weights }] : others }) }, options);
}

/** Weights that were set in one place are meant for another. */
function moveRow(before, after) {
  const one = heldRow(before);
  if (!one) return;
  const others = heldRows().filter((each) => each !== one && !sameRow(each, after));
  change({ held: hold(page.state.number, { rows: [...others, { ...one, ...after }] }) });
}

export function undoAll() {
  rows.close();
  change({ offs: [], held: [] });
}

const AXES = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["inputs", "inputs"] };

/** The word whose row this is. */
export function wordOf({ kind, row }, number = page.state.number) {
  const axes = number === page.state.number ? looking.first()?.data.axes : page.round?.sentences[number]?.shown.axes;
  return (axes?.[AXES[kind][0]]?.tokens[row] ?? `${row}`).replace(/^▁(?=.)/u, "");
}

/** What a row may look at; in the decoder's own attention, what it has read by then. */
function seenFrom({ kind, row }) {
  const { tokens } = looking.first().data.axes[AXES[kind][1]];
  return kind === "decoder" ? tokens.slice(0, row + 1) : tokens;
}

async function ownWeights(place) {
  return (await looking.weights(place)).slice(0, seenFrom(place).length);
}

/** Opens a row of the chosen map, to be set by hand. */
export async function openRow({ kind, layer, head, row }) {
  if (seenFrom({ kind, row }).length < 2) return rows.refuse();
  const scopes = [
    [{ kind, row, layer, head }, say("page.scope.head", { layer, head })],
    [{ kind, row, layer, head: null }, say("page.scope.layer", { layer })],
    [{ kind, row, layer: null, head: null }, say("page.scope.all")],
  ].slice(head === "mean" ? 1 : 0);
  const [place] = scopes.find(([one]) => heldRow(one)) ?? scopes[0];
  const values = heldRow(place)?.weights ?? await ownWeights({ kind, layer, head, row });
  rows.edit({
    place, scopes, values, word: wordOf(place), tokens: seenFrom(place),
    onChange: (where, now) => setRow(where, now, { patient: true, delay: DELAY.slider }),
    onScope: moveRow,
    onReset: (where) => setRow(where, null),
    onClose: () => $("view-first").querySelector(".cells")?.focus(),
  });
}

/** A row that is open but not set shows what the model does now; one that is gone is closed. */
export async function followRow() {
  const place = rows.openRow(), view = looking.first();
  if (!place) return;
  if (place.row >= view.data.axes[AXES[place.kind][0]].tokens.length && !heldRow(place)) return rows.close();
  rows.rename(wordOf(place), seenFrom(place));
  if (heldRow(place)) return;
  rows.move(await ownWeights({ ...place, layer: place.layer ?? view.state.layer, head: place.head ?? view.state.head }));
}
