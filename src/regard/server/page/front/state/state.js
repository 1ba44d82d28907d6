// The requested state and the last results, shared by all parts of the page.

import { sameRow } from "../edits/edit_list.js";

export const EMPTY = { text: "", source: "auto", target: "", model: null, compare: null, offHeads: [], edits: [], number: 0, chosen: null };
const MAX_ABSENT = 8; // sentences that were removed and whose edits are kept

/**
 * state     the request: text, source, target, model, the model to compare, heads that are off, the edits of each
 *           sentence [{number, source, prefix, rows}], the number of the sentence that is shown, the chosen map
 * result    the last results {plain, sentences, other, edits, unused}, or null
 * detected  the language of the text, once it is known
 * most      characters that the server accepts; Infinity until it was reached
 */
export const page = { state: { ...EMPTY }, result: null, detected: null, most: Infinity };

const isAt = (entry, sentences) => sentences[entry.number]?.source === entry.source;

/**
 * The edits, each at its sentence: the one of its number if the text is the same, else the first with that text.
 * Edits without a sentence keep their number until the sentence comes back.
 */
export function matchEdits(edits, sentences) {
  const taken = new Set(edits.filter((entry) => isAt(entry, sentences)).map((entry) => entry.number));
  const all = edits.map((entry) => {
    if (isAt(entry, sentences)) return entry;
    const number = sentences.findIndex(({ source }, place) => source === entry.source && !taken.has(place));
    if (number < 0) return entry;
    taken.add(number);
    return { ...entry, number };
  });
  const removed = all.filter((entry) => !isAt(entry, sentences)).slice(-MAX_ABSENT);
  return all.filter((entry) => isAt(entry, sentences) || removed.includes(entry));
}

/** The edits of existing sentences, in their order. */
export function currentEdits(edits = page.state.edits, sentences = page.result?.sentences ?? []) {
  return edits.filter((entry) => isAt(entry, sentences)).sort((a, b) => a.number - b.number);
}

/** The edits of sentences that were removed. */
export const absentEdits = () => (page.result ? page.state.edits.filter((entry) => !isAt(entry, page.result.sentences)) : []);

const editsOf = (number) => currentEdits().find((entry) => entry.number === number);

/** The edited rows of a sentence, by default the one that is shown. */
export const editedRows = (number = page.state.number) => editsOf(number)?.rows ?? [];

export const editedRow = (place) => editedRows().find((entry) => sameRow(entry, place));

/** All edits, with those of one sentence changed; an empty entry is removed. */
export function withEdits(number, what) {
  const { source } = page.result.sentences[number], before = editsOf(number);
  const after = { number, source, prefix: "", rows: [], ...before, ...what };
  const others = page.state.edits.filter((entry) => entry !== before);
  return after.prefix || after.rows.length ? [...others, after] : others;
}
