// The editor of a map's row: a slider for each token that it attends to.

import { $, button, element, percent } from "../view/element.js";
import { say } from "../view/messages.js";

const STEPS = 1000;
let open = null; // {place, lines, sliders, shares}

const plain = (token) => token.replace(/^▁(?=.)/u, "");

/** The row that is being edited, or null. */
export const openRow = () => open?.place ?? null;

/** The sliders' weights, which sum to one; null if all are zero. */
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

/** Moves the sliders to weights, the largest to the maximum. */
export function move(values) {
  if (!open || values.length !== open.sliders.length) return;
  const most = Math.max(...values, 1e-9);
  open.sliders.forEach((slider, place) => { slider.value = Math.round((STEPS * values[place]) / most); });
  showShares();
}

/** A token: its name, a slider, its weight, and a button that gives it all weight. */
function line(word, onMove, onOnly) {
  const slider = element("input", { type: "range", min: "0", max: String(STEPS), oninput: onMove });
  const token = element("span", { className: "token", dir: "auto" }), share = element("output", { className: "share" });
  const only = button("●", onOnly, { className: "only" });
  const name = (called) => {
    token.textContent = called;
    slider.setAttribute("aria-label", say("page.row.weight", { word: called }));
    only.setAttribute("aria-label", say("page.row.only", { word: called }));
    only.title = only.getAttribute("aria-label");
  };
  name(word);
  return { box: element("li", {}, token, slider, share, only), slider, share, name };
}

/**
 * Opens the row of a place {kind, layer, head, row}; `word` attends to `tokens` with `values`. `scopes` are the places
 * [place, name] that the weights can be set for.
 */
export function edit({ place, scopes, word, tokens, values, onChange, onScope, onReset, onClose }) {
  const box = $("row");
  const changed = () => {
    showShares();
    const edited = weights();
    if (edited) onChange(open.place, edited);
  };
  const set = (value) => () => {
    open.sliders.forEach((slider, other) => { slider.value = value(other); });
    changed();
  };
  const made = tokens.map((token, number) => line(plain(token), changed, set((other) => (other === number ? STEPS : 0))));
  open = { place, lines: made, sliders: made.map((entry) => entry.slider), shares: made.map((entry) => entry.share) };
  const scope = element("select", { onchange: () => {
    const before = open.place;
    [open.place] = scopes[scope.selectedIndex];
    onScope(before, open.place);
  } }, ...scopes.map(([entry, text]) => element("option", { selected: entry === place }, text)));
  const end = () => { close(); onClose(); };
  const list = element("ol", { className: "sliders", tabIndex: -1 }, ...made.map((entry) => entry.box));
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
  $("said").textContent = $("row-name").textContent; // for screen readers: the editor opens away from the focus
  box.scrollIntoView({ block: "nearest" });
}

/** Renames the row's word and tokens, which a change may have replaced. */
export function rename(word, tokens) {
  $("row-name").textContent = say("page.row", { word: plain(word) });
  if (tokens.length === open.lines.length) open.lines.forEach((line, place) => line.name(plain(tokens[place])));
}

/** Shows that a row has a single token, so that there is nothing to edit. */
export function refuse() {
  open = null;
  $("row").replaceChildren(element("p", { className: "note", id: "row-name" }, say("page.row.alone")));
  $("said").textContent = say("page.row.alone");
  $("row").hidden = false;
}

export function close() {
  open = null;
  $("row").hidden = true;
  $("row").replaceChildren();
}
