"use strict";
(() => {
  // Tokens along the sides of a map: all of them where there is room, else fewer, else numbers.
  const regard = (window.regard ??= {});
  const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
  const WIDE = /[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]|[\ud840-\ud87f]/;
  const NEED = 11; // pixels from label to label
  const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000];

  const pixels = (cell) => Math.max(10, Math.min(13, cell * 0.6));

  regard.font = (size, bold) => `${bold ? "600 " : ""}${size}px ${FAMILY}`;

  const LARGEST = 13, MEASURED = 64; // pixels of a letter; tokens that are measured: the longest
  const pen = document.createElement("canvas").getContext("2d");

  /** How much room the labels of "rows" or "columns" want, in pixels: that of the longest token, within bounds. */
  regard.labelRoom = (tokens, side, least, most) => {
    const length = (token) => {
      let found = 0;
      for (let place = 0; place < token.length && found < 40; place++) found += token.charCodeAt(place) > 0x2e80 ? 1.8 : 1;
      return found;
    };
    const some = [...new Set(tokens)].map((token) => [length(token), token]).sort((a, b) => b[0] - a[0]).slice(0, MEASURED);
    pen.font = regard.font(LARGEST, true); // as what is pointed at is written
    let longest = 0;
    for (const [, token] of some) {
      const text = regard.tokenText(token);
      const upright = side === "columns" && WIDE.test(text);
      longest = Math.max(longest, upright ? [...text].length * LARGEST * 1.12 : width(pen, text.slice(0, 40)));
    }
    return Math.max(least, Math.min(most, Math.ceil(longest) + 15));
  };

  /** Of how many tokens one is labelled, and whether by its number. */
  regard.labelStep = (cell) => {
    const step = STEPS.find((one) => one * cell >= NEED) ?? STEPS.at(-1);
    const numbers = step > 2;
    return { step: numbers ? (STEPS.find((one) => one * cell >= 4 * NEED) ?? STEPS.at(-1)) : step, numbers };
  };

  const cuts = new Map();
  function cut(context, text, room) {
    const key = `${context.font}|${Math.round(room)}|${text}`;
    if (!cuts.has(key)) {
      let letters = [...text.slice(0, 200)];
      const fits = () => width(context, letters.join("")) <= room;
      if (letters.length === text.length ? !fits() : true) {
        while (letters.length > 1 && width(context, `${letters.join("")}…`) > room) letters = letters.slice(0, -1);
        if (letters.join("") !== text) letters.push("…");
      }
      if (cuts.size > 4000) cuts.clear();
      cuts.set(key, letters.join(""));
    }
    return cuts.get(key);
  }

  const SPACE = 6; // pixels of the mark for a space
  const width = (context, text) => context.measureText(text.replaceAll("▁", "")).width + SPACE * (text.split("▁").length - 1);

  /** A token from (x, y) to the right, each ▁ as a thin line below. */
  function spell(context, text, x, y, size, colours, on) {
    text.split("▁").forEach((part, place) => {
      if (place) {
        context.fillStyle = colours.muted;
        context.fillRect(x, Math.round(y + size * 0.4), SPACE - 2, 1);
        x += SPACE;
      }
      context.fillStyle = on ? colours.accent : colours.ink;
      context.fillText(part, x, y);
      x += context.measureText(part).width;
    });
  }

  /** Chinese, Japanese and Korean stand upright, one character below the other, ending at y. */
  function stack(context, token, x, y, room, size, colours, on) {
    let letters = [...token.replace(/^▁(?=.)/, "")];
    const step = size * 1.12, most = Math.max(1, Math.floor(room / step));
    if (letters.length > most) letters = [...letters.slice(0, most - 1), "⋮"];
    context.textAlign = "center";
    context.fillStyle = on ? colours.accent : colours.ink;
    letters.forEach((letter, place) => context.fillText(letter, x, y - (letters.length - place - 0.5) * step));
    context.textAlign = "left";
  }

  /** A word above a strip, in whichever direction its letters stand. */
  regard.drawHeading = (context, text, x, y, colours) => {
    context.save();
    context.font = regard.font(10);
    context.fillStyle = colours.muted;
    context.textBaseline = "middle";
    if (WIDE.test(text)) stack(context, text, x, y, 50, 10, { ink: colours.muted }, false);
    else {
      context.translate(x, y);
      context.rotate(-Math.PI / 2);
      context.fillText(text, 0, 0);
    }
    context.restore();
  };

  /**
   * The labels of one side. `side` is "rows" or "columns"; `first` and `last` are in sight, `at(token)`
   * is the middle of one in pixels; `room` is the space for them, `edge` where they end; `on` are marked.
   */
  regard.drawLabels = (context, side, { tokens, first, last, at, cell, room, edge, on, colours, from, to }) => {
    const { step, numbers } = regard.labelStep(cell), size = pixels(cell);
    const one = (token, marked) => {
      const place = at(token);
      if (place < from - 1 || place > to + 1) return;
      const plain = numbers && !marked;
      context.font = regard.font(plain ? 10 : size, marked);
      context.textBaseline = "middle";
      const text = plain ? `${token}` : regard.tokenText(tokens[token]);
      if (side === "rows") {
        const shown = cut(context, text, room - 8), wide = width(context, shown);
        if (marked && (numbers || step > 1)) clear(edge - wide - 8, place - size * 0.7, wide + 8, size * 1.4);
        if (plain) tick(edge - 4, place, 4, 1);
        spell(context, shown, edge - wide - 6, place, size, colours, marked);
      } else if (!plain && WIDE.test(text)) {
        if (marked && (numbers || step > 1)) clear(place - size * 0.7, edge - room, size * 1.4, room);
        stack(context, text, place, edge - 5, room - 5, size, colours, marked);
      } else {
        const shown = cut(context, text, room - 8), wide = width(context, shown);
        if (marked && (numbers || step > 1)) clear(place - size * 0.7, edge - wide - 8, size * 1.4, wide + 8);
        if (plain) tick(place, edge - 4, 1, 4);
        context.save();
        context.translate(place, edge - 6);
        context.rotate(-Math.PI / 2);
        spell(context, shown, 0, 0, size, colours, marked);
        context.restore();
      }
    };
    const clear = (x, y, wide, tall) => {
      context.fillStyle = colours.paper;
      context.fillRect(x, y, wide, tall);
    };
    const tick = (x, y, wide, tall) => {
      context.fillStyle = colours.muted;
      context.fillRect(Math.round(x), Math.round(y), wide, tall);
    };
    for (let token = Math.ceil(first / step) * step; token <= last; token += step) if (!on.has(token)) one(token, false);
    let marked = 0;
    for (const token of on) if (token >= first && token <= last && marked++ < 8) one(token, true);
  };
})();
