
"use strict";
(() => {
  // A map has rows (who looks) and columns (what is looked at). `axes` names the tokens of both,
  // `groups` the tokens of each word. Weights are bytes, head by head: 255 is a weight of one.
  const sentences = JSON.parse(document.getElementById("data").textContent);
  const $ = (id) => document.getElementById(id);
  const stage = $("stage"), links = $("links"), cells = $("cells"), cursor = $("cursor");
  const SIDES = { cross: ["target", "source"], encoder: ["source", "source"], decoder: ["target", "target"] };
  const KINDS = {
    cross: "A row is a piece of the translation: where in the source the model looked to write it.",
    encoder: "A row is a piece of the source: where in the source it looked.",
    decoder: "A row is what the decoder read last: where among the words so far it looked.",
  };
  const MEAN = "mean";
  const state = { number: 0, kind: "cross", layer: null, head: null, asked: null, cell: null };

  const sentence = () => sentences[state.number];
  const mapsOf = (kind) => sentence().maps.filter((map) => map.kind === kind);
  const chosenMap = () => mapsOf(state.kind).find((map) => map.layer === state.layer);

  function element(tag, options = {}, ...children) {
    const made = Object.assign(document.createElement(tag), options);
    made.append(...children); // strings become text nodes: no text is ever read as HTML
    return made;
  }

  // ---- weights

  function bytesOf(map) {
    map.bytes ??= Uint8Array.from(atob(map.weights), (character) => character.charCodeAt(0));
    return map.bytes;
  }

  /** One head's weights, or the mean of all heads: { rows, columns, at(row, column) }. */
  function planeOf(map, head) {
    const rows = sentence().axes[map.rows], columns = sentence().axes[map.columns];
    const size = rows.tokens.length * columns.tokens.length;
    const heads = head === MEAN ? map.heads.map((_, place) => place) : [map.heads.indexOf(head)];
    const values = new Float32Array(size), bytes = bytesOf(map);
    for (const place of heads)
      for (let i = 0; i < size; i++) values[i] += bytes[place * size + i] / 255 / heads.length;
    return { rows, columns, values, at: (row, column) => values[row * columns.tokens.length + column] };
  }

  /** Weight of one word on another: the mean over its tokens, the sum over the other's. */
  function wordWeight(plane, from, to) {
    const rows = plane.rows.groups[from], columns = plane.columns.groups[to];
    let sum = 0;
    for (const column of columns) {
      const shared = plane.columns.groups.filter((group) => group.includes(column)).length;
      for (const row of rows) sum += plane.at(row, column) / rows.length / shared;
    }
    return sum;
  }

  function percent(weight) {
    return weight > 0 && weight < 0.005 ? "< 1 %" : `${Math.round(weight * 100)} %`;
  }

  // ---- colours

  function colour(name) {
    const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  }

  /** How strongly a weight is coloured: a little more than it is, so that small ones are seen. */
  const strength = (weight) => Math.min(weight, 1) ** 0.7;

  /** Paints values as pixels, `width` to a line. */
  function paint(canvas, values, width) {
    canvas.width = width;
    canvas.height = values.length / width;
    const none = colour("--paper"), full = colour("--accent");
    const context = canvas.getContext("2d"), image = context.createImageData(width, canvas.height);
    values.forEach((value, place) => {
      const share = strength(value);
      for (let c = 0; c < 3; c++) image.data[place * 4 + c] = none[c] + (full[c] - none[c]) * share;
      image.data[place * 4 + 3] = 255;
    });
    context.putImageData(image, 0, 0);
  }

  // ---- choosers

  function radios(box, name, values, chosen, label, choose) {
    const legend = box.querySelector("legend");
    box.replaceChildren(legend, ...values.map((value) => {
      const input = element("input", { type: "radio", name, value, checked: value === chosen });
      input.addEventListener("change", () => choose(value));
      return element("label", {}, input, ...label(value));
    }));
  }

  /** Keeps what was chosen where the sentence has it, else takes the aligner's or the last layer. */
  function settle() {
    const kinds = Object.keys(KINDS).filter((kind) => mapsOf(kind).length);
    if (!kinds.includes(state.kind)) state.kind = kinds[0] ?? null;
    const maps = mapsOf(state.kind), aligner = sentence().alignedBy;
    if (!chosenMap()) {
      const usual = state.kind === "cross" && maps.find((map) => map.layer === aligner?.[0]);
      state.layer = (usual || maps.at(-1))?.layer ?? null;
      state.head = usual ? aligner[1] : MEAN;
    }
    if (state.head !== MEAN && !chosenMap()?.heads.includes(state.head)) state.head = MEAN;
    return kinds;
  }

  function showChoosers() {
    const kinds = settle(), map = chosenMap();
    $("attention").hidden = !map;
    if (!map) return;
    $("meaning").textContent = KINDS[state.kind];
    radios($("kinds"), "kind", kinds, state.kind, (kind) => [kind], (kind) => choose({ kind, layer: null }));
    const layers = mapsOf(state.kind).map((one) => one.layer);
    radios($("layers"), "layer", layers, state.layer, (layer) => [`${layer}`], (layer) => choose({ layer }));
    const heads = map.heads.length > 1 ? [MEAN, ...map.heads] : map.heads;
    if (heads.length === 1) state.head = heads[0];
    const thumbnail = (head) => {
      const canvas = element("canvas"), plane = planeOf(map, head);
      canvas.setAttribute("aria-hidden", "true");
      paint(canvas, plane.values, plane.columns.tokens.length);
      return [canvas, head === MEAN ? MEAN : `${head}`];
    };
    radios($("heads"), "head", heads, state.head, thumbnail, (head) => choose({ head }));
  }

  function choose(change) {
    const focused = document.activeElement?.name;
    Object.assign(state, change, { cell: null });
    showChoosers();
    showMap();
    showAsked();
    if (["kind", "layer", "head"].includes(focused))
      document.querySelector(`input[name="${focused}"]:checked`)?.focus();
  }

  // ---- words and links

  function showWords() {
    const one = sentence();
    for (const [side, words, language] of [
      ["source", one.sourceWords, one.sourceLanguage],
      ["target", one.targetWords, one.targetLanguage],
    ]) {
      const box = $(side);
      box.lang = language.replace("_", "-");
      box.dir = "auto";
      box.replaceChildren(...words.map((word, place) => {
        const chip = element("button", { type: "button", className: "word", tabIndex: place ? -1 : 0 }, word);
        const sure = side === "target" ? one.confidence?.[place] : undefined;
        if (sure !== undefined) {
          const bar = element("span");
          bar.style.width = percent(sure).replace(/[< ]/g, "");
          chip.append(element("span", { className: "sure" }, bar));
        }
        const ask = () => showAsked({ side, place });
        chip.addEventListener("pointerenter", ask);
        chip.addEventListener("focus", ask);
        chip.addEventListener("blur", () => showAsked(null));
        chip.addEventListener("pointerleave", (event) => {
          if (event.pointerType !== "touch") showAsked(focusedWord()); // a tap stays
        });
        chip.addEventListener("keydown", (event) => walkWords(event, side, place));
        return chip;
      }));
    }
    const by = one.alignedBy ? `Lines read from cross attention, layer ${one.alignedBy[0]}, head ${one.alignedBy[1]}.` : "";
    const sure = one.confidence ? "Underlines show confidence." : "";
    $("origin").textContent = [one.model && `${one.model}.`, by, sure].filter(Boolean).join(" ");
    const same = one.reference === one.translation ? "Reference: the same." : `Reference: ${one.reference}`;
    $("reference").textContent = one.reference === null ? "" : same;
    $("alignment").hidden = !one.sourceWords.length && !one.targetWords.length;
  }

  function focusedWord() {
    const chip = document.activeElement;
    if (!chip?.classList.contains("word")) return null;
    return { side: chip.parentNode.id, place: [...chip.parentNode.children].indexOf(chip) };
  }

  /** Arrow keys go along the words of a side, and across to a linked word. */
  function walkWords(event, side, place) {
    const along = { ArrowRight: 1, ArrowLeft: -1 }, across = { ArrowUp: "source", ArrowDown: "target" };
    let to = null;
    if (event.key in along && !stage.classList.contains("upright")) to = [side, place + along[event.key]];
    else if (stage.classList.contains("upright") && event.key in across)
      to = [side, place + (event.key === "ArrowDown" ? 1 : -1)];
    else if (event.key in across || event.key in along) {
      const link = sentence().links.find((one) => one[side === "source" ? 0 : 1] === place);
      if (link) to = side === "source" ? ["target", link[1]] : ["source", link[0]];
    }
    const chip = to && $(to[0]).children[to[1]];
    if (!chip) return;
    event.preventDefault();
    for (const other of $(to[0]).children) other.tabIndex = other === chip ? 0 : -1;
    chip.focus();
  }

  function showLinks() {
    stage.classList.remove("upright");
    const tooWide = ["source", "target"].some((side) => $(side).scrollWidth > stage.clientWidth + 1);
    stage.classList.toggle("upright", tooWide);
    const frame = stage.getBoundingClientRect();
    links.replaceChildren(...sentence().links.map(([from, to]) => {
      const a = $("source").children[from].getBoundingClientRect();
      const b = $("target").children[to].getBoundingClientRect();
      const path = document.createElementNS(links.namespaceURI, "path");
      const start = tooWide ? [a.right + 2, a.top + a.height / 2] : [a.left + a.width / 2, a.bottom + 2];
      const end = tooWide ? [b.left - 2, b.top + b.height / 2] : [b.left + b.width / 2, b.top - 2];
      const [x1, y1, x2, y2] = [start[0] - frame.left, start[1] - frame.top, end[0] - frame.left, end[1] - frame.top];
      const bend = tooWide ? `${(x1 + x2) / 2} ${y1} ${(x1 + x2) / 2} ${y2}` : `${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2}`;
      path.setAttribute("d", `M${x1} ${y1}C${bend} ${x2} ${y2}`);
      return path;
    }));
    showAsked(state.asked);
  }

  /** What a word looked at and what looked at it, in the chosen map, or nothing. */
  function showAsked(asked = state.asked) {
    state.asked = asked;
    const map = chosenMap(), plane = map && planeOf(map, state.head);
    const [looking, seen] = SIDES[state.kind] ?? [];
    const found = { to: [], by: [] };
    if (asked && map) {
      const others = (side) => [...$(side).children].keys();
      if (asked.side === looking)
        for (const place of others(seen)) found.to.push({ side: seen, place, weight: wordWeight(plane, asked.place, place) });
      if (asked.side === seen)
        for (const place of others(looking)) found.by.push({ side: looking, place, weight: wordWeight(plane, place, asked.place) });
    }
    for (const chip of stage.querySelectorAll(".word")) {
      chip.style.removeProperty("--to");
      chip.style.removeProperty("--by");
      chip.classList.remove("asked");
    }
    for (const way of ["to", "by"])
      for (const { side, place, weight } of found[way])
        $(side).children[place].style.setProperty(`--${way}`, strength(weight).toFixed(3));
    if (asked) $(asked.side).children[asked.place].classList.add("asked");
    stage.classList.toggle("asking", asked !== null);
    sentence().links.forEach((link, place) => {
      const on = asked !== null && link[asked.side === "source" ? 0 : 1] === asked.place;
      links.children[place]?.classList.toggle("on", on);
    });
    tell(asked, found);
    markLabels();
  }

  function tell(asked, found) {
    const out = $("readout");
    out.dataset.hint = "Point at a word, or go there with Tab and the arrow keys, to see its links"
      + (chosenMap() ? " and where it looked." : ".");
    out.replaceChildren();
    if (!asked) return;
    out.append(element("b", {}, wordAt(asked)));
    const sure = asked.side === "target" ? sentence().confidence?.[asked.place] : undefined;
    if (sure !== undefined) out.append(element("span", { className: "share" }, ` confidence ${percent(sure)}`));
    for (const [way, verb] of [["to", "looked at"], ["by", "seen by"]]) {
      const best = found[way].filter((one) => one.weight >= 0.02).sort((a, b) => b.weight - a.weight).slice(0, 5);
      if (!best.length) continue;
      const line = element("span", { className: way }, verb);
      const add = (name, weight) => {
        const share = element("span", { className: "share" }, ` ${percent(weight)}`);
        line.append(" ", element("span", { className: "item" }, name, share));
      };
      for (const one of best) add(element("b", {}, wordAt(one)), one.weight);
      const rest = 1 - found[way].reduce((sum, one) => sum + one.weight, 0); // </s>, for one
      if (way === "to" && rest >= 0.02) add("no word", rest);
      out.append(line);
    }
  }

  function wordAt({ side, place }) {
    return (side === "source" ? sentence().sourceWords : sentence().targetWords)[place];
  }

  // ---- the map

  function labels(box, tokens, language) {
    box.lang = language.replace("_", "-");
    box.replaceChildren(...tokens.map((token) => {
      const span = element("span");
      if (token.startsWith("▁") && token.length > 1) span.append(element("span", { className: "space" }, "▁"), token.slice(1));
      else span.append(token);
      // scripts that are written downwards stand upright
      span.classList.toggle("upright", /[\u3000-\u303f\uff00-\uffef\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Hangul}]/u.test(token));
      return span;
    }));
  }

  function showMap() {
    const map = chosenMap();
    if (!map) return;
    const plane = planeOf(map, state.head), one = sentence();
    const language = (axis) => (axis === "source" ? one.sourceLanguage : one.targetLanguage);
    labels($("rows"), plane.rows.tokens, language(map.rows));
    labels($("columns"), plane.columns.tokens, language(map.columns));
    const across = plane.columns.tokens.length, down = plane.rows.tokens.length;
    const room = ($("scroll").clientWidth - $("rows").offsetWidth - 8) / across;
    const cell = Math.floor(Math.max(15, Math.min(30, room)));
    $("map").style.setProperty("--cell", `${cell}px`);
    paint($("heat"), plane.values, across);
    $("heat").style.width = `${across * cell}px`;
    $("heat").style.height = `${down * cell}px`;
    const head = state.head === MEAN ? "mean of heads" : `head ${state.head}`;
    cells.setAttribute("aria-label", `${state.kind} attention, layer ${state.layer}, ${head}: ${down} rows, ${across} columns; arrow keys read the cells`);
    paint($("ramp"), Float32Array.from({ length: 101 }, (_, place) => place / 100), 101);
    showCell(null);
  }

  function showCell(at) {
    state.cell = at;
    const out = $("value"), map = chosenMap();
    out.dataset.hint = "Point at a cell, or go there with the arrow keys, to read its weight.";
    out.replaceChildren();
    cursor.hidden = !at;
    markLabels();
    if (!at || !map) return;
    const plane = planeOf(map, state.head), size = parseInt($("map").style.getPropertyValue("--cell"), 10);
    cursor.style.left = `${at.column * size}px`;
    cursor.style.top = `${at.row * size}px`;
    out.append(element("b", {}, plane.rows.tokens[at.row]), " → ", element("b", {}, plane.columns.tokens[at.column]), ` ${percent(plane.at(at.row, at.column))}`);
  }

  /** Marks the labels of the cell that is read, or of the word that is asked. */
  function markLabels() {
    const map = chosenMap(), asked = state.asked;
    for (const [box, axis, place] of [["rows", map?.rows, state.cell?.row], ["columns", map?.columns, state.cell?.column]]) {
      const side = axis === "source" ? "source" : "target";
      const group = asked && axis && asked.side === side ? sentence().axes[axis].groups[asked.place] : [];
      [...$(box).children].forEach((label, number) => label.classList.toggle("on", number === place || group.includes(number)));
    }
  }

  cells.addEventListener("pointermove", (event) => {
    const frame = $("heat").getBoundingClientRect(), heat = $("heat");
    const column = Math.floor(((event.clientX - frame.left) / frame.width) * heat.width);
    const row = Math.floor(((event.clientY - frame.top) / frame.height) * heat.height);
    if (row >= 0 && row < heat.height && column >= 0 && column < heat.width) showCell({ row, column });
  });
  cells.addEventListener("pointerleave", () => showCell(null));
  cells.addEventListener("blur", () => showCell(null));
  cells.addEventListener("keydown", (event) => {
    const [down, across] = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key] ?? [0, 0];
    if (!down && !across) return;
    event.preventDefault();
    const { row, column } = state.cell ?? { row: -down, column: -across };
    const within = (place, size) => Math.max(0, Math.min(size - 1, place));
    showCell({ row: within(row + down, $("heat").height), column: within(column + across, $("heat").width) });
  });

  function show(number) {
    Object.assign(state, { number, asked: null, cell: null });
    showWords();
    showChoosers();
    showMap();
    showLinks();
  }

  if (!sentences.length) return;
  $("sentences").addEventListener("change", (event) => show(Number(event.target.value)));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { showChoosers(); showMap(); });
  let width = 0;
  new ResizeObserver(() => {
    if (stage.clientWidth === width) return;
    width = stage.clientWidth;
    showLinks();
    showMap();
  }).observe(stage);
  document.fonts?.ready.then(showLinks);
  show(Number(document.querySelector("input[name=sentence]:checked")?.value ?? 0));
})();
