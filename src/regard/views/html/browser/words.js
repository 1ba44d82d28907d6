"use strict";
(() => {
  // The stage: words of both sides with the lines between them, or of a text alone. Few words are
  // chips in two rows (two columns where rows do not fit); many are flowing text without lines.
  const regard = (window.regard ??= {});
  const { element } = regard;
  const CHIPS = 60; // words a side
  const PARAGRAPH = [90, 200]; // words: broken after a sentence from the first on, at the latest at the second
  const MARKED = 150; // words at most that are coloured at a time
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const CLOSING = /^[\p{Pe}\p{Pf}.,;:!?%…。，、；：！？]/u, OPENING = /[\p{Ps}\p{Pi}'’]$/u;
  const WITHOUT_SPACES = /[\u3000-\u303f\uff00-\uffef\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

  /** Whether people write a space between two words. */
  function spaced(left, right) {
    if (CLOSING.test(right) || OPENING.test(left)) return false;
    return !(WITHOUT_SPACES.test(left.at(-1) ?? "") || WITHOUT_SPACES.test(right[0] ?? ""));
  }

  regard.Stage = class {
    #building = 0; // counts texts, so that one still being built can tell that it is out of date
    #marked = [];
    #frame = 0;

    /** `weigh(strip, place)` gives { to, by }: lists of { strip, place, weight }, and whether they are all. */
    constructor({ weigh, asked, pressed, clickable }) {
      Object.assign(this, { weigh, onAsked: asked, onPressed: pressed, asked: null });
      this.box = element("div", { className: "stage" });
      this.out = element("div", { className: "readout told", aria: { live: "polite" } });
      this.box.classList.toggle("clickable", clickable);
      this.box.addEventListener("pointerover", (event) => this.#point(event));
      this.box.addEventListener("pointerleave", (event) => {
        if (event.pointerType !== "touch") this.#soon(this.#focused()); // a tap stays
      });
      this.box.addEventListener("focusin", (event) => this.ask(this.#placeOf(event.target)));
      this.box.addEventListener("focusout", () => this.ask(null));
      this.box.addEventListener("keydown", (event) => this.#walk(event));
      this.box.addEventListener("click", (event) => {
        const at = this.#placeOf(event.target);
        if (at) this.onPressed(at);
      });
      this.resized = new ResizeObserver(() => {
        if (this.box.clientWidth === this.width) return;
        this.width = this.box.clientWidth;
        this.layout();
      });
      this.resized.observe(this.box);
      document.fonts?.ready.then(() => this.layout());
    }

    destroy() { this.#building++; this.resized.disconnect(); cancelAnimationFrame(this.#frame); }

    show(shown) {
      this.shown = shown;
      this.asked = null;
      this.#marked = [];
      const strips = Object.entries(shown.strips), number = ++this.#building;
      this.flowing = strips.some(([, strip]) => strip.words.length > CHIPS);
      this.written = shown.strips.target ? "target" : "source"; // the side that confidence is of
      this.linksOf = Object.fromEntries(strips.map(([name, strip]) => [name, strip.words.map(() => [])]));
      shown.links.forEach(([from, to], link) => {
        this.linksOf.source[from].push(link);
        this.linksOf.target?.[to].push(link);
      });
      this.lines = document.createElementNS(NAMESPACE, "svg");
      this.lines.setAttribute("aria-hidden", "true");
      this.chips = {};
      this.boxes = {};
      for (const [name, strip] of strips) {
        this.chips[name] = [];
        this.boxes[name] = element("div", {
          className: `words ${name}`, role: "toolbar", lang: regard.languageTag(strip.language), dir: "auto",
          data: { strip: name }, aria: { label: this.#name(name) },
        });
      }
      this.box.classList.toggle("flow", this.flowing);
      if (this.flowing) this.box.classList.remove("upright");
      this.box.classList.toggle("alone", strips.length === 1);
      this.box.replaceChildren(...(this.flowing ? [] : [this.lines]), ...Object.values(this.boxes));
      if (this.flowing) this.#flow(strips, number);
      else for (const [name, strip] of strips) this.#chips(name, strip);
      if (!this.flowing) {
        this.width = this.box.clientWidth;
        this.layout();
      }
    }

    reword() {
      for (const [name, box] of Object.entries(this.boxes)) box.setAttribute("aria-label", this.#name(name));
      this.ask(this.asked);
    }

    #name(strip) {
      const label = this.shown.wrote === "label";
      if (strip === "source") return regard.say(label || !this.shown.strips.target ? "text" : strip);
      return regard.say(label ? "target.label" : strip);
    }

    // ---- building

    #chips(name, strip) {
      this.chips[name] = strip.words.map((word, place) => {
        const chip = element("button", { type: "button", className: "word", tabIndex: place ? -1 : 0, data: { place } }, regard.visible(word));
        const sure = name === this.written ? this.shown.confidence?.[place] : undefined;
        if (typeof sure === "number") {
          const bar = element("span");
          bar.style.width = `${Math.round(sure * 100)}%`;
          chip.append(element("span", { className: "sure" }, bar));
        }
        return chip;
      });
      this.boxes[name].append(...this.chips[name]);
    }

    /** Thousands of words, some at a time: paragraphs that a browser may leave out while out of sight. */
    async #flow(strips, number) {
      await regard.breathe();
      for (const [name, strip] of strips) {
        let paragraph = element("p"), length = 0, before = null;
        for (let place = 0; place < strip.words.length; place++) {
          const word = strip.words[place];
          if (before !== null && spaced(before, word)) paragraph.append(" ");
          const piece = element("span", { className: "word", role: "button", tabIndex: place ? -1 : 0, data: { place } }, regard.visible(word));
          const sure = name === this.written ? this.shown.confidence?.[place] : undefined;
          if (typeof sure === "number") piece.style.setProperty("--sure", sure);
          this.chips[name].push(piece);
          paragraph.append(piece);
          before = word;
          const ended = /[.!?。！？⏎]$/.test(word), last = place === strip.words.length - 1;
          if (++length >= PARAGRAPH[1] || (length >= PARAGRAPH[0] && ended) || last) {
            this.boxes[name].append(paragraph);
            [paragraph, length, before] = [element("p"), 0, null];
            await regard.breathe();
            if (number !== this.#building) return;
          }
        }
      }
    }

    /** Rows or columns, and the lines between the words. */
    layout() {
      if (!this.shown || this.flowing) return;
      const strips = Object.values(this.boxes);
      this.box.classList.remove("upright");
      const tooWide = strips.length > 1 && strips.some((box) => box.scrollWidth > this.box.clientWidth + 1);
      this.box.classList.toggle("upright", tooWide);
      const frame = this.box.getBoundingClientRect();
      const frames = Object.fromEntries(Object.entries(this.chips).map(([name, chips]) =>
        [name, chips.map((chip) => chip.getBoundingClientRect())]));
      this.lines.replaceChildren(...(strips.length > 1 ? this.shown.links : []).map(([from, to]) => {
        const a = frames.source[from], b = frames.target[to];
        const start = tooWide ? [a.right + 2, a.top + a.height / 2] : [a.left + a.width / 2, a.bottom + 2];
        const end = tooWide ? [b.left - 2, b.top + b.height / 2] : [b.left + b.width / 2, b.top - 2];
        const [x1, y1, x2, y2] = [start[0] - frame.left, start[1] - frame.top, end[0] - frame.left, end[1] - frame.top];
        const [x, y] = [(x1 + x2) / 2, (y1 + y2) / 2];
        const bend = tooWide ? `${x} ${y1} ${x} ${y2}` : `${x1} ${y} ${x2} ${y}`;
        const path = document.createElementNS(NAMESPACE, "path");
        path.setAttribute("d", `M${x1} ${y1}C${bend} ${x2} ${y2}`);
        return path;
      }));
      this.ask(this.asked);
    }

    // ---- asking

    #placeOf(target) {
      const piece = target.closest?.(".word");
      if (!piece || !this.box.contains(piece)) return null;
      return { strip: piece.closest(".words").dataset.strip, place: Number(piece.dataset.place) };
    }

    #focused() { return this.box.contains(document.activeElement) ? this.#placeOf(document.activeElement) : null; }

    #point(event) {
      const same = this.pointer?.x === event.clientX && this.pointer.y === event.clientY;
      this.pointer = { x: event.clientX, y: event.clientY };
      if (same && event.pointerType === "mouse") return; // the text moved below a resting pointer
      const at = this.#placeOf(event.target);
      if (at || event.pointerType !== "touch") this.#soon(at ?? this.#focused());
    }

    /** Once a frame at most: a pointer may cross many words in one. */
    #soon(at) {
      cancelAnimationFrame(this.#frame);
      this.#frame = requestAnimationFrame(() => this.ask(at));
    }

    /** Shows what a word is linked to, looked at and was looked at by; null shows nothing. */
    ask(asked = this.asked) {
      if (!this.shown) return;
      if (asked && !this.chips[asked.strip]?.[asked.place]) asked = null;
      this.asked = asked;
      for (const piece of this.#marked) {
        piece.style.removeProperty("--to");
        piece.style.removeProperty("--by");
        piece.classList.remove("asked", "linked", "seen");
      }
      this.#marked = [];
      const found = asked ? this.weigh(asked.strip, asked.place) : { to: [], by: [], all: true };
      for (const way of ["to", "by"]) {
        found[way].sort((a, b) => b.weight - a.weight);
        for (const { strip, place, weight } of found[way].slice(0, MARKED)) {
          const piece = this.chips[strip][place];
          if (weight < 0.003 || !piece) break;
          piece.style.setProperty(`--${way}`, regard.strength(weight).toFixed(3));
          piece.classList.add("seen");
          this.#marked.push(piece);
        }
      }
      this.#mark(asked);
      this.#tell(asked, found);
      if (JSON.stringify(asked) !== this.last) this.onAsked(asked);
      this.last = JSON.stringify(asked);
    }

    #mark(asked) {
      this.box.classList.toggle("asking", asked !== null);
      for (const line of this.lines.querySelectorAll(".on")) line.classList.remove("on");
      if (!asked) return;
      const own = this.chips[asked.strip][asked.place], other = asked.strip === "source" ? "target" : "source";
      own.classList.add("asked");
      this.#marked.push(own);
      for (const link of this.linksOf[asked.strip][asked.place]) {
        this.lines.children[link]?.classList.add("on");
        const piece = this.chips[other]?.[this.shown.links[link][other === "source" ? 0 : 1]];
        if (!piece) continue;
        piece.classList.add("linked");
        this.#marked.push(piece);
      }
      if (this.flowing && this.boxes[other]) this.#bring(other);
    }

    /** Scrolls flowing text of the other side to the first word that is linked or looked at, if it is out of sight. */
    #bring(strip) {
      const box = this.boxes[strip], marked = this.#marked.filter((piece) => box.contains(piece));
      const piece = marked.find((one) => one.classList.contains("linked")) ?? marked[0];
      if (!piece) return;
      const frame = box.getBoundingClientRect(), own = piece.getBoundingClientRect();
      if (own.top < frame.top || own.bottom > frame.bottom) box.scrollTop += own.top - frame.top - frame.height / 2;
    }

    #tell(asked, found) {
      const { out } = this;
      out.dataset.hint = regard.say(this.shown.maps.length ? "hintLooked" : "hintWords");
      out.replaceChildren();
      if (!asked) return;
      const share = (text) => element("span", { className: "share" }, ` ${text}`);
      const word = ({ strip, place }) => element("b", {}, regard.visible(this.shown.strips[strip].words[place]));
      out.append(word(asked));
      const sure = asked.strip === this.written ? this.shown.confidence?.[asked.place] : undefined;
      if (typeof sure === "number") out.append(share(regard.say("confidence", { share: regard.percent(sure) })));
      for (const [way, verb] of [["to", "lookedAt"], ["by", "seenBy"]]) {
        const least = found.all ? 0.02 : 0.001;
        const best = found[way].filter((one) => one.weight >= least).slice(0, 5);
        if (!best.length) continue;
        const line = element("span", { className: way }, regard.say(verb));
        const add = (name, weight) => line.append(" ", element("span", { className: "item" }, name, share(regard.percent(weight))));
        for (const one of best) add(word(one), one.weight);
        const counted = found.all ? found[way] : best;
        const rest = found.total - counted.reduce((sum, one) => sum + one.weight, 0); // </s>, for one
        if (way === "to" && rest >= 0.02) add(regard.say(found.all ? "noWord" : "theRest"), rest);
        out.append(line);
      }
    }

    // ---- keys

    /** Arrow keys go along the words of a side, and across to a linked word. */
    #walk(event) {
      const at = this.#placeOf(event.target);
      if (!at) return;
      if (this.flowing && (event.key === "Enter" || event.key === " ")) {
        event.preventDefault();
        this.onPressed(at);
        return;
      }
      const upright = this.box.classList.contains("upright");
      const along = upright ? { ArrowDown: 1, ArrowUp: -1 } : { ArrowRight: 1, ArrowLeft: -1 };
      const across = upright ? { ArrowLeft: "source", ArrowRight: "target" } : { ArrowUp: "source", ArrowDown: "target" };
      let to = null;
      if (event.key in along) to = [at.strip, at.place + along[event.key]];
      else if (event.key === "Home") to = [at.strip, 0];
      else if (event.key === "End") to = [at.strip, this.chips[at.strip].length - 1];
      else if (event.key in across && across[event.key] !== at.strip) {
        const link = this.shown.links[this.linksOf[at.strip][at.place][0]];
        if (link) to = at.strip === "source" ? ["target", link[1]] : ["source", link[0]];
      }
      const piece = to && this.chips[to[0]]?.[to[1]];
      if (!piece) return;
      event.preventDefault();
      const stop = this.boxes[to[0]].querySelector('[tabindex="0"]');
      if (stop) stop.tabIndex = -1;
      piece.tabIndex = 0;
      piece.focus();
    }
  };
})();
