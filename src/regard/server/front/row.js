// One row of a map, set by hand: a slider for each word that can be looked at.

import { $, button, element, percent } from "./element.js";
import { say } from "./wording.js";

const STEPS = 1000;
let open = null; // {place, tokens, word, sliders, shares}

const plain = (token) => token.replace(/^▁(?=.)/u, "");

/** The row that is being set, or null. */
export const openRow = () => open?.place ?? null;

/** Weights, as the sliders stand, that sum to one; null if all are at zero. */
function weights() {
  const values = open.sliders.map((slider) => Number(slider.value));
  const sum = values.reduce((a, b) => a + b, 0);
  return sum > 0 ? values.map((value) => value / sum) : null;
}

function showShares() {
  const shares = weights() ?? open.sliders.map(() => 0);
  open.shares.forEach((output, place) => { output.textContent = percent(shares[place]); });
  open.sliders.forEach((slider, place) => {
    slider.setAttribute("aria-valuetext", percent(shares[place]));
    slider.parentNode.style.setProperty("--share", shares[place].toFixed(4));
  });
}

/** Moves the sliders to weights, the largest to the end of its way. */
export function move(values) {
  if (!open || values.length !== open.sliders.length) return;
  const most = Math.max(...values, 1e-9);
  open.sliders.forEach((slider, place) => { slider.value = Math.round((STEPS * values[place]) / most); });
  showShares();
}

/**
 * Opens the row of a place {kind, layer, head, row}; `word` looks at `tokens` with `values`. `scopes` are the places
 * [place, name] that the weights may be meant for.
 */
export function edit({ place, scopes, word, tokens, values, onChange, onScope, onReset, onClose }) {
  const box = $("row");
  const changed = () => {
    showShares();
    const now = weights();
    if (now) onChange(open.place, now);
  };
  const set = (value) => () => {
    open.sliders.forEach((slider, other) => { slider.value = value(other); });
    changed();
  };
  const made = tokens.map((token, number) => {
    const word = plain(token), slider = element("input", { type: "range", min: "0", max: String(STEPS), oninput: changed });
    slider.setAttribute("aria-label", say("page.row.weight", { word }));
    const share = element("output", { className: "share" });
    const only = button("●", set((other) => (other === number ? STEPS : 0)), { className: "only", label: say("page.row.only", { word }) });
    return { slider, share, line: element("li", {}, element("span", { className: "token", dir: "auto" }, word), slider, share, only) };
  });
  open = { place, tokens, sliders: made.map((one) => one.slider), shares: made.map((one) => one.share) };
  const scope = element("select", { onchange: () => {
    const before = open.place;
    [open.place] = scopes[scope.selectedIndex];
    onScope(before, open.place);
  } }, ...scopes.map(([one, text]) => element("option", { selected: one === place }, text)));
  const end = () => { close(); onClose(); };
  const list = element("ol", { className: "sliders" }, ...made.map((one) => one.line));
  list.tabIndex = -1;
  box.replaceChildren(
    element("div", { className: "line" },
      element("h4", { id: "row-name" }, say("page.row", { word: plain(word) })), element("span", { className: "push" }),
      button("✕", end, { className: "quiet", label: say("page.row.close") })),
    element("label", { className: "line scope" }, element("span", { className: "note" }, say("page.row.scope")), scope),
    element("div", { className: "line" }, button(say("page.row.even"), set(() => STEPS)), button(say("page.row.reset"), () => onReset(open.place))),
    list);
  box.hidden = false;
  box.onkeydown = (event) => {
    if (event.key === "Escape") end();
  };
  move(values);
  box.scrollIntoView({ block: "nearest" });
}

/** The word that looks may be another after a change. */
export function rename(word) {
  $("row-name").textContent = say("page.row", { word: plain(word) });
}

/** Says that rows of this kind cannot be set. */
export function refuse() {
  open = null;
  $("row").replaceChildren(element("p", { className: "note", id: "row-name" }, say("page.row.causal")));
  $("row").hidden = false;
}

export function close() {
  open = null;
  $("row").hidden = true;
  $("row").replaceChildren();
}
