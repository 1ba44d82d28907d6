// The list of edits: heads that are off, edited rows, prefixes; each can be undone.

import { $, button, element } from "../view/element.js";
import { say } from "../view/messages.js";

const API_KIND = { cross: "cross", encoder: "self", decoder: "causal" };

/** The edits in the server's format. */
export function editRequests(offHeads, rows) {
  return [
    ...offHeads.map(({ kind, layer, head }) => ({ type: "switch_off", kind: API_KIND[kind], layer: [layer], heads: [head] })),
    ...rows.map(({ kind, layer, head, row, weights }) => ({
      type: "overwrite", kind: API_KIND[kind], layer: layer === null ? null : [layer], heads: head === null ? null : [head], rows: [row], weights, renormalize: true,
    })),
  ];
}

export const sameHead = (a, b) => a.kind === b.kind && a.layer === b.layer && a.head === b.head;
export const sameRow = (a, b) => sameHead(a, b) && a.row === b.row;

/** The name of a head: kind, layer and head. */
export function headName({ kind, layer, head }) {
  const which = layer === null ? ".everywhere" : head === null || head === "mean" ? ".all" : "";
  return say(`page.place${which}`, { kind: say(`page.kind.${kind}`), layer, head });
}

/** Replaces the list; the focus stays in it, or moves to its container. */
function showList(lines) {
  const focused = [...$("edits").querySelectorAll("button")].indexOf(document.activeElement);
  $("edits").replaceChildren(...lines);
  $("edits").hidden = !lines.length;
  if (focused >= 0) (lines[Math.min(focused, lines.length - 1)]?.querySelector("button") ?? $("hold")).focus({ preventScroll: true });
}

/**
 * Shows the chosen head, and the list: heads that are off, and the edits of sentences, numbered where there are
 * `several`; `word(row, number)` is the word of a row.
 */
export function showEdits({ chosen, mapsOpen, offHeads, edits, several, word, unused, onToggle, onRemoveOff, onRemoveRow, onRelease }) {
  const hint = !mapsOpen ? "closed" : chosen?.head === "mean" ? "mean" : "choose";
  $("hold-hint").textContent = say(`page.hold.${hint}`);
  const entry = mapsOpen && chosen && chosen.head !== "mean" ? chosen : null;
  $("chosen").hidden = !entry;
  if (entry) {
    const off = offHeads.some((other) => sameHead(entry, other));
    $("chosen-name").textContent = headName(entry);
    $("off").textContent = say(off ? "page.on" : "page.off");
    $("off").setAttribute("aria-pressed", String(off));
    $("off").onclick = () => onToggle(entry);
  }
  const line = (text, undo) => element("li", {}, element("span", {}, text), button("✕", undo, { className: "quiet", label: say("page.remove", { edit: text }) }));
  const of = (number, edit) => (several ? say("page.edit.sentence", { number: number + 1, edit }) : edit);
  showList([
    ...offHeads.map((off) => line(say("page.edit.off", { place: headName(off) }), () => onRemoveOff(off))),
    ...edits.flatMap(({ number, prefix, rows }) => [
      ...(prefix ? [line(of(number, say("page.edit.begin", { prefix: prefix.trim() })), () => onRelease(number))] : []),
      ...rows.map((row) => line(of(number, say("page.edit.row", { place: headName(row), word: word(row, number) })), () => onRemoveRow(row, number))),
    ]),
  ]);
  const any = offHeads.length + edits.length > 0;
  $("undo").hidden = !any;
  const lost = any ? unused : 0;
  $("unused").textContent = lost ? say(lost === 1 ? "page.unused.one" : "page.unused.many", { count: lost }) : "";
}
