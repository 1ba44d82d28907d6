// The translation: a text that can be written in, and behind it the marks of what is held and what changed.

import { $, element } from "./element.js";
import { marked, places } from "./changes.js";
import { say } from "./wording.js";

let shown = []; // sentences: {before, text, held, words, changed}
let starts = []; // where each begins in the text
let composing = false, late = null; // what came while a word was being composed

/** Shows sentences: what stands before each, its text, how much of it is held, changed words. */
export function show(sentences) {
  if (composing) {
    late = sentences;
    return;
  }
  const box = $("translation"), focused = document.activeElement === box;
  const caret = box.selectionStart;
  shown = sentences;
  let text = "";
  starts = sentences.map((one) => (text += one.before + one.text).length - one.text.length);
  if (box.value !== text) {
    box.value = text;
    if (focused) box.setSelectionRange(caret, caret);
  }
  box.readOnly = !sentences.length;
  paint();
}

/** The marks: the layer behind has the same letters in the same places, but cannot be seen itself. */
function paint() {
  const changed = (text) => element("mark", { className: "changed" }, text);
  const nodes = shown.flatMap((one) => {
    const held = one.text.slice(0, one.held);
    const spots = places(one.text, one.words).map(([start]) => start);
    const later = one.words.map((_, place) => place).filter((place) => spots[place] >= one.held);
    const rest = marked(one.text.slice(one.held), later.map((p) => one.words[p]), later.map((p) => one.changed[p]), changed);
    return [one.before, ...(held ? [element("span", { className: "held" }, held)] : []), ...rest];
  });
  $("translation-mirror").replaceChildren(...nodes, "\u200b");
}

const sentenceAt = (position) => Math.max(0, starts.findLastIndex((start) => start <= position));

/** The sentence and word at a place of the text: {number, place, start, end}, or null. */
function wordAt(position) {
  for (let number = shown.length - 1; number >= 0; number--) {
    if (position < starts[number]) continue;
    const spots = places(shown[number].text, shown[number].words);
    const place = spots.findIndex(([start, end]) => start < end && position - starts[number] >= start && position - starts[number] <= end);
    if (place < 0) return null;
    return { number, place, start: starts[number] + spots[place][0], end: starts[number] + spots[place][1] };
  }
  return null;
}

/** Where on the screen a stretch of the text stands. */
function areaOf(start, end) {
  const walker = document.createTreeWalker($("translation-mirror"), NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let before = 0, begun = false;
  while (walker.nextNode()) {
    const node = walker.currentNode, length = node.data.length;
    if (!begun && start < before + length) {
      range.setStart(node, start - before);
      begun = true;
    }
    if (begun && end <= before + length) {
      range.setEnd(node, end - before);
      break;
    }
    before += length;
  }
  return range.getBoundingClientRect();
}

/**
 * What is typed holds the beginning of a sentence; a click on a word, or Alt and arrow down at it, asks for others.
 */
export function listen({ onBegin, onRelease, onBack, onWord, onSentence, isMenu, enterMenu, closeMenu }) {
  const box = $("translation");
  let before = "";
  box.addEventListener("compositionstart", () => { composing = true; before = box.value; });
  box.addEventListener("beforeinput", (event) => {
    if (event.inputType === "historyUndo") {
      event.preventDefault();
      onBack();
    } else if (!composing) before = box.value;
  });
  box.addEventListener("input", (event) => {
    closeMenu();
    const text = box.value, caret = box.selectionStart;
    let same = 0;
    while (same < text.length && same < caret && text[same] === before[same]) same++;
    const number = sentenceAt(same);
    const prefix = text.slice(starts[number] ?? 0, caret);
    $("translation-mirror").replaceChildren(text, "\u200b");
    if (!event.isComposing) onBegin(number, prefix);
  });
  box.addEventListener("compositionend", () => {
    const waiting = late;
    composing = false;
    late = null;
    if (waiting && !waiting.length) show(waiting); // nothing is there to be begun
    else box.dispatchEvent(new InputEvent("input"));
  });
  const asked = (focus) => {
    if (box.selectionStart !== box.selectionEnd) return false;
    const found = wordAt(box.selectionStart);
    if (!found) return false;
    onWord({ ...found, at: () => areaOf(found.start, found.end), focus, back: box });
    return true;
  };
  const here = () => { if (shown.length) onSentence(sentenceAt(box.selectionStart)); };
  box.addEventListener("click", () => { here(); asked(false); });
  box.addEventListener("keyup", (event) => { if (/^(Arrow|Page|Home|End)/u.test(event.key)) here(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && (event.altKey || isMenu())) {
      event.preventDefault();
      if (isMenu()) enterMenu();
      else asked(true);
    } else if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault(); // the browser forgets what was typed whenever an answer is shown
      onBack();
    } else if (event.key === "Escape") {
      if (isMenu()) closeMenu();
      else onRelease();
    }
  });
}

/** Words of the interface that are not in the markup. */
export function word() {
  $("translation").placeholder = say("page.translation.empty");
}
