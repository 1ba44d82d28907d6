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

/** The list anew; the focus stays in it, or goes to what it is in. */
function list(lines) {
  const here = [...$("edits").querySelectorAll("button")].indexOf(document.activeElement);
  $("edits").replaceChildren(...lines);
  $("edits").hidden = !lines.length;
  if (here >= 0) (lines[Math.min(here, lines.length - 1)]?.querySelector("button") ?? $("hold")).focus({ preventScroll: true });
}

/**
 * Shows the chosen head, and the list of changes: heads that are off, and what is `held` of sentences, numbered where
 * there are `several`; `word(row, number)` names the word that looks.
 */
export function showHold({ chosen, mapsOpen, offs, held, several, word, unused, onToggle, onRemoveOff, onRemoveRow, onRelease }) {
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
  const of = (number, edit) => (several ? say("page.edit.sentence", { number: number + 1, edit }) : edit);
  list([
    ...offs.map((off) => line(say("page.edit.off", { place: nameOf(off) }), () => onRemoveOff(off))),
    ...held.flatMap(({ number, prefix, rows }) => [
      ...(prefix ? [line(of(number, say("page.edit.begin", { prefix: prefix.trim() })), () => onRelease(number))] : []),
      ...rows.map((row) => line(of(number, say("page.edit.row", { place: nameOf(row), word: word(row, number) })), () => onRemoveRow(row, number))),
    ]),
  ]);
  const any = offs.length + held.length > 0;
  $("undo").hidden = !any;
  const lost = any ? unused : 0;
  $("unused").textContent = lost ? say(lost === 1 ? "page.unused.one" : "page.unused.many", { count: lost }) : "";
}
