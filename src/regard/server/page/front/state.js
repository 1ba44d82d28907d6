// What is wanted and what was answered: the one thing that the parts of the page share.

import { sameRow } from "./holding.js";

export const EMPTY = { text: "", source: "auto", target: "", model: null, compare: null, offs: [], held: [], number: 0, chosen: null };
const GONE = 8; // sentences that are not there and yet remembered

/**
 * state     what is wanted: text, source, target, model, the model beside it, heads that are off, what is held of each
 *           sentence [{number, source, prefix, rows}], the number of the sentence that is looked at, the chosen map
 * round     the last answers {plain, sentences, other, held, unused}, or null
 * detected  the language of the text, once it is known
 * most      characters that the server takes; Infinity until it was met
 */
export const page = { state: { ...EMPTY }, round: null, detected: null, most: Infinity };

const isAt = (one, sentences) => sentences[one.number]?.source === one.source;

/**
 * What is held, each at the sentence that it belongs to: the one of its number if that reads the same, else the first
 * that does. What belongs to none keeps its number, and waits for its sentence to come back.
 */
export function located(held, sentences) {
  const taken = new Set(held.filter((one) => isAt(one, sentences)).map((one) => one.number));
  const all = held.map((one) => {
    if (isAt(one, sentences)) return one;
    const number = sentences.findIndex(({ source }, place) => source === one.source && !taken.has(place));
    if (number < 0) return one;
    taken.add(number);
    return { ...one, number };
  });
  const gone = all.filter((one) => !isAt(one, sentences)).slice(-GONE);
  return all.filter((one) => isAt(one, sentences) || gone.includes(one));
}

/** What is held of the sentences that are there, in their order. */
export function present(held = page.state.held, sentences = page.round?.sentences ?? []) {
  return held.filter((one) => isAt(one, sentences)).sort((a, b) => a.number - b.number);
}

/** What is held of sentences that are not there any more. */
export const absent = () => (page.round ? page.state.held.filter((one) => !isAt(one, page.round.sentences)) : []);

const heldOf = (number) => present().find((one) => one.number === number);

/** The rows that were set by hand in a sentence, which is the one that is looked at unless told. */
export const heldRows = (number = page.state.number) => heldOf(number)?.rows ?? [];

export const heldRow = (place) => heldRows().find((one) => sameRow(one, place));

/** All that is held, with something of one sentence changed; nothing of it if nothing is left. */
export function hold(number, what) {
  const { source } = page.round.sentences[number], before = heldOf(number);
  const after = { number, source, prefix: "", rows: [], ...before, ...what };
  const others = page.state.held.filter((one) => one !== before);
  return after.prefix || after.rows.length ? [...others, after] : others;
}
