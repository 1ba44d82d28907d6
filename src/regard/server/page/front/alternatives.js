// The small menu of what else could stand at a word.

import { $, element, percent } from "./element.js";
import { places } from "./changes.js";
import { say } from "./wording.js";

let closing = () => {};
let anchor = () => null; // gives the place that the menu belongs to
let owner = null, isThere = () => true; // what has the focus beside it, and whether its word is still there

export const isOpen = () => !$("menu").hidden;

/** Closes the menu; `back` gives the focus to where it was. */
export function close(back = false) {
  if (!isOpen()) return;
  $("menu").hidden = true;
  closing(back);
}

/** Closes the menu if its word is not there any more. */
export function check() {
  if (isOpen() && !isThere()) close($("menu").contains(document.activeElement));
}

/** Where an alternative begins to differ, and the word that stands there: what would be held. */
export function beginning(translation, words, place, other) {
  const start = places(translation, words)[place][0];
  const same = translation.slice(0, start) === other.slice(0, start) ? start : 0;
  const rest = other.slice(same);
  const spaceless = /^\s*[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;
  const word = (spaceless.test(rest) ? /^\s*\S/u : /^\s*[^\s,.;:!?]+[’']?|^\s*\S+/u).exec(rest)?.[0] ?? "";
  return { before: other.slice(0, same), word, after: rest.slice(word.length) };
}

/** Opens the menu under a place, which `at` tells, while `still` holds; `found` comes later: [{text, score}…]. */
export async function open({ at, word, found, parts, still, back, onChoose, onClose, focus }) {
  close();
  const menu = $("menu");
  closing = onClose;
  anchor = at;
  owner = back;
  isThere = still;
  const head = element("p", { className: "note", role: "presentation" }, say("page.instead", { word }));
  const wait = element("p", { className: "note", role: "presentation" }, say("page.instead.wait"));
  menu.setAttribute("aria-label", head.textContent);
  menu.replaceChildren(head, wait);
  menu.hidden = false;
  stand(menu);
  let answers;
  try {
    answers = await found;
  } catch (error) {
    close();
    throw error;
  }
  if (menu.hidden || !menu.contains(wait)) return; // closed, or opened for another word
  wait.remove();
  const items = answers.map((one) => {
    const { before, word: first, after } = parts(one.text);
    const item = element("button", { type: "button", role: "menuitem", tabIndex: -1 },
      element("b", { dir: "auto" }, first.trim()),
      element("span", { className: "rest", dir: "auto" }, after),
      element("span", { className: "share" }, percent(one.score)));
    item.addEventListener("click", () => {
      close(true);
      onChoose(before + first);
    });
    return item;
  });
  menu.append(...(items.length ? items : [element("p", { className: "note" }, say("page.instead.none"))]));
  stand(menu);
  if (focus) items[0]?.focus({ preventScroll: true });
}

/** Puts the menu below a place, or above it where there is no room, inside the window. */
function stand(menu) {
  const at = anchor(), width = document.documentElement.clientWidth, height = window.innerHeight;
  const { offsetWidth, offsetHeight } = menu;
  menu.style.left = `${Math.max(8, Math.min(at.left, width - offsetWidth - 8))}px`;
  const below = at.bottom + 4, above = at.top - offsetHeight - 4;
  menu.style.top = `${below + offsetHeight > height - 8 && above > 8 ? above : Math.max(8, Math.min(below, height - offsetHeight - 8))}px`;
}

/** Goes into the menu, as arrow keys do. */
export const enter = () => $("menu").querySelector("[role=menuitem]")?.focus();

export function listen() {
  const menu = $("menu");
  menu.addEventListener("keydown", (event) => {
    const items = [...menu.querySelectorAll("[role=menuitem]")], here = items.indexOf(document.activeElement);
    const to = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: items.length - 1 }[event.key];
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
    else stand(menu); // goes along
  }, true);
}
