// The menu of alternatives for a word.

import { $, element, percent } from "../view/element.js";
import { wordSpans } from "../state/word_diff.js";
import { say } from "../view/messages.js";

let closing = () => {};
let anchor = () => null; // returns the rectangle that the menu belongs to
let owner = null, isCurrent = () => true; // the element with the focus, and whether the word still exists

export const isOpen = () => !$("menu").hidden;

/** Closes the menu; `back` gives the focus to where it was. */
export function close(back = false) {
  if (!isOpen()) return;
  $("menu").hidden = true;
  closing(back);
}

/** Closes the menu if its word was removed. */
export function check() {
  if (isOpen() && !isCurrent()) close($("menu").contains(document.activeElement));
}

/** Splits an alternative into the common beginning, its next word, and the rest. */
export function splitAlternative(translation, words, place, other) {
  const start = wordSpans(translation, words)[place][0];
  const same = translation.slice(0, start) === other.slice(0, start) ? start : 0;
  const rest = other.slice(same);
  const spaceless = /^\s*[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
  const word = (spaceless.test(rest) ? /^\s*\S/u : /^\s*[^\s,.;:!?]+[’']?|^\s*\S+/u).exec(rest)?.[0] ?? "";
  return { before: other.slice(0, same), word, after: rest.slice(word.length) };
}

/** Opens the menu below the rectangle of `at`, while `still()`; `alternatives` is a promise of [{text, score}…]. */
export async function open({ at, word, alternatives, parts, still, back, onChoose, onClose, focus }) {
  close();
  const menu = $("menu");
  closing = onClose;
  anchor = at;
  owner = back;
  isCurrent = still;
  const head = element("p", { className: "note", role: "presentation" }, say("page.instead", { word }));
  const wait = element("p", { className: "note", role: "presentation" }, say("page.instead.wait"));
  menu.setAttribute("aria-label", head.textContent);
  menu.replaceChildren(head, wait);
  menu.hidden = false;
  positionMenu(menu);
  let answers;
  try {
    answers = await alternatives;
  } catch (error) {
    close();
    throw error;
  }
  if (menu.hidden || !menu.contains(wait)) return; // closed, or opened for another word
  wait.remove();
  const items = answers.map((entry) => {
    const { before, word: first, after } = parts(entry.text);
    const item = element("button", { type: "button", role: "menuitem", tabIndex: -1 },
      element("b", { dir: "auto" }, first.trim()),
      element("span", { className: "rest", dir: "auto" }, after),
      element("span", { className: "share" }, percent(entry.score)));
    item.addEventListener("click", () => {
      close(true);
      onChoose(before + first);
    });
    return item;
  });
  menu.append(...(items.length ? items : [element("p", { className: "note" }, say("page.instead.none"))]));
  positionMenu(menu);
  if (focus) items[0]?.focus({ preventScroll: true });
}

/** Positions the menu below its anchor, or above it where there is no room, inside the window. */
function positionMenu(menu) {
  const at = anchor(), width = document.documentElement.clientWidth, height = window.innerHeight;
  const { offsetWidth, offsetHeight } = menu;
  menu.style.left = `${Math.max(8, Math.min(at.left, width - offsetWidth - 8))}px`;
  const below = at.bottom + 4, above = at.top - offsetHeight - 4;
  menu.style.top = `${below + offsetHeight > height - 8 && above > 8 ? above : Math.max(8, Math.min(below, height - offsetHeight - 8))}px`;
}

/** Focuses the first item. */
export const focusFirst = () => $("menu").querySelector("[role=menuitem]")?.focus();

export function listen() {
  const menu = $("menu");
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("[role=menuitem]")], current = items.indexOf(document.activeElement);
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: items.length - 1 }[event.key];
    if (to !== undefined) {
      event.preventDefault();
      items.at(to % items.length)?.focus();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      close(true);
    } else if (event.key === "Tab") close(true);
  });
  document.addEventListener("pointerdown", (event) => {
    if (!menu.contains(event.target)) close();
  });
  document.addEventListener("focusin", (event) => {
    if (!menu.contains(event.target) && event.target !== owner) close();
  });
  addEventListener("resize", () => close());
  addEventListener("scroll", (event) => {
    if (menu.hidden || event.target === menu) return;
    const { top, bottom } = anchor();
    if (bottom < 0 || top > window.innerHeight) close();
    else positionMenu(menu); // moves along
  }, true);
}
