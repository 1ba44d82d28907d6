// What is wanted and what was answered: the one thing that the parts of the page share.

import { sameRow } from "./holding.js";

export const EMPTY = { text: "", source: "auto", target: "", model: null, compare: null, offs: [], held: null, number: 0, chosen: null };

/**
 * state     what is wanted: text, source, target, model, the model beside it, heads that are off, what is held of a
 *           sentence {number, source, prefix, rows}, the number of the sentence that is looked at, the chosen map
 * round     the last answers {plain, sentences, other, held, unused}, or null
 * detected  the language of the text, once it is known
 * most      characters that the server takes; Infinity until it was met
 */
export const page = { state: { ...EMPTY }, round: null, detected: null, most: Infinity };

/** The rows that were set by hand in the sentence that is looked at. */
export function heldRows() {
  const { held, number } = page.state;
  return held?.number === number ? held.rows : [];
}

export const heldRow = (place) => heldRows().find((one) => sameRow(one, place));

/** What is held of a sentence, with something changed; nothing if nothing is left of it. */
export function hold(number, what) {
  const { source } = page.round.sentences[number], { held } = page.state;
  const before = held?.number === number ? held : { number, source, prefix: "", rows: [] };
  const after = { ...before, ...what };
  return after.prefix || after.rows.length ? after : null;
}
