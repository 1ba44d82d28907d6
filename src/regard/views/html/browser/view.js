"use strict";
(() => {
  // One text: its words and links, and the maps by kind, layer and head.
  //   regard.view(container, shown, { maps, clickable })
  //     maps: false begins with the maps closed; clickable: true makes words and rows look so
  //   .state { kind, layer, head }, .choose(change), .has(choice), .ask(word), .replace(shown), .dim(text), .destroy(), .ready
  //   events of the container: regard:chosen { kind, layer, head }, regard:asked { strip, place } or null,
  //   regard:word { strip, place }, regard:row { kind, layer, head, row }
  const regard = (window.regard ??= {});
  const { element, say, emit, MEAN } = regard;
  const KINDS = ["cross", "encoder", "decoder"];

  /**
   * Chromium leaves parts of closed details without a layout for good if their container, which is asked for its
   * width, changes it meanwhile: once opened, they are taken out and put back.
   */
  function layAnew(details) {
    const parts = [...details.children].slice(1); // behind the summary, which may have the focus
    for (const one of parts) one.style.display = "none";
    details.getBoundingClientRect();
    for (const one of parts) one.style.display = "";
  }

  class View {
    #layers = new Map();
    #plane = null; // of what is chosen, when it is there
    #asking = 0;

    constructor(container, shown, options) {
      Object.assign(this, { container, options, state: { kind: null, layer: null, head: null } });
      const clickable = options.clickable === true;
      this.stage = new regard.Stage({
        clickable,
        weigh: (strip, place) => this.#weigh(strip, place),
        asked: (asked) => this.#asked(asked),
        pressed: (at) => emit(container, "regard:word", at),
      });
      this.map = new regard.MapView({ clickable, pressed: (row) => emit(container, "regard:row", { ...this.state, row }) });
      this.kinds = new regard.Choice("segments kinds", "kind", (kind) => this.choose({ kind }));
      this.layers = new regard.Choice("segments layers", "layer", (layer) => this.choose({ layer }));
      this.heads = new regard.Heads((head) => this.choose({ head }));
      this.#build();
      this.onLanguage = () => this.#reword();
      this.onTheme = () => this.#repaint();
      document.addEventListener("regard:language", this.onLanguage);
      document.addEventListener("regard:theme", this.onTheme);
      this.replace(shown);
    }

    #build() {
      const note = (name) => element("p", { className: `note ${name}` });
      this.title = element("h2");
      Object.assign(this, { origin: note("origin"), meaning: note("meaning"), packing: note("packing") });
      this.reference = element("p", { className: "reference" });
      this.none = element("p", { className: "note none", data: { say: "noMaps" } });
      this.alignment = element("section", { className: "alignment" },
        element("div", { className: "line" }, this.title, this.origin), this.stage.box, this.stage.out, this.reference);
      this.attention = element("details", { className: "attention", open: this.options.maps !== false },
        element("summary", {}, element("h2", { data: { say: "attention" } }), this.meaning),
        element("div", { className: "choosers" }, this.kinds.box, this.layers.box),
        element("div", { className: "board" }, this.heads.box, element("div", { className: "mapside" },
          this.#tools(), this.map.box, this.map.out, this.#legend(), this.packing)));
      this.attention.addEventListener("toggle", () => {
        if (!this.attention.open) return;
        layAnew(this.attention);
        this.#show();
      });
      this.container.classList.add("regard");
      this.container.replaceChildren(this.alignment, this.none, this.attention);
    }

    #tools() {
      const button = (text, key, act) => {
        const made = element("button", { type: "button", data: { sayLabel: key, sayTitle: key } }, text);
        made.addEventListener("click", act);
        return made;
      };
      const further = button("−", "zoomOut", () => this.map.nearer(1 / 1.6)), nearer = button("+", "zoomIn", () => this.map.nearer(1.6));
      const fit = button("", "fitLong", () => this.map.fit(false));
      this.map.onZoomed = ({ fitted, nearest }) => { // not `disabled`: what has the focus keeps it
        for (const [one, off] of [[further, fitted], [fit, fitted], [nearer, nearest]]) one.setAttribute("aria-disabled", String(off));
      };
      fit.append(element("span", { data: { say: "fit" } }));
      const full = element("input", { type: "checkbox" });
      full.addEventListener("change", () => {
        this.map.full = full.checked;
        this.map.repaint();
        this.#paintLegend();
      });
      return element("div", { className: "tools" },
        element("span", { className: "zoom" },
          further, fit, nearer),
        element("label", { className: "full" }, full, element("span", { data: { say: "fullScale" } })),
        this.map.mark);
    }

    #legend() {
      this.ramp = element("canvas", { aria: { hidden: "true" } });
      this.most = element("span");
      this.hatch = element("canvas", { className: "hatch", width: 18, height: 10, aria: { hidden: "true" } });
      this.hiddenKey = element("span", { className: "hidden-key" }, this.hatch, element("span", { data: { say: "hidden" } }));
      return element("div", { className: "scale" }, element("span", {}, "0 %"), this.ramp, this.most, this.hiddenKey);
    }

    // ---- what there is

    #mapsOf(kind) { return this.shown.maps.filter((map) => map.kind === kind); }

    get #chosen() { return this.shown.maps.find((map) => map.kind === this.state.kind && map.layer === this.state.layer); }

    #layer(map) {
      if (!this.#layers.has(map)) this.#layers.set(map, new regard.Layer(this.shown, map));
      return this.#layers.get(map);
    }

    /** Whether there is a map of that kind, layer and head. */
    has({ kind = this.state.kind, layer = this.state.layer, head = this.state.head }) {
      const map = this.shown.maps.find((one) => one.kind === kind && one.layer === layer);
      return Boolean(map) && (head === MEAN || map.heads.includes(head));
    }

    /** Keeps what was chosen where there is such a map, else takes the aligner's or the last layer. */
    #settle() {
      const { state, shown } = this;
      if (!this.#mapsOf(state.kind).length) state.kind = KINDS.find((kind) => this.#mapsOf(kind).length) ?? null;
      const maps = this.#mapsOf(state.kind), aligner = shown.alignedBy;
      if (!this.#chosen) {
        const usual = state.kind === "cross" && maps.find((map) => map.layer === aligner?.[0]);
        state.layer = (usual || maps.at(-1))?.layer ?? null;
        state.head = usual ? aligner[1] : (state.head ?? MEAN);
      }
      const heads = this.#chosen?.heads ?? [];
      if (heads.length === 1) [state.head] = heads;
      else if (state.head !== MEAN && !heads.includes(state.head)) state.head = heads.length ? MEAN : null;
    }

    // ---- choosing

    choose(change = {}) {
      const before = { ...this.state };
      for (const part of ["kind", "layer", "head"]) if (change[part] !== undefined) this.state[part] = change[part];
      this.#settle();
      const same = ["kind", "layer", "head"].every((part) => before[part] === this.state[part]);
      if (same) return;
      this.#show();
      emit(this.container, "regard:chosen", { ...this.state });
    }

    /** Dims the map and says why (a text), or shows it as ever (null). */
    dim(text) { this.map.dim(text); }

    replace(shown) {
      this.shown = shown;
      this.#layers.clear();
      this.#plane = null;
      this.#settle();
      this.alignment.hidden = !Object.values(shown.strips).some((strip) => strip.words.length);
      this.stage.show(shown);
      this.ready = this.#show();
      this.#reword();
    }

    /** Shows what is chosen; gives a promise of its being drawn. */
    async #show() {
      const map = this.#chosen, number = ++this.#asking;
      this.none.hidden = Boolean(map);
      this.attention.hidden = !map;
      if (!map) return;
      const { kind, layer, head } = this.state, found = this.#layer(map);
      this.#plane = null;
      this.kinds.show(KINDS.filter((one) => this.#mapsOf(one).length), kind, (one) => [element("span", { data: { say: one } }, say(one))]);
      this.layers.show(this.#mapsOf(kind).map((one) => one.layer), layer, (one) => [`${one}`]);
      this.#describe();
      try {
        if (this.attention.open) {
          this.heads.show(found, head);
          await this.map.show(found, head, this.#label());
        }
        const plane = await found.plane(head);
        if (number !== this.#asking) return;
        this.#plane = plane;
        this.#paintLegend();
        this.stage.ask();
      } catch (error) {
        if (number === this.#asking) this.packing.textContent = say("broken", { why: error.message });
      }
    }

    #label() {
      const { kind, layer, head } = this.state, map = this.#chosen, { axes } = this.shown;
      return say("mapLabel", {
        kind: say(kind), layer, head: head === MEAN ? say("meanOfHeads") : say("headNumber", { head }),
        rows: axes[map.rows].tokens.length, columns: axes[map.columns].tokens.length,
      });
    }

    /** The key of what is said, of a translation or of a label. */
    #of(key) { return this.shown.wrote === "label" ? `${key}.label` : key; }

    #describe() {
      const map = this.#chosen, alone = !this.shown.strips.target;
      this.meaning.textContent = map ? say(alone ? (map.causal ? "about.causal" : "about.alone") : this.#of(`about.${map.kind}`)) : "";
      const packed = map?.pooled && { count: map.largest.count, factor: map.pooled.factor };
      this.packing.textContent = packed ? say(packed.count > 1 ? "packed" : "packedOne", packed) : "";
      this.packing.hidden = !packed;
    }

    // ---- words

    /** Shows what a word looked at, as pointing at it does: { strip, place } or null. */
    ask(asked) {
      this.told = true; // it was told to: others need not hear of it
      this.stage.ask(asked);
      this.told = false;
    }

    #asked(asked) {
      this.map.ask(asked);
      if (!this.told) emit(this.container, "regard:asked", asked);
    }

    /** What a word looked at and what looked at it, in the chosen map. */
    #weigh(strip, place) {
      const found = { to: [], by: [], all: true }, plane = this.#plane;
      if (!plane) return found;
      const list = (sums, axis) => [...sums].map(([word, weight]) => ({ strip: axis.strip, place: word, weight }));
      if (plane.rows.strip === strip) found.to = list(regard.lookedAt(plane, place), plane.columns);
      if (plane.columns.strip === strip) found.by = list(regard.seenBy(plane, place), plane.rows);
      found.all = plane.exact;
      const rows = plane.rows.strip === strip ? plane.rows.groups[place] ?? [] : [];
      found.total = rows.reduce((sum, row) => sum + plane.total(row), 0) / (rows.length || 1); // NaN: not known
      return found;
    }

    // ---- words and colours of the page

    #reword() {
      const { shown } = this, by = shown.alignedBy;
      regard.wordAll(this.container);
      this.title.textContent = say(shown.strips.target ? this.#of("alignment") : "text");
      const from = by && say("linesFrom", { layer: by[0], head: by[1] }), sure = shown.confidence && say("underlines");
      this.origin.textContent = [shown.model && `${shown.model}.`, from, sure].filter(Boolean).join(" ");
      const told = shown.reference === shown.translation ? say(this.#of("referenceSame")) : say(this.#of("reference"), { text: shown.reference });
      this.reference.textContent = shown.reference === null ? "" : told;
      this.stage.reword();
      this.map.tell();
      this.#describe();
      if (!this.#chosen) return;
      this.map.box.setAttribute("aria-label", this.#label());
      if (this.attention.open) this.heads.show(this.#layer(this.#chosen), this.state.head);
    }

    #repaint() {
      if (regard.printing || this.printed) { // paper has a width of its own
        this.stage.layout();
        this.map.fit(true);
      }
      this.printed = regard.printing;
      this.map.repaint();
      if (this.#chosen && this.attention.open) this.heads.paint();
      this.#paintLegend();
    }

    #paintLegend() {
      const plane = this.map.plane;
      if (!plane) return;
      regard.paint(this.ramp, Float32Array.from({ length: 101 }, (_, place) => place / 100), 101, 1, regard.ramp());
      this.most.textContent = ((plane.causal && this.map.most < 1) || plane.most > this.map.most * 1.001 ? "≥ " : "") + regard.percent(this.map.most);
      this.hiddenKey.hidden = !plane.causal;
      const pen = this.hatch.getContext("2d");
      pen.fillStyle = pen.createPattern(this.map.hatchTile, "repeat");
      pen.fillRect(0, 0, 18, 10);
    }

    destroy() {
      document.removeEventListener("regard:language", this.onLanguage);
      document.removeEventListener("regard:theme", this.onTheme);
      this.#asking++;
      for (const part of [this.stage, this.map, this.heads]) part.destroy();
      this.container.replaceChildren();
      this.container.classList.remove("regard");
    }
  }

  regard.view = (container, shown, options = {}) => new View(container, shown, options);
})();
