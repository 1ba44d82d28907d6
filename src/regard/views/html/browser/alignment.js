// The words of both sides with lines for their links, or the words of a single text. Few words are buttons in two rows
// (in two columns where rows do not fit); many are flowing text without lines.
const { element, message } = regard;
const MAX_BUTTONS = 60; // words per side
const PARAGRAPH = [90, 200]; // words: broken after a sentence from the first on, at the latest at the second
const MAX_COLORED = 150; // words at a time
const SVG = "http://www.w3.org/2000/svg";
const CLOSING = /^[\p{Pe}\p{Pf}.,;:!?%…。，、；：！？]/u, OPENING = /[\p{Ps}\p{Pi}'’]$/u;
const WITHOUT_SPACES = /[\u3000-\u303f\uff00-\uffef\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

/** Whether there is a space between two words in running text. */
function isSpaced(left, right) {
  if (CLOSING.test(right) || OPENING.test(left)) return false;
  return !(WITHOUT_SPACES.test(left.at(-1) ?? "") || WITHOUT_SPACES.test(right[0] ?? ""));
}

regard.AlignmentView = class {
  #version = 0; // of the text, so that building an outdated one stops
  #marked = [];
  #frameRequest = 0;

  /**
   * `weightsOf(side, word)` returns { attended, attending, complete, total }: lists of { side, word, weight }, whether they
   * are complete, and the sum of the word's rows.
   */
  constructor({ weightsOf, onActive, onClick, clickable }) {
    Object.assign(this, { weightsOf, onActive, onClick, active: null });
    this.box = element("div", { className: "aligned-words" });
    this.out = element("div", { className: "readout word-readout", aria: { live: "polite" } });
    this.box.classList.toggle("clickable", clickable);
    this.box.addEventListener("pointerover", (event) => this.#point(event));
    this.box.addEventListener("pointerleave", (event) => {
      if (event.pointerType !== "touch") this.#setActiveSoon(this.#focused()); // a tap stays
    });
    this.box.addEventListener("focusin", (event) => this.setActive(this.#wordAt(event.target)));
    this.box.addEventListener("focusout", () => this.setActive(null));
    this.box.addEventListener("keydown", (event) => this.#handleKey(event));
    this.box.addEventListener("click", (event) => {
      const word = this.#wordAt(event.target);
      if (word) this.onClick(word);
    });
    this.resizeObserver = new ResizeObserver(() => {
      if (this.box.clientWidth === this.width) return;
      this.width = this.box.clientWidth;
      this.layout();
    });
    this.resizeObserver.observe(this.box);
    document.fonts?.ready.then(() => this.layout());
  }

  destroy() { this.#version++; this.resizeObserver.disconnect(); cancelAnimationFrame(this.#frameRequest); }

  show(data) {
    this.data = data;
    this.active = null;
    this.#marked = [];
    const sides = Object.entries(data.sides), version = ++this.#version;
    this.flowing = sides.some(([, { words }]) => words.length > MAX_BUTTONS);
    this.writtenSide = data.sides.target ? "target" : "source"; // the side that confidence is of
    this.linksOf = Object.fromEntries(sides.map(([side, { words }]) => [side, words.map(() => [])]));
    data.links.forEach(([source, target], link) => {
      this.linksOf.source[source].push(link);
      this.linksOf.target?.[target].push(link);
    });
    this.lines = document.createElementNS(SVG, "svg");
    this.lines.setAttribute("aria-hidden", "true");
    this.nodes = {}; // the elements of the words
    this.boxes = {};
    for (const [side, { language }] of sides) {
      this.nodes[side] = [];
      this.boxes[side] = element("div", {
        className: `words ${side}`, role: "toolbar", lang: regard.languageTag(language), dir: "auto",
        data: { side }, aria: { label: this.#sideName(side) },
      });
    }
    this.box.classList.toggle("flow", this.flowing);
    this.box.classList.toggle("single", sides.length === 1);
    this.box.replaceChildren(...(this.flowing ? [] : [this.lines]), ...Object.values(this.boxes));
    if (this.flowing) {
      this.box.classList.remove("columns");
      this.#addText(sides, version);
      return;
    }
    for (const [side, { words }] of sides) this.#addButtons(side, words);
    this.width = this.box.clientWidth;
    this.layout();
  }

  translate() {
    for (const [side, box] of Object.entries(this.boxes)) box.setAttribute("aria-label", this.#sideName(side));
    this.setActive(this.active);
  }

  #sideName(side) {
    const isLabel = this.data.targetKind === "label";
    if (side === "source") return message(isLabel || !this.data.sides.target ? "text" : side);
    return message(isLabel ? "target.label" : side);
  }

  #confidence({ side, word }) {
    const share = side === this.writtenSide ? this.data.confidence?.[word] : null;
    return typeof share === "number" ? share : null;
  }

  // ---- building

  #addButtons(side, words) {
    this.nodes[side] = words.map((text, word) => {
      const button = element("button", { type: "button", className: "word", tabIndex: word ? -1 : 0, data: { word } }, regard.visible(text));
      const confidence = this.#confidence({ side, word });
      if (confidence !== null) {
        const bar = element("span");
        bar.style.width = `${Math.round(confidence * 100)}%`;
        button.append(element("span", { className: "confidence" }, bar));
      }
      return button;
    });
    this.boxes[side].append(...this.nodes[side]);
  }

  /** Adds thousands of words, some at a time, in paragraphs that a browser need not lay out while they are invisible. */
  async #addText(sides, version) {
    await regard.yieldToBrowser();
    for (const [side, { words }] of sides) {
      let paragraph = element("p"), length = 0;
      for (const [word, text] of words.entries()) {
        if (length && isSpaced(words[word - 1], text)) paragraph.append(" ");
        const node = element("span", { className: "word", role: "button", tabIndex: word ? -1 : 0, data: { word } }, regard.visible(text));
        const confidence = this.#confidence({ side, word });
        if (confidence !== null) node.style.setProperty("--confidence", confidence);
        this.nodes[side].push(node);
        paragraph.append(node);
        const ends = /[.!?。！？⏎]$/.test(text), isLast = word === words.length - 1;
        if (++length >= PARAGRAPH[1] || (length >= PARAGRAPH[0] && ends) || isLast) {
          this.boxes[side].append(paragraph);
          [paragraph, length] = [element("p"), 0];
          await regard.yieldToBrowser();
          if (version !== this.#version) return;
        }
      }
    }
  }

  /** Chooses rows or columns, and draws the lines between the words. */
  layout() {
    if (!this.data || this.flowing) return;
    const boxes = Object.values(this.boxes);
    this.box.classList.remove("columns");
    const inColumns = boxes.length > 1 && boxes.some((box) => box.scrollWidth > this.box.clientWidth + 1);
    this.box.classList.toggle("columns", inColumns);
    const frame = this.box.getBoundingClientRect();
    const frames = Object.fromEntries(Object.entries(this.nodes).map(([side, nodes]) =>
      [side, nodes.map((node) => node.getBoundingClientRect())]));
    this.lines.replaceChildren(...(boxes.length > 1 ? this.data.links : []).map(([source, target]) => {
      const a = frames.source[source], b = frames.target[target];
      const start = inColumns ? [a.right + 2, a.top + a.height / 2] : [a.left + a.width / 2, a.bottom + 2];
      const end = inColumns ? [b.left - 2, b.top + b.height / 2] : [b.left + b.width / 2, b.top - 2];
      const [x1, y1, x2, y2] = [start[0] - frame.left, start[1] - frame.top, end[0] - frame.left, end[1] - frame.top];
      const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
      const path = document.createElementNS(SVG, "path");
      path.setAttribute("d", `M${x1} ${y1}C${inColumns ? `${x} ${y1} ${x} ${y2}` : `${x1} ${y} ${x2} ${y}`} ${x2} ${y2}`);
      return path;
    }));
    this.setActive(this.active);
  }

  // ---- the active word: hovered or focused

  #wordAt(target) {
    const node = target.closest?.(".word");
    if (!node || !this.box.contains(node)) return null;
    return { side: node.closest(".words").dataset.side, word: Number(node.dataset.word) };
  }

  #focused() { return this.#wordAt(document.activeElement ?? this.box); }

  #point(event) {
    const same = this.pointer?.x === event.clientX && this.pointer.y === event.clientY;
    this.pointer = { x: event.clientX, y: event.clientY };
    if (same && event.pointerType === "mouse") return; // the text moved below a resting pointer
    const word = this.#wordAt(event.target);
    if (word || event.pointerType !== "touch") this.#setActiveSoon(word ?? this.#focused());
  }

  /** At most once per frame, in which a pointer may cross many words. */
  #setActiveSoon(active) {
    cancelAnimationFrame(this.#frameRequest);
    this.#frameRequest = requestAnimationFrame(() => this.setActive(active));
  }

  /** Shows what a word is linked to, what it attended to and what attended to it; null shows nothing. */
  setActive(active = this.active) {
    if (!this.data) return;
    if (active && !this.nodes[active.side]?.[active.word]) active = null;
    this.active = active;
    for (const node of this.#marked) {
      node.style.removeProperty("--attended");
      node.style.removeProperty("--attending");
      node.classList.remove("active", "linked", "weighted");
    }
    this.#marked = [];
    const weights = active ? this.weightsOf(active.side, active.word) : { attended: [], attending: [], complete: true };
    for (const direction of ["attended", "attending"]) {
      weights[direction].sort((a, b) => b.weight - a.weight);
      for (const { side, word, weight } of weights[direction].slice(0, MAX_COLORED)) {
        const node = this.nodes[side][word];
        if (weight < 0.003 || !node) break;
        node.style.setProperty(`--${direction}`, regard.intensity(weight).toFixed(3));
        node.classList.add("weighted");
        this.#marked.push(node);
      }
    }
    this.#markLinks(active);
    this.#writeReadout(active, weights);
    const key = JSON.stringify(active);
    if (key !== this.lastActive) this.onActive(active);
    this.lastActive = key;
  }

  #markLinks(active) {
    this.box.classList.toggle("has-active", active !== null);
    for (const line of this.lines.querySelectorAll(".linked")) line.classList.remove("linked");
    if (!active) return;
    const mark = (node, name) => {
      node.classList.add(name);
      this.#marked.push(node);
    };
    mark(this.nodes[active.side][active.word], "active");
    const other = active.side === "source" ? "target" : "source";
    for (const link of this.linksOf[active.side][active.word]) {
      this.lines.children[link]?.classList.add("linked");
      const node = this.nodes[other]?.[this.data.links[link][other === "source" ? 0 : 1]];
      if (node) mark(node, "linked");
    }
    if (this.flowing && this.boxes[other]) this.#scrollToMarked(other);
  }

  /** Scrolls the flowing text of the other side to its first linked or weighted word. */
  #scrollToMarked(side) {
    const box = this.boxes[side], marked = this.#marked.filter((node) => box.contains(node));
    const node = marked.find(({ classList }) => classList.contains("linked")) ?? marked[0];
    if (!node) return;
    const frame = box.getBoundingClientRect(), own = node.getBoundingClientRect();
    if (own.top < frame.top || own.bottom > frame.bottom) box.scrollTop += own.top - frame.top - frame.height / 2;
  }

  #writeReadout(active, weights) {
    const { out } = this;
    out.dataset.hint = message(this.data.maps.length ? "hintLooked" : "hintWords");
    out.replaceChildren();
    if (!active) return;
    const share = (text) => element("span", { className: "share" }, ` ${text}`);
    const bold = ({ side, word }) => element("b", {}, regard.visible(this.data.sides[side].words[word]));
    out.append(bold(active));
    const confidence = this.#confidence(active);
    if (confidence !== null) out.append(share(message("confidence", { share: regard.percent(confidence) })));
    for (const [direction, verb] of [["attended", "lookedAt"], ["attending", "seenBy"]]) {
      const min = weights.complete ? 0.02 : 0.001;
      const best = weights[direction].filter(({ weight }) => weight >= min).slice(0, 5);
      if (!best.length) continue;
      const line = element("span", { className: direction }, message(verb));
      const add = (name, weight) => line.append(" ", element("span", { className: "item" }, name, share(regard.percent(weight))));
      for (const one of best) add(bold(one), one.weight);
      const counted = weights.complete ? weights[direction] : best;
      const rest = weights.total - counted.reduce((sum, { weight }) => sum + weight, 0); // of </s>, for example
      if (direction === "attended" && rest >= 0.02) add(message(weights.complete ? "noWord" : "theRest"), rest);
      out.append(line);
    }
  }

  // ---- keys

  /** Arrow keys move along the words of a side, and across to a linked word. */
  #handleKey(event) {
    const at = this.#wordAt(event.target), { key } = event;
    if (!at) return;
    if (this.flowing && (key === "Enter" || key === " ")) {
      event.preventDefault();
      this.onClick(at);
      return;
    }
    const inColumns = this.box.classList.contains("columns");
    const along = inColumns ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 };
    const across = inColumns ? { ArrowLeft: "source", ArrowRight: "target" } : { ArrowUp: "source", ArrowDown: "target" };
    let { side, word } = at;
    if (key in along) word += along[key];
    else if (key === "Home") word = 0;
    else if (key === "End") word = this.nodes[side].length - 1;
    else if (key in across && across[key] !== side) {
      const link = this.data.links[this.linksOf[side][word][0]];
      side = across[key];
      word = link?.[side === "source" ? 0 : 1];
    } else return;
    const node = this.nodes[side]?.[word];
    if (!node) return;
    event.preventDefault();
    const stop = this.boxes[side].querySelector('[tabindex="0"]');
    if (stop) stop.tabIndex = -1;
    node.tabIndex = 0;
    node.focus();
  }
};
