// What was changed in the attention: heads that are off, rows that were set; and how to undo it.

import { $, button, element } from "./element.js";
import { say } from "./wording.js";

const API_KIND = { cross: "cross", encoder: "self", decoder: "causal" };

/** The changes as the server takes them. */
export function edits(offs, rows) {
  return [
    ...offs.map(({ kind, layer, head }) => ({ type: "switch_off", kind: API_KIND[kind], layer: [layer], heads: [head] })),
    ...rows.map(({ kind, layer, head, row, weights }) => ({
      type: "overwrite", kind: API_KIND[kind], layer: layer === null ? null : [layer], heads: head === null ? null : [head], rows: [row], weights, renormalize: true,
    })),
  ];
}

export const sameHead = (a, b) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;
export const sameRow = (a, b) => sameHead(a, b) && a.row === b.row;

/** A place in words: kind, layer and head. */
export function nameOf({ kind, layer, head }) {
  const which = layer === null ? ".everywhere" : head === null || head === "mean" ? ".all" : "";
  return say(`page.place${which}`, { kind: say(`page.kind.${kind}`), layer, head });
}

/** Shows the chosen head, and the list of changes; `word(row)` names the word that looks. */
export function showHold({ chosen, mapsOpen, offs, rows, word, unused, onToggle, onRemoveOff, onRemoveRow }) {
  const hint = !mapsOpen ? "closed" : chosen?.head === "mean" ? "mean" : "choose";
  $("hold-hint").textContent = say(`page.hold.${hint}`);
  const one = mapsOpen && chosen && chosen.head !== "mean" ? chosen : null;
  $("chosen").hidden = !one;
  if (one) {
    const off = offs.some((other) => sameHead(one, other));
    $("chosen-name").textContent = nameOf(one);
    $("off").textContent = say(off ? "page.on" : "page.off");
    $("off").setAttribute("aria-pressed", String(off));
    $("off").onclick = () => onToggle(one);
  }
  const line = (text, undo) => element("li", {}, element("span", {}, text), button("✕", undo, { className: "quiet", label: say("page.remove", { edit: text }) }));
  $("edits").replaceChildren(
    ...offs.map((off) => line(say("page.edit.off", { place: nameOf(off) }), () => onRemoveOff(off))),
    ...rows.map((row) => line(say("page.edit.row", { place: nameOf(row), word: word(row) }), () => onRemoveRow(row))));
  const any = offs.length + rows.length > 0;
  $("edits").hidden = !any;
  $("undo").hidden = !any;
  const lost = any ? unused : 0;
  $("unused").textContent = lost ? say(lost === 1 ? "page.unused.one" : "page.unused.many", { count: lost }) : "";
}
