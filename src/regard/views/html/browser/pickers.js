// Radio buttons for kinds, layers and heads; each head has a thumbnail and its mean entropy.
const { element } = regard;
const MANY = 13; // heads from which on thumbnails are smaller
const SIDE = 96; // squares of a thumbnail at most
let groups = 0;

/** A group of radio buttons; `label(value)` returns what is shown for each. */
regard.RadioGroup = class {
  constructor(className, legend, onChange) {
    this.name = `regard-${legend}-${groups++}`;
    this.onChange = onChange;
    this.legend = element("legend", { data: { message: legend } }, regard.message(legend));
    this.box = element("fieldset", { className, data: { picker: legend } }, this.legend);
  }

  show(values, selected, label) {
    const focused = this.box.contains(document.activeElement);
    this.inputs = new Map();
    this.box.replaceChildren(this.legend, ...values.map((value) => {
      const input = element("input", { type: "radio", name: this.name, value, checked: value === selected });
      input.addEventListener("change", () => this.onChange(value));
      this.inputs.set(value, input);
      return element("label", {}, input, ...label(value));
    }));
    this.box.hidden = values.length < 2;
    if (focused) this.inputs.get(selected)?.focus();
  }

  /** Selects another one of the same values. */
  select(value) {
    const input = this.inputs?.get(value);
    if (input && !input.checked) input.checked = true;
  }
};

regard.HeadPicker = class {
  #version = 0; // of the thumbnails, so that outdated painting stops
  #thumbnails = new Map();

  constructor(onChange) { this.radios = new regard.RadioGroup("heads", "head", onChange); }

  get box() { return this.radios.box; }

  show(layer, selected) {
    if (this.layer === layer && this.language === regard.language) {
      this.radios.select(selected);
      return;
    }
    Object.assign(this, { layer, language: regard.language });
    this.#thumbnails.clear();
    this.box.classList.toggle("many", layer.heads.length > MANY);
    this.radios.show(layer.heads, selected, (head) => {
      const canvas = element("canvas", { width: 1, height: 1, aria: { hidden: "true" } });
      canvas.style.aspectRatio = `${Math.max(layer.width, layer.height / 2)} / ${Math.max(layer.height, layer.width / 4)}`;
      const entropy = element("small");
      this.#thumbnails.set(head, { canvas, entropy });
      return [canvas, element("span", {}, head === regard.MEAN ? regard.message("mean") : `${head}`), entropy];
    });
    this.paint();
  }

  /** Paints the thumbnails; one that cannot be read stays empty, and its map says why. */
  paint() {
    for (const { repaint } of this.#thumbnails.values()) repaint?.(); // at once, as printing needs it
    this.#paintAll().catch(() => {});
  }

  async #paintAll() {
    const version = ++this.#version, { layer } = this;
    for (const [head, thumbnail] of this.#thumbnails) {
      const level = await layer.thumbnail(head, SIDE), bits = await layer.meanEntropy(head);
      if (version !== this.#version) return;
      const weights = Float32Array.from(level.bytes, (byte) => regard.BYTE_WEIGHTS[byte]), max = Math.max(...weights);
      thumbnail.repaint = () => regard.paintWeights(thumbnail.canvas, weights, level.width, max, regard.colorRamp());
      thumbnail.repaint();
      thumbnail.entropy.textContent = regard.message("bits", { bits: bits.toFixed(1) });
      await regard.yieldToBrowser();
    }
  }

  destroy() { this.#version++; }
};

/** Radio buttons for the language and the theme of a page. */
regard.pageSwitches = () => {
  const language = new regard.RadioGroup("segments", "language", regard.setLanguage);
  language.show(["en", "zh"], regard.language, (code) => [element("span", { lang: code }, { en: "English", zh: "中文" }[code])]);
  const theme = new regard.RadioGroup("segments", "theme", regard.setTheme);
  theme.show(["auto", "light", "dark"], regard.theme, (name) => [element("span", { data: { message: `theme.${name}` } })]);
  return [language.box, theme.box];
};
