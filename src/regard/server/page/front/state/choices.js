// The languages and models that can be chosen.

import { $, element } from "../view/element.js";
import { EXAMPLES, say } from "../view/messages.js";
import { showTerms } from "../view/terms_box.js";

let languages = [], models = [];

/** Sets the server's languages and models; whether the models have changed. */
export function setModels(available) {
  const another = JSON.stringify(models) !== JSON.stringify(available.models);
  ({ languages, models } = available);
  return another;
}

/** A language's name in the language of the page. */
export function languageName(code) {
  try {
    const name = new Intl.DisplayNames([window.regard.language], { type: "language" }).of(code.replace("_", "-"));
    if (name && name !== code) return name;
  } catch {
    // a code that the browser cannot read
  }
  return languages.find((entry) => entry.code === code)?.name ?? code;
}

const sourceOf = ({ source }, detected) => (source === "auto" && detected ? detected : source);
const sourcesOf = () => unique(models.map((entry) => entry.source));
const unique = (values) => [...new Set(values)];

/** The models of a direction; the source may be "auto". */
export function modelsFor(source, target) {
  return models.filter((entry) => entry.target === target && (source === "auto" || entry.source === source));
}

/** Whether a direction has a model. */
export const hasModel = (source, target) => source !== target && modelsFor(source, target).length > 0;

/** The state with choices that exist. */
export function validState(state, detected) {
  const source = state.source === "auto" || sourcesOf().includes(state.source) ? state.source : "auto";
  const targets = targetsOf(source);
  const target = targets.includes(state.target) ? state.target : targets[0];
  const own = modelsFor(sourceOf({ source }, detected), target);
  const name = (wanted) => (own.some((entry) => entry.name === wanted) ? wanted : null);
  const model = name(state.model);
  const first = model ?? own[0]?.name;
  const compare = name(state.compare) === first ? null : name(state.compare);
  return { ...state, source, target, model, compare };
}

function targetsOf(source) {
  return unique(models.filter((entry) => source === "auto" || entry.source === source).map((entry) => entry.target));
}

/** The name of the model that translates. */
export function modelName(state, detected) {
  return state.model ?? modelsFor(sourceOf(state, detected), state.target)[0]?.name;
}

/** A sentence to try, in the language that would be translated. */
export function exampleOf(state) {
  const from = state.source === "auto" ? modelsFor("auto", state.target)[0]?.source : state.source;
  return EXAMPLES[from?.split(/[-_]/)[0]] ?? "";
}

function fill(select, options, chosen) {
  select.replaceChildren(...options.map(([value, text]) => element("option", { value, selected: value === chosen }, text)));
  select.value = chosen;
}

/** A model's name, with its kind in front where the name lacks it (a narrow list cuts off the end). */
function labeledModel(own, name) {
  const { kind } = own.find((entry) => entry.name === name);
  return [name, name.toLowerCase().includes(kind) ? name : `${kind}: ${name}`];
}

/** Fills the four lists. */
export function showChoices(state, detected) {
  fill($("source"), [["auto", say("page.auto")], ...sourcesOf().map((code) => [code, languageName(code)])], state.source);
  fill($("target"), targetsOf(state.source).map((code) => [code, languageName(code)]), state.target);
  const own = modelsFor(sourceOf(state, detected), state.target);
  const named = unique(own.map((entry) => entry.name)).map((name) => labeledModel(own, name));
  const first = modelName(state, detected);
  fill($("model"), named, first);
  fill($("compare"), [["", say("page.compare.none")], ...named.filter(([name]) => name !== first)], state.compare ?? "");
  $("compare-label").hidden = named.length < 2;
  $("model-label").hidden = named.length < 2;
  const from = state.source === "auto" ? detected : state.source;
  $("swap").disabled = !from || !hasModel(state.target, from);
  showTerms(state.target);
}
