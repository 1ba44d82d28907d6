// Token labels along the sides of a map: all of them where there is room, else fewer, else numbers.
const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const CJK = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud87f]/;
const MIN_PITCH = 11; // pixels from label to label
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];
const MAX_FONT = 13, NUM_MEASURED = 64; // pixels; the longest tokens are measured
const SPACE = 6; // pixels of the mark for a space

const font = (size, bold) => `${bold ? "600 " : ""}${size}px ${FAMILY}`;
const measuring = document.createElement("canvas").getContext("2d");
const textWidth = (context, text) => context.measureText(text.replaceAll("▁", "")).width + SPACE * (text.split("▁").length - 1);

/** The pixels that the labels of "rows" or "columns" need for the longest token, within bounds. */
regard.labelRoom = (tokens, side, min, max) => {
  const estimate = (token) => [...token.slice(0, 40)].reduce((sum, letter) => sum + (letter > "\u2e80" ? 1.8 : 1), 0);
  const longest = [...new Set(tokens)].map((token) => [estimate(token), token]).sort((a, b) => b[0] - a[0]).slice(0, NUM_MEASURED);
  measuring.font = font(MAX_FONT, true); // highlighted labels are bold
  const widths = longest.map(([, token]) => {
    const text = regard.tokenText(token), stacked = side === "columns" && CJK.test(text);
    return stacked ? [...text].length * MAX_FONT * 1.12 : textWidth(measuring, text.slice(0, 40));
  });
  return Math.max(min, Math.min(max, Math.ceil(Math.max(0, ...widths)) + 15));
};

/** Every `step`-th token has a label, its number if `numbered`. */
function labelStep(cell) {
  const atLeast = (pitch) => STEPS.find((step) => step * cell >= pitch) ?? STEPS.at(-1);
  const step = atLeast(MIN_PITCH), numbered = step > 2;
  return { step: numbered ? atLeast(4 * MIN_PITCH) : step, numbered };
}

const shortened = new Map(); // texts by font, room and text
function shorten(context, text, room) {
  const key = `${context.font}|${Math.round(room)}|${text}`;
  if (!shortened.has(key)) {
    const letters = [...text.slice(0, 200)];
    if (letters.join("") !== text || textWidth(context, text) > room) {
      while (letters.length > 1 && textWidth(context, `${letters.join("")}…`) > room) letters.pop();
      if (letters.join("") !== text) letters.push("…");
    }
    if (shortened.size > 4000) shortened.clear();
    shortened.set(key, letters.join(""));
  }
  return shortened.get(key);
}

/** Writes a token from (x, y) to the right, with each ▁ as a thin line. */
function write(context, text, x, y, size, colors, highlighted) {
  text.split("▁").forEach((part, number) => {
    if (number) {
      context.fillStyle = colors.muted;
      context.fillRect(x, Math.round(y + size * 0.4), SPACE - 2, 1);
      x += SPACE;
    }
    context.fillStyle = highlighted ? colors.accent : colors.ink;
    context.fillText(part, x, y);
    x += context.measureText(part).width;
  });
}

/** Writes Chinese, Japanese and Korean upright, one character below the other, ending at y. */
function writeStacked(context, token, x, y, room, size, color) {
  let letters = [...token.replace(/^▁(?=.)/, "")];
  const step = size * 1.12, max = Math.max(1, Math.floor(room / step));
  if (letters.length > max) letters = [...letters.slice(0, max - 1), "⋮"];
  context.textAlign = "center";
  context.fillStyle = color;
  letters.forEach((letter, number) => context.fillText(letter, x, y - (letters.length - number - 0.5) * step));
  context.textAlign = "left";
}

/** Writes a heading above a narrow column, rotated or stacked. */
regard.drawHeading = (context, text, x, y, colors) => {
  context.save();
  context.font = font(10);
  context.fillStyle = colors.muted;
  context.textBaseline = "middle";
  if (CJK.test(text)) writeStacked(context, text, x, y, 50, 10, colors.muted);
  else {
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    context.fillText(text, 0, 0);
  }
  context.restore();
};

/**
 * Draws the labels of one side, "rows" or "columns": of the tokens from `first` to `last`, each centered at
 * `position(token)` if that is between `from` and `to`; `room` is the space for them, `edge` where they end, and
 * `highlighted` the tokens that are marked.
 */
regard.drawLabels = (context, side, { tokens, first, last, position, cell, room, edge, highlighted, colors, from, to }) => {
  const { step, numbered } = labelStep(cell), size = Math.max(10, Math.min(MAX_FONT, cell * 0.6)), isRow = side === "rows";
  const fill = (color, x, y, width, height) => {
    context.fillStyle = color;
    context.fillRect(x, y, width, height);
  };
  const draw = (token, marked) => {
    const middle = position(token);
    if (middle < from - 1 || middle > to + 1) return;
    const isNumber = numbered && !marked, covers = marked && (numbered || step > 1); // it may cover other labels
    context.font = font(isNumber ? 10 : size, marked);
    context.textBaseline = "middle";
    const text = isNumber ? `${token}` : regard.tokenText(tokens[token]);
    if (!isRow && !isNumber && CJK.test(text)) {
      if (covers) fill(colors.paper, middle - size * 0.7, edge - room, size * 1.4, room);
      writeStacked(context, text, middle, edge - 5, room - 5, size, marked ? colors.accent : colors.ink);
      return;
    }
    const label = shorten(context, text, room - 8), width = textWidth(context, label);
    context.save();
    context.translate(isRow ? edge - width - 6 : middle, isRow ? middle : edge - 6);
    if (!isRow) context.rotate(-Math.PI / 2);
    if (covers) fill(colors.paper, isRow ? -2 : -6, -size * 0.7, width + 8, size * 1.4);
    write(context, label, 0, 0, size, colors, marked);
    context.restore();
    if (isNumber) fill(colors.muted, Math.round(isRow ? edge - 4 : middle), Math.round(isRow ? middle : edge - 4), isRow ? 4 : 1, isRow ? 1 : 4);
  };
  for (let token = Math.ceil(first / step) * step; token <= last; token += step) if (!highlighted.has(token)) draw(token, false);
  [...highlighted].filter((token) => token >= first && token <= last).slice(0, 8).forEach((token) => draw(token, true));
};
