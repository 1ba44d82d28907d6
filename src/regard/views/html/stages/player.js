// The stages of a traced text, one after another.
//   regard.stages(container, data, { start, keys, positions, onWord }): `start` is the number of the first step that is shown,
//   or a function that finds it, `keys` the element whose keys are heard, `positions` where each side begins, `onWord({ side,
//   position, id })` is called of a next word that is clicked.  .state { step, name, side, head, positions }, .go(index), .destroy(), .ready
const { element, message } = regard;
const PAUSE = 2000; // milliseconds of a stage while playing
const OWN_KEYS = "input, select, textarea, [role=application]"; // elements that arrow keys belong to

/** An equation with its indices as such: q_i, h_{t−1}. */
function mathematics(text) {
  const shown = regard.language === "zh" ? regard.equationsInChinese[text] ?? text : text;
  return shown.split(/_(\{[^}]*\}|[A-Za-z0-9]+)/).map((part, index) => (index % 2 ? element("sub", {}, part.replace(/[{}]/g, "")) : part));
}

class Player {
  #version = 0;
  #timer = 0;

  constructor(container, data, { start, keys = document, positions = {}, head = 0, onWord }) {
    this.list = new regard.StepList(data);
    this.pictures = new regard.Pictures(this.list);
    Object.assign(this, { container, data, head, keys, onWord, index: 0, positions: {} });
    for (const [side, rows] of Object.entries(data.word.rows)) this.positions[side] = (data.sides[side]?.written.length ? rows[0] : rows.at(-1)) ?? 0;
    for (const [side, position] of Object.entries(positions)) this.positions[side] = Math.min(position, data.sides[side].tokens.length - 1);
    const first = this.list.steps.find(typeof start === "function" ? start : ({ number }) => number === start);
    if (first?.head) this.head = first.head;
    this.stages = this.list.stages(this.head);
    this.index = Math.max(0, this.stages.indexOf(first));
    this.#build();
    this.onKey = (event) => this.#onKey(event);
    this.onLanguage = () => this.#show();
    this.onTheme = () => this.pictures.repaint();
    keys.addEventListener("keydown", this.onKey);
    document.addEventListener("regard:language", this.onLanguage);
    document.addEventListener("regard:theme", this.onTheme);
    this.#show();
  }

  get step() { return this.stages[this.index]; }

  get state() {
    const { name, side, part, layer, number } = this.step;
    return { step: number, name, side, part, layer, head: this.head, positions: { ...this.positions } };
  }

  #build() {
    const button = (key, onClick) => {
      const node = element("button", { type: "button", data: { message: key, go: key } }, message(key));
      node.addEventListener("click", onClick);
      return node;
    };
    this.words = Object.keys(this.data.sides).map((side) => {
      const alone = Object.keys(this.data.sides).length === 1;
      return [side, new regard.RadioGroup("segments tokens", alone ? "words.alone" : `words.${side}`, (position) => this.setPosition(side, position))];
    });
    this.heads = new regard.RadioGroup("segments heads-of-part", "stepHead", (head) => this.#chooseHead(head));
    const { drawing } = this.data;
    this.drawing = drawing && new regard.ModelDrawing(drawing, (matches) => {
      const index = this.stages.findIndex(matches);
      if (index >= 0) this.go(index);
    });
    this.parts = element("ol", { className: "parts" });
    this.nav = element("nav", {}, ...(drawing ? [this.drawing.svg] : []), this.parts);
    this.title = element("h2");
    this.place = element("p", { className: "note place" });
    this.count = element("p", { className: "note count", aria: { live: "polite" } });
    this.progress = element("span", { className: "progress", aria: { hidden: "true" } }, element("span"));
    this.equation = element("p", { className: "equation" });
    this.shape = element("p", { className: "note" });
    this.about = element("p", { className: "about" });
    this.picture = element("div", { className: "picture" });
    this.play = button("play", () => this.#setPlaying(!this.#timer));
    this.back = button("back", () => this.go(this.index - 1));
    this.next = button("next", () => this.go(this.index + 1));
    const controls = element("div", { className: "controls" }, this.back, this.play, this.next);
    this.container.classList.add("regard", "stages");
    this.container.replaceChildren(
      element("section", { className: "choose" }, ...this.words.map(([, group]) => group.box)),
      element("div", { className: "stage-layout" },
        this.nav,
        element("section", { className: "stage" },
          element("div", { className: "stage-top" }, controls, this.count, this.heads.box), this.progress,
          element("div", { className: "line" }, this.title, this.place), this.about, this.equation, this.shape, this.picture,
          element("p", { className: "note keys", data: { message: "hintKeys" } }, message("hintKeys")))));
  }

  // ---- going

  go(index) {
    const bounded = Math.max(0, Math.min(this.stages.length - 1, index));
    if (bounded === this.stages.length - 1) this.#setPlaying(false);
    if (bounded === this.index) return;
    this.index = bounded;
    this.#show();
  }

  setPosition(side, position) {
    this.positions[side] = position;
    this.#show();
  }

  /** The same stage of another head. */
  #chooseHead(head) {
    const { step } = this, place = ({ name, side, part, layer }) => [name, side, part, layer].join();
    this.head = head;
    this.stages = this.list.stages(head);
    this.index = Math.max(0, this.stages.findIndex((other) => place(other) === place(step)));
    this.#show();
  }

  #setPlaying(playing) {
    clearInterval(this.#timer);
    this.#timer = playing ? setInterval(() => this.go(this.index + 1), PAUSE) : 0;
    if (playing && this.index === this.stages.length - 1) this.go(0);
    this.play.dataset.message = playing ? "pause" : "play";
    this.play.textContent = message(this.play.dataset.message);
  }

  #groups() {
    const groups = [];
    this.stages.forEach((step, index) => {
      const last = groups.at(-1), { side, part, layer } = step;
      if (last && last.side === side && last.part === part && last.layer === layer) last.steps.push(step);
      else groups.push({ side, part, layer, index, steps: [step] });
    });
    return groups;
  }

  #onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.defaultPrevented) return;
    const inside = event.target.closest?.(OWN_KEYS), groups = this.#groups(), group = groups.findLastIndex(({ index }) => index <= this.index);
    const keys = {
      ArrowRight: () => this.go(this.index + 1), ArrowLeft: () => this.go(this.index - 1), Home: () => this.go(0), End: () => this.go(this.stages.length - 1),
      PageDown: () => this.go(groups[group + 1]?.index ?? this.stages.length - 1), PageUp: () => this.go(groups[this.index > groups[group].index ? group : group - 1]?.index ?? 0),
      " ": () => this.#setPlaying(!this.#timer),
    };
    if (!keys[event.key] || inside || (event.key === " " && event.target.closest?.("button, a, summary"))) return;
    event.preventDefault();
    keys[event.key]();
  }

  // ---- showing

  #show() {
    this.ready = this.#draw();
    return this.ready;
  }

  async #draw() {
    const version = ++this.#version, { step, list } = this, position = this.positions[step.side] ?? 0, { sides } = this.data;
    for (const [side, group] of this.words) {
      const { tokens, written, language } = sides[side], shown = written.length ? written : tokens;
      if (group.inputs) group.select(this.positions[side]);
      else group.show(shown.map((_, place) => place), this.positions[side], (place) => [element("span", { dir: "auto", lang: regard.languageTag(language) }, regard.plainToken(shown[place]))]);
      group.box.hidden = false;
    }
    const heads = step.head === null ? [] : list.headsAt(step);
    if (this.shownHeads !== `${heads}`) this.heads.show(heads, step.head, (head) => [`${head}`]);
    else this.heads.select(step.head);
    this.shownHeads = `${heads}`;
    this.count.textContent = message("stage", { number: this.index + 1, count: this.stages.length });
    this.progress.firstChild.style.setProperty("--share", (this.index + 1) / this.stages.length);
    for (const [node, off] of [[this.back, this.index === 0], [this.next, this.index === this.stages.length - 1]]) node.setAttribute("aria-disabled", String(off));
    this.title.textContent = message(`step.${step.name}`);
    this.place.textContent = `${message(`side.${step.side}`)} · ${list.partName(step)}`;
    this.about.textContent = message(`about.${step.name}`);
    this.equation.replaceChildren(element("code", {}, ...mathematics(step.equation)));
    this.shape.textContent = step.axes.length ? message("shape", { sizes: step.axes.map((axis, at) => `${message(`axis.${axis}`)} ${step.shape[at]}`).join(" × ") }) : "";
    this.#showParts();
    this.container.setAttribute("aria-busy", "true");
    const parts = await this.#picture(step, position);
    if (version !== this.#version) return;
    this.pictures.clear();
    this.pictures = parts.pictures;
    const focused = this.picture.contains(document.activeElement) && document.activeElement.dataset.go;
    this.picture.replaceChildren(...parts.nodes);
    this.pictures.repaint();
    this.#reveal(this.parts.querySelector("[aria-current]"));
    if (focused) this.picture.querySelector(`[data-go=${focused}]`)?.focus();
    this.container.removeAttribute("aria-busy");
    regard.emit(this.container, "regard:stage", this.state);
  }

  async #picture(step, position) {
    const pictures = new regard.Pictures(this.list), width = this.picture.clientWidth;
    try {
      const onPosition = (place) => this.setPosition(step.side, place), onWord = this.onWord && ((id) => this.onWord({ side: step.side, position, id }));
      return { pictures, nodes: await pictures.show(step, position, width, { onPosition, onWord }) };
    } catch (error) {
      return { pictures, nodes: [element("p", {}, message("broken", { why: error.message }))] };
    }
  }

  /** The parts of the model in the order of the computation; the one of this stage is lit. */
  #showParts() {
    const groups = this.#groups(), current = groups.findLastIndex(({ index }) => index <= this.index);
    if (this.language !== regard.language) this.#buildParts(groups);
    this.language = regard.language;
    const buttons = [...this.parts.querySelectorAll("button")];
    for (const node of buttons) node.removeAttribute("aria-current");
    buttons[current].setAttribute("aria-current", "step");
    this.drawing?.light(this.step);
  }

  #buildParts(groups) {
    const sides = [...new Set(groups.map(({ side }) => side))];
    this.nav.setAttribute("aria-label", `${message("parts")} ${this.data.model.name}`); // two models may be side by side
    this.parts.replaceChildren(...sides.map((side) => element("li", { className: "side" }, element("span", { className: "side-name" }, message(`side.${side}`)),
      element("ol", {}, ...groups.filter((group) => group.side === side).map((group) => {
        const size = group.steps.findLast(({ axes }) => axes.join() === "query,feature") ?? group.steps.at(-1);
        const node = element("button", { type: "button" }, element("span", {}, this.list.partName(group)), element("small", {}, size.shape.join(" × ")));
        node.addEventListener("click", () => this.go(group.index));
        return element("li", { className: `part ${group.part}` }, node);
      })))));
  }

  /** Scrolls the list of parts, and nothing else, to the current one. */
  #reveal(node) {
    const box = this.parts, inner = node?.getBoundingClientRect(), outer = box.getBoundingClientRect();
    if (!inner) return;
    if (inner.top < outer.top || inner.bottom > outer.bottom) box.scrollTop += inner.top - outer.top - outer.height / 2;
    if (inner.left < outer.left || inner.right > outer.right) box.scrollLeft += inner.left - outer.left - outer.width / 2 + inner.width / 2;
  }

  destroy() {
    this.#version++;
    this.#setPlaying(false);
    this.pictures.clear();
    this.keys.removeEventListener("keydown", this.onKey);
    document.removeEventListener("regard:language", this.onLanguage);
    document.removeEventListener("regard:theme", this.onTheme);
    this.container.replaceChildren();
    this.container.classList.remove("regard", "stages");
  }
}

regard.stages = (container, data, options = {}) => new Player(container, data, options);
