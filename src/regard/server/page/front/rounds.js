// One round: what has to be asked so that the state can be shown, and the answers put together.

import { changes, marked, places } from "./changes.js";
import { serving } from "./choices.js";
import { edits } from "./holding.js";
import { ask } from "./server.js";
import { located, present } from "./state.js";

const cache = new Map(); // answers about the text as it is now
let cachedFor = "";

async function view(fields, options) {
  const name = JSON.stringify(fields);
  if (!cache.has(name)) cache.set(name, await ask("v1/view", fields, options));
  return cache.get(name);
}

/** Forgets what was answered, as when the models may have changed. */
export const forget = () => cache.clear();

/** The model to ask for: with a source that is yet to be detected, only one that surely fits. */
function modelOf(state, detected) {
  if (!state.model || state.source !== "auto") return state.model;
  const own = serving("auto", state.target), one = own.find((each) => each.name === state.model);
  return own.every((each) => each.source === own[0].source) || one?.source === detected ? state.model : null;
}

/** What a sentence reads as: what was typed, then how the model goes on. */
export function continued(prefix, translation, begun) {
  if (translation.startsWith(prefix)) return translation;
  const rest = translation.slice(begun);
  return prefix + (/\s$/u.test(prefix) ? rest.replace(/^\s+/u, "") : rest);
}

/**
 * A beginning that the model wrote, with what was typed put back in it: words that the model does not know are
 * written otherwise by it. Inside what was typed, word for word.
 */
export function retyped(wanted, prefix, translation, begun) {
  if (translation.startsWith(prefix)) return wanted;
  const longer = /\s$/u.test(prefix) && /^[\p{L}\p{N}]/u.test(wanted.slice(begun)); // another word in the last one's place
  if (wanted.startsWith(translation.slice(0, begun)) && !longer) return continued(prefix, wanted, begun);
  const [typed, written] = [prefix, translation.slice(0, begun)].map((text) => text.match(/\s*\S+/gu) ?? []);
  const parts = wanted.match(/\s*\S+/gu) ?? [];
  const other = parts.findIndex((part, place) => part !== written[place]), same = other < 0 ? parts.length : other;
  return typed.length === written.length ? [...typed.slice(0, same), ...parts.slice(same)].join("") : wanted;
}

/** The translation of the text, without maps: {plain, sentences, other, held, unused}. */
export async function translated(state, detected, options) {
  if (cachedFor !== state.text) cache.clear();
  cachedFor = state.text;
  const { text: q, target } = state;
  const model = modelOf(state, detected);
  const plain = await view({ q, source: state.source, target, model, maps: false }, options);
  const fixed = { source: plain.source, target, model: plain.model };
  const held = present(located(state.held, plain.sentences), plain.sentences);
  const [base, other, ...parts] = await Promise.all([
    state.offs.length ? view({ q, ...fixed, maps: false, edits: edits(state.offs, []) }, options) : plain,
    state.compare ? compared(state, held, { ...fixed, model: state.compare }, options) : null,
    ...held.map((one) => view(question(state, one, fixed, false), options)),
  ]);
  const lost = base.unused ?? 0; // heads that are off count in every part
  const unused = parts.reduce((sum, part) => sum + Math.max(0, (part.unused ?? 0) - lost), lost);
  return { of: q, plain, held, other, sentences: together(plain, base, held, parts), unused };
}

/** The model beside it: untouched, but it goes on from the same beginnings. */
async function compared(state, held, fixed, options) {
  const other = await view({ q: state.text, ...fixed, maps: false }, options);
  const begun = present(held, other.sentences).filter((one) => one.prefix);
  if (!begun.length) return other;
  const asked = begun.map((one) => view(question({ ...state, offs: [] }, { ...one, rows: [] }, fixed, false), options));
  const sentences = [...other.sentences];
  (await Promise.all(asked)).forEach((now, place) => { [sentences[begun[place].number]] = now.sentences; });
  const parts = spans(other).map(([start, end]) => other.text.slice(start, end));
  const text = other.sentences.map((_, number) => parts[number] + sentences[number].translation).join("");
  return { ...other, sentences, text };
}

/** Where what stands before each sentence's translation is in the text: [start, end]. */
function spans({ text, sentences }) {
  let end = 0;
  return sentences.map(({ translation }) => {
    const from = end, start = Math.max(end, text.indexOf(translation, end));
    end = start + translation.length;
    return [from, start];
  });
}

/** What is asked of one sentence. */
function question(state, held, fixed, maps) {
  const list = edits(state.offs, held.rows);
  return { q: held.source, ...fixed, split: false, prefix: held.prefix || null, maps, ...(list.length ? { edits: list } : {}) };
}

/** The sentences as they are shown, with what changed against those of the untouched model. */
function together(plain, base, held, parts) {
  const between = spans(base);
  return base.sentences.map((one, number) => {
    const before = base.text.slice(...between[number]);
    const place = held.findIndex((each) => each.number === number);
    const own = parts[place]?.sentences[0] ?? one, prefix = held[place]?.prefix ?? "";
    const text = continued(prefix, own.translation, own.begun);
    const words = own.sides.target?.words ?? [], were = plain.sentences[number]?.sides.target?.words ?? [];
    const { gone, come } = changes(were, words);
    const spots = places(own.translation, words);
    const changed = come.map((is, word) => is && spots[word][0] >= own.begun); // what was typed is no change of the model's
    return { before, text, prefix, held: prefix.length, words, changed, gone, were, untouched: plain.sentences[number]?.translation ?? "", shown: own, source: one.source };
  });
}

/** The maps of one sentence, by the model and by the one beside it: [answer, answer or null]. */
export function looked(state, round, number, options) {
  const { source, target, model } = round.plain;
  const fixed = { source, target, model };
  const none = { source: round.sentences[number].source, prefix: "", rows: [] };
  const held = round.held.find((one) => one.number === number) ?? none;
  return Promise.all([
    view(question(state, held, fixed, true), options),
    state.compare
      ? view(question({ ...state, offs: [] }, { ...held, rows: [] }, { ...fixed, model: state.compare }, true), options)
      : null,
  ]);
}

/** The text of another model, as nodes, with the words marked that the sentences do not have. */
export function beside(other, sentences, mark) {
  const between = spans(other);
  return other.sentences.flatMap((one, number) => {
    const before = other.text.slice(...between[number]);
    const words = one.sides.target?.words ?? [];
    return [before, ...marked(one.translation, words, changes(sentences[number].words, words).come, mark)];
  });
}
