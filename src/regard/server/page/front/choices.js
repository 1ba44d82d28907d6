// Languages and models: what can be chosen, given what is chosen.

import { $, element } from "./element.js";
import { EXAMPLES, say } from "./wording.js";

let languages = [], models = [];

/** What the server has; whether it is another than was known. */
export function know(found) {
  const another = JSON.stringify(models) !== JSON.stringify(found.models);
  ({ languages, models } = found);
  return another;
}

/** A language's name in the language of the page. */
export function nameOf(code) {
  try {
    const name = new Intl.DisplayNames([window.regard.language], { type: "language" }).of(code.replace("_", "-"));
    if (name && name !== code) return name;
  } catch {
    // a code that the browser cannot read
  }
  return languages.find((one) => one.code === code)?.name ?? code;
}

const unique = (values) => [...new Set(values)];

/** The models of a direction; the source may be "auto". */
export function serving(source, target) {
  return models.filter((one) => one.target === target && (source === "auto" || one.source === source));
}

/** Whether a direction has a model. */
export const possible = (source, target) => source !== target && serving(source, target).length > 0;

/** The state with choices that exist; what does not is put right. */
export function sound(state, detected) {
  const sources = unique(models.map((one) => one.source));
  const source = state.source === "auto" || sources.includes(state.source) ? state.source : "auto";
  const targets = targetsOf(source);
  const target = targets.includes(state.target) ? state.target : targets[0];
  const own = serving(source === "auto" && detected ? detected : source, target);
  const name = (wanted) => (own.some((one) => one.name === wanted) ? wanted : null);
  const model = name(state.model);
  const first = model ?? own[0]?.name;
  const compare = name(state.compare) === first ? null : name(state.compare);
  return { ...state, source, target, model, compare };
}

function targetsOf(source) {
  return unique(models.filter((one) => source === "auto" || one.source === source).map((one) => one.target));
}

/** The name of the model that answers. */
export function answering(state, detected) {
  return state.model ?? serving(state.source === "auto" && detected ? detected : state.source, state.target)[0]?.name;
}

/** A sentence to try, in the language that would be translated. */
export function exampleOf(state) {
  const from = state.source === "auto" ? serving("auto", state.target)[0]?.source : state.source;
  return EXAMPLES[from?.split(/[-_]/)[0]] ?? "";
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
  select.value = chosen;
}

/** A model's name, after its kind where the name does not tell it: a narrow list cuts off the end. */
function labelled(own, name) {
  const { kind } = own.find((one) => one.name === name);
  return [name, name.toLowerCase().includes(kind) ? name : `${kind}: ${name}`];
}

/** Fills the four lists. */
export function showChoices(state, detected) {
  const sources = unique(models.map((one) => one.source));
  fill($("source"), [["auto", say("page.auto")], ...sources.map((code) => [code, nameOf(code)])], state.source);
  fill($("target"), targetsOf(state.source).map((code) => [code, nameOf(code)]), state.target);
  const own = serving(state.source === "auto" && detected ? detected : state.source, state.target);
  const named = unique(own.map((one) => one.name)).map((name) => labelled(own, name));
  const first = answering(state, detected);
  fill($("model"), named, first);
  fill($("compare"), [["", say("page.compare.none")], ...named.filter(([name]) => name !== first)], state.compare ?? "");
  $("compare-label").hidden = named.length < 2;
  $("model-label").hidden = named.length < 2;
  const from = state.source === "auto" ? detected : state.source;
  $("swap").disabled = !from || !possible(state.target, from);
}
