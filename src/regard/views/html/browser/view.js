// One text: its words and links, and the maps by kind, layer and head.
//   regard.view(container, data, { maps, clickable })
//     maps: false starts with the maps closed; clickable: true styles words and rows as clickable
//   .state { kind, layer, head }, .choose(change), .has(choice), .setActive(word), .replace(data), .dim(text), .destroy(), .ready
//   events of the container: regard:chosen { kind, layer, head }, regard:active { side, word } or null (hovered or focused),
//   regard:word { side, word } and regard:row { kind, layer, head, row } (clicked)
const { element, message, emit, MEAN } = regard;
const KINDS = ["cross", "encoder", "decoder"];

/**
 * Chromium leaves parts of closed details without a layout if their query container changes its width meanwhile: once
 * opened, they are removed from the layout and put back.
 */
function forceLayout(details) {
  const parts = [...details.children].slice(1); // without the summary, which may have the focus
  for (const part of parts) part.style.display = "none";
  details.getBoundingClientRect();
  for (const part of parts) part.style.display = "";
}

class View {
  #layers = new Map();
  #matrix = null; // of what is chosen, once it is loaded
  #version = 0; // of what is chosen
  #silent = false; // no event for a change made by script

  constructor(container, data, options) {
    Object.assign(this, { container, options, state: { kind: null, layer: null, head: null } });
    const clickable = options.clickable === true;
    this.words = new regard.AlignmentView({
      clickable,
      weightsOf: (side, word) => this.#weightsOf(side, word),
      onActive: (active) => {
        this.map.setActiveWord(active);
        if (!this.#silent) emit(container, "regard:active", active);
      },
      onClick: (word) => emit(container, "regard:word", word),
    });
    this.map = new regard.MapView({ clickable, onRow: (row) => emit(container, "regard:row", { ...this.state, row }) });
    this.kinds = new regard.RadioGroup("segments kinds", "kind", (kind) => this.choose({ kind }));
    this.layers = new regard.RadioGroup("segments layers", "layer", (layer) => this.choose({ layer }));
    this.heads = new regard.HeadPicker((head) => this.choose({ head }));
    this.#build();
    this.onLanguage = () => this.#translate();
    this.onTheme = () => this.#repaint();
    document.addEventListener("regard:language", this.onLanguage);
    document.addEventListener("regard:theme", this.onTheme);
    this.replace(data);
  }

  #build() {
    const note = (name) => element("p", { className: `note ${name}` });
    this.title = element("h2");
    Object.assign(this, { origin: note("origin"), meaning: note("meaning"), packing: note("packing") });
    this.reference = element("p", { className: "reference" });
    this.noMaps = element("p", { className: "note no-maps", data: { message: "noMaps" } });
    this.alignment = element("section", { className: "alignment" },
      element("div", { className: "line" }, this.title, this.origin), this.words.box, this.words.out, this.reference);
    this.attention = element("details", { className: "attention", open: this.options.maps !== false },
      element("summary", {}, element("h2", { data: { message: "attention" } }), this.meaning),
      element("div", { className: "pickers" }, this.kinds.box, this.layers.box),
      element("div", { className: "map-layout" }, this.heads.box, element("div", { className: "map-panel" },
        this.#tools(), this.map.box, this.map.out, this.#legend(), this.packing)));
    this.attention.addEventListener("toggle", () => {
      if (!this.attention.open) return;
      forceLayout(this.attention);
      this.#show();
    });
    this.container.classList.add("regard");
    this.container.replaceChildren(this.alignment, this.noMaps, this.attention);
  }

  #tools() {
    const button = (label, key, onClick) => {
      const node = element("button", { type: "button", data: { messageLabel: key, messageTitle: key } }, label);
      node.addEventListener("click", onClick);
      return node;
    };
    const zoomOut = button("−", "zoomOut", () => this.map.zoomBy(1 / 1.6)), zoomIn = button("+", "zoomIn", () => this.map.zoomBy(1.6));
    const fit = button(element("span", { data: { message: "fit" } }), "fitLong", () => this.map.fit(false));
    this.map.onZoom = ({ isFitted, isLargest }) => { // not `disabled`, which would lose the focus
      for (const [node, off] of [[zoomOut, isFitted], [fit, isFitted], [zoomIn, isLargest]]) node.setAttribute("aria-disabled", String(off));
    };
    const fullScale = element("input", { type: "checkbox" });
    fullScale.addEventListener("change", () => {
      this.map.fullScale = fullScale.checked;
      this.map.repaint();
      this.#paintLegend();
    });
    return element("div", { className: "tools" },
      element("span", { className: "zoom" }, zoomOut, fit, zoomIn),
      element("label", { className: "full-scale" }, fullScale, element("span", { data: { message: "fullScale" } })),
      this.map.mark);
  }

  #legend() {
    this.ramp = element("canvas", { aria: { hidden: "true" } });
    this.max = element("span");
    this.hatch = element("canvas", { className: "hatch", width: 18, height: 10, aria: { hidden: "true" } });
    this.hiddenKey = element("span", { className: "hidden-key" }, this.hatch, element("span", { data: { message: "hidden" } }));
    return element("div", { className: "scale" }, element("span", {}, "0 %"), this.ramp, this.max, this.hiddenKey);
  }

  // ---- choosing a map

  #mapsOf(kind) { return this.data.maps.filter((map) => map.kind === kind); }

  #find(kind, layer) { return this.data.maps.find((map) => map.kind === kind && map.layer === layer); }

  get #chosen() { return this.#find(this.state.kind, this.state.layer); }

  #layer(map) {
    if (!this.#layers.has(map)) this.#layers.set(map, new regard.Layer(this.data, map));
    return this.#layers.get(map);
  }

  /** Whether there is a map of that kind, layer and head. */
  has({ kind = this.state.kind, layer = this.state.layer, head = this.state.head }) {
    const map = this.#find(kind, layer);
    return Boolean(map) && (head === MEAN || map.heads.includes(head));
  }

  /** Keeps the choice where there is such a map, else takes the alignment head or the last layer. */
  #settle() {
    const { state, data } = this;
    if (!this.#mapsOf(state.kind).length) state.kind = KINDS.find((kind) => this.#mapsOf(kind).length) ?? null;
    if (!this.#chosen) {
      const [layer, head] = data.alignmentHead ?? [], aligned = state.kind === "cross" && this.#find("cross", layer);
      state.layer = (aligned || this.#mapsOf(state.kind).at(-1))?.layer ?? null;
      state.head = aligned ? head : (state.head ?? MEAN);
    }
    const heads = this.#chosen?.heads ?? [];
    if (heads.length === 1) [state.head] = heads;
    else if (state.head !== MEAN && !heads.includes(state.head)) state.head = heads.length ? MEAN : null;
  }

  choose(change = {}) {
    const before = { ...this.state }, parts = Object.keys(before);
    for (const part of parts) if (change[part] !== undefined) this.state[part] = change[part];
    this.#settle();
    if (parts.every((part) => before[part] === this.state[part])) return;
    this.#show();
    emit(this.container, "regard:chosen", { ...this.state });
  }

  /** Dims the map with a reason, or shows it normally (null). */
  dim(text) { this.map.dim(text); }

  replace(data) {
    this.data = data;
    this.#layers.clear();
    this.#matrix = null;
    this.#settle();
    this.alignment.hidden = !Object.values(data.sides).some(({ words }) => words.length);
    this.words.show(data);
    this.ready = this.#show();
    this.#translate();
  }

  /** Shows what is chosen; returns a promise of its being drawn. */
  async #show() {
    const map = this.#chosen, version = ++this.#version;
    this.noMaps.hidden = Boolean(map);
    this.attention.hidden = !map;
    if (!map) return;
    const { kind, layer, head } = this.state, current = this.#layer(map);
    this.#matrix = null;
    this.kinds.show(KINDS.filter((name) => this.#mapsOf(name).length), kind, (name) => [element("span", { data: { message: name } }, message(name))]);
    this.layers.show(this.#mapsOf(kind).map((other) => other.layer), layer, (number) => [`${number}`]);
    this.#describe();
    try {
      if (this.attention.open) {
        this.heads.show(current, head);
        await this.map.show(current, head, this.#label());
      }
      const matrix = await current.matrix(head);
      if (version !== this.#version) return;
      this.#matrix = matrix;
      this.#paintLegend();
      this.words.setActive();
    } catch (error) {
      if (version === this.#version) this.packing.textContent = message("broken", { why: error.message });
    }
  }

  // ---- words

  /** Shows what a word attended to, like pointing at it: { side, word } or null. */
  setActive(active) {
    this.#silent = true;
    this.words.setActive(active);
    this.#silent = false;
  }

  /** What a word attended to and what attended to it, in the chosen map. */
  #weightsOf(side, word) {
    const weights = { attended: [], attending: [], complete: true }, matrix = this.#matrix;
    if (!matrix) return weights;
    const list = (sums, axis) => [...sums].map(([other, weight]) => ({ side: axis.side, word: other, weight }));
    if (matrix.rows.side === side) weights.attended = list(regard.attendedWords(matrix, word), matrix.columns);
    if (matrix.columns.side === side) weights.attending = list(regard.attendingWords(matrix, word), matrix.rows);
    weights.complete = matrix.exact;
    const rows = matrix.rows.side === side ? matrix.rows.groups[word] ?? [] : [];
    weights.total = rows.reduce((sum, row) => sum + matrix.rowSum(row), 0) / (rows.length || 1); // NaN: unknown
    return weights;
  }

  // ---- texts and colors

  #label() {
    const { kind, layer, head } = this.state, map = this.#chosen, { axes } = this.data;
    return message("mapLabel", {
      kind: message(kind), layer, head: head === MEAN ? message("meanOfHeads") : message("headNumber", { head }),
      rows: axes[map.rows].tokens.length, columns: axes[map.columns].tokens.length,
    });
  }

  /** The message key for a translation or for a label. */
  #targetKey(key) { return this.data.targetKind === "label" ? `${key}.label` : key; }

  #describe() {
    const map = this.#chosen, single = !this.data.sides.target;
    this.meaning.textContent = map ? message(single ? (map.causal ? "about.causal" : "about.alone") : this.#targetKey(`about.${map.kind}`)) : "";
    const packed = map?.pooled && { count: map.largest.count, factor: map.pooled.factor };
    this.packing.textContent = packed ? message(packed.count > 1 ? "packed" : "packedOne", packed) : "";
    this.packing.hidden = !packed;
  }

  #translate() {
    const { data } = this;
    regard.translate(this.container);
    this.title.textContent = message(data.sides.target ? this.#targetKey("alignment") : "text");
    const [layer, head] = data.alignmentHead ?? [];
    const lines = data.alignmentHead && message("linesFrom", { layer, head }), underlines = data.confidence && message("underlines");
    this.origin.textContent = [data.model && `${data.model}.`, lines, underlines].filter(Boolean).join(" ");
    const reference = data.reference === data.translation ? "referenceSame" : "reference";
    this.reference.textContent = data.reference === null ? "" : message(this.#targetKey(reference), { text: data.reference });
    this.words.translate();
    this.map.setCursor();
    this.#describe();
    if (!this.#chosen) return;
    this.map.box.setAttribute("aria-label", this.#label());
    if (this.attention.open) this.heads.show(this.#layer(this.#chosen), this.state.head);
  }

  #repaint() {
    if (regard.printing || this.printed) { // paper has another width
      this.words.layout();
      this.map.fit(true);
    }
    this.printed = regard.printing;
    this.map.repaint();
    if (this.#chosen && this.attention.open) this.heads.paint();
    this.#paintLegend();
  }

  #paintLegend() {
    const { matrix, max, pattern } = this.map;
    if (!matrix) return;
    regard.paintWeights(this.ramp, Float32Array.from({ length: 101 }, (_, step) => step / 100), 101, 1, regard.colorRamp());
    this.max.textContent = ((matrix.causal && max < 1) || matrix.max > max * 1.001 ? "≥ " : "") + regard.percent(max);
    this.hiddenKey.hidden = !matrix.causal;
    const context = this.hatch.getContext("2d");
    context.fillStyle = pattern;
    context.fillRect(0, 0, 18, 10);
  }

  destroy() {
    document.removeEventListener("regard:language", this.onLanguage);
    document.removeEventListener("regard:theme", this.onTheme);
    this.#version++;
    for (const part of [this.words, this.map, this.heads]) part.destroy();
    this.container.replaceChildren();
    this.container.classList.remove("regard");
  }
}

regard.view = (container, data, options = {}) => new View(container, data, options);
