// One result: the requests that a state needs, and their responses combined.

import { diffWords, markWords, wordSpans } from "../state/word_diff.js";
import { modelsFor } from "../state/choices.js";
import { editRequests } from "../edits/edit_list.js";
import { post } from "./server.js";
import { glossaryField } from "../state/terms.js";
import { matchEdits, currentEdits } from "../state/state.js";

const cache = new Map(); // responses for the current text
let cachedFor = "";

async function view(request, options) {
  const fields = { ...request, ...glossaryField(request.target) };
  const name = JSON.stringify(fields);
  if (!cache.has(name)) cache.set(name, await post("v1/view", fields, options));
  return cache.get(name);
}

/** Clears the cached responses, as when the models may have changed. */
export const clearCache = () => cache.clear();

/** The model to request; if the source is not detected yet, only one that certainly fits. */
function requestedModel(state, detected) {
  if (!state.model || state.source !== "auto") return state.model;
  const own = modelsFor("auto", state.target), entry = own.find((model) => model.name === state.model);
  return own.every((model) => model.source === own[0].source) || entry?.source === detected ? state.model : null;
}

/** A sentence's text: the typed prefix, then the model's continuation. */
export function withPrefix(prefix, translation, begun) {
  if (translation.startsWith(prefix)) return translation;
  const rest = translation.slice(begun);
  return prefix + (/\s$/u.test(prefix) ? rest.replace(/^\s+/u, "") : rest);
}

/**
 * A prefix that the model wrote with the typed words restored: the model spells unknown words differently.
 * Inside the typed part, word by word.
 */
export function restoreTyped(wanted, prefix, translation, begun) {
  if (translation.startsWith(prefix)) return wanted;
  const longer = /\s$/u.test(prefix) && /^[\p{L}\p{N}]/u.test(wanted.slice(begun)); // another word in the last one's place
  if (wanted.startsWith(translation.slice(0, begun)) && !longer) return withPrefix(prefix, wanted, begun);
  const [typed, written] = [prefix, translation.slice(0, begun)].map((text) => text.match(/\s*\S+/gu) ?? []);
  const parts = wanted.match(/\s*\S+/gu) ?? [];
  const other = parts.findIndex((part, place) => part !== written[place]), same = other < 0 ? parts.length : other;
  return typed.length === written.length ? [...typed.slice(0, same), ...parts.slice(same)].join("") : wanted;
}

/** The translation of the text, without maps: {plain, sentences, other, edits, unused}. */
export async function fetchTranslation(state, detected, options) {
  if (cachedFor !== state.text) cache.clear();
  cachedFor = state.text;
  const { text: q, target } = state;
  const model = requestedModel(state, detected);
  const plain = await view({ q, source: state.source, target, model, maps: false }, options);
  const fixed = { source: plain.source, target, model: plain.model };
  const edits = currentEdits(matchEdits(state.edits, plain.sentences), plain.sentences);
  const [base, other, ...parts] = await Promise.all([
    state.offHeads.length ? view({ q, ...fixed, maps: false, edits: editRequests(state.offHeads, []) }, options) : plain,
    state.compare ? fetchCompared(state, edits, { ...fixed, model: state.compare }, options) : null,
    ...edits.map((entry) => view(viewRequest(state, entry, fixed, false), options)),
  ]);
  const lost = base.unused ?? 0; // heads that are off count in every part
  const unused = parts.reduce((sum, part) => sum + Math.max(0, (part.unused ?? 0) - lost), lost);
  return { of: q, plain, edits, other, sentences: mergeSentences(plain, base, edits, parts), unused };
}

/** The compared model's translation: without edits, but with the same prefixes. */
async function fetchCompared(state, edits, fixed, options) {
  const other = await view({ q: state.text, ...fixed, maps: false }, options);
  const begun = currentEdits(edits, other.sentences).filter((entry) => entry.prefix);
  if (!begun.length) return other;
  const requests = begun.map((entry) => view(viewRequest({ ...state, offHeads: [] }, { ...entry, rows: [] }, fixed, false), options));
  const sentences = [...other.sentences];
  (await Promise.all(requests)).forEach((response, place) => { [sentences[begun[place].number]] = response.sentences; });
  const parts = gapSpans(other).map(([start, end]) => other.text.slice(start, end));
  const text = other.sentences.map((_, number) => parts[number] + sentences[number].translation).join("");
  return { ...other, sentences, text };
}

/** The spans of the text between the sentences' translations: [start, end]. */
function gapSpans({ text, sentences }) {
  let end = 0;
  return sentences.map(({ translation }) => {
    const from = end, start = Math.max(end, text.indexOf(translation, end));
    end = start + translation.length;
    return [from, start];
  });
}

/** The request for one sentence. */
function viewRequest(state, edits, fixed, maps) {
  const list = editRequests(state.offHeads, edits.rows);
  return { q: edits.source, ...fixed, split: false, prefix: edits.prefix || null, maps, ...(list.length ? { edits: list } : {}) };
}

/** The sentences as they are shown, with their differences from those without edits. */
function mergeSentences(plain, base, edits, parts) {
  const between = gapSpans(base);
  return base.sentences.map((entry, number) => {
    const before = base.text.slice(...between[number]);
    const place = edits.findIndex((edit) => edit.number === number);
    const own = parts[place]?.sentences[0] ?? entry, prefix = edits[place]?.prefix ?? "";
    const text = withPrefix(prefix, own.translation, own.begun);
    const words = own.sides.target?.words ?? [], previousWords = plain.sentences[number]?.sides.target?.words ?? [];
    const { removed, added } = diffWords(previousWords, words);
    const spots = wordSpans(own.translation, words);
    const changed = added.map((is, word) => is && spots[word][0] >= own.begun); // typed words are not the model's changes
    return { before, text, prefix, prefixLength: prefix.length, words, changed, removed, previousWords, untouched: plain.sentences[number]?.translation ?? "", shown: own, source: entry.source };
  });
}

/** The maps of one sentence, by the model and the compared one: [response, response or null]. */
export function fetchMaps(state, result, number, options) {
  const { source, target, model } = result.plain;
  const fixed = { source, target, model };
  const none = { source: result.sentences[number].source, prefix: "", rows: [] };
  const edits = result.edits.find((entry) => entry.number === number) ?? none;
  return Promise.all([
    view(viewRequest(state, edits, fixed, true), options),
    state.compare
      ? view(viewRequest({ ...state, offHeads: [] }, { ...edits, rows: [] }, { ...fixed, model: state.compare }, true), options)
      : null,
  ]);
}

/** The request for the stages of one sentence, with its edits. */
export function traceRequest(state, result, number) {
  const { source, target, model } = result.plain, none = { source: result.sentences[number].source, prefix: "", rows: [] };
  const { split, maps, ...fields } = viewRequest(state, result.edits.find((entry) => entry.number === number) ?? none, { source, target, model }, false);
  return fields;
}

/** The text of the compared model, as nodes, with the words marked that the sentences lack. */
export function markOther(other, sentences, mark) {
  const between = gapSpans(other);
  return other.sentences.flatMap((entry, number) => {
    const before = other.text.slice(...between[number]);
    const words = entry.sides.target?.words ?? [];
    return [before, ...markWords(entry.translation, words, diffWords(sentences[number].words, words).added, mark)];
  });
}
