// The editable translation, with marks of its prefix and of changed words behind it.

import { $, element } from "./element.js";
import { markWords, wordSpans } from "../state/word_diff.js";

let shown = []; // sentences: {before, text, prefixLength, words, changed}
let starts = []; // where each begins in the text
let composing = false, pending = null; // sentences that arrived while a word was being composed

/** Shows sentences: the space before each, its text, the length of its prefix, changed words. */
export function show(sentences) {
  if (composing) {
    pending = sentences;
    return;
  }
  const box = $("translation"), focused = document.activeElement === box;
  const caret = box.selectionStart;
  shown = sentences;
  let text = "";
  starts = sentences.map((entry) => (text += entry.before + entry.text).length - entry.text.length);
  if (box.value !== text) {
    box.value = text;
    if (focused) box.setSelectionRange(caret, caret);
  }
  box.readOnly = !sentences.length;
  drawMarks();
}

/** Draws the marks: the layer behind has the same text at the same positions, but is transparent. */
function drawMarks() {
  const changed = (text) => element("mark", { className: "changed" }, text);
  const nodes = shown.flatMap((entry) => {
    const fixed = entry.text.slice(0, entry.prefixLength);
    const spots = wordSpans(entry.text, entry.words).map(([start]) => start);
    const later = entry.words.map((_, place) => place).filter((place) => spots[place] >= entry.prefixLength);
    const rest = markWords(entry.text.slice(entry.prefixLength), later.map((p) => entry.words[p]), later.map((p) => entry.changed[p]), changed);
    return [entry.before, ...(fixed ? [element("span", { className: "held" }, fixed)] : []), ...rest];
  });
  $("translation-mirror").replaceChildren(...nodes, "\u200b");
}

const sentenceAt = (position) => Math.max(0, starts.findLastIndex((start) => start <= position));

/** The sentence and word at a position of the text: {number, place, start, end}, or null. */
function wordAt(position) {
  for (let number = shown.length - 1; number >= 0; number--) {
    if (position < starts[number]) continue;
    const spots = wordSpans(shown[number].text, shown[number].words);
    const place = spots.findIndex(([start, end]) => start < end && position - starts[number] >= start && position - starts[number] <= end);
    if (place < 0) return null;
    return { number, place, start: starts[number] + spots[place][0], end: starts[number] + spots[place][1] };
  }
  return null;
}

/** The rectangle of a span of the text on the screen. */
function textRect(start, end) {
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
 * Typing sets the prefix of a sentence; a click on a word, or Alt and arrow down at it, opens its alternatives.
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
    const waiting = pending;
    composing = false;
    pending = null;
    if (waiting && !waiting.length) show(waiting); // there is nothing to set a prefix of
    else box.dispatchEvent(new InputEvent("input"));
  });
  const openAlternatives = (focus) => {
    if (box.selectionStart !== box.selectionEnd) return false;
    const word = wordAt(box.selectionStart);
    if (!word) return false;
    onWord({ ...word, at: () => textRect(word.start, word.end), focus, back: box });
    return true;
  };
  const reportSentence = () => { if (shown.length) onSentence(sentenceAt(box.selectionStart)); };
  box.addEventListener("click", () => { reportSentence(); openAlternatives(false); });
  box.addEventListener("keyup", (event) => { if (/^(Arrow|Page|Home|End)/u.test(event.key)) reportSentence(); });
  box.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && (event.altKey || isMenu())) {
      event.preventDefault();
      if (isMenu()) enterMenu();
      else openAlternatives(true);
    } else if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
      event.preventDefault(); // the browser loses its undo history whenever a result is shown
      onBack();
    } else if (event.key === "Escape") {
      if (isMenu()) closeMenu();
      else onRelease();
    }
  });
}
