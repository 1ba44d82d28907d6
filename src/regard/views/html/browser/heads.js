"use strict";
(() => {
  // Choosing among kinds, layers and heads; each head with a small picture and how widely it looks.
  const regard = (window.regard ??= {});
  const { element } = regard;
  const MANY = 13; // heads from which on their pictures are smaller
  const SIDE = 96; // squares of a thumbnail at most
  let groups = 0;

  /** Radio buttons: `label(value)` gives what stands beside each. */
  regard.Choice = class {
    constructor(className, legend, choose) {
      this.name = `regard-${legend}-${groups++}`;
      this.choose = choose;
      const name = element("legend", { data: { say: legend } }, regard.say(legend));
      this.box = element("fieldset", { className, data: { choose: legend } }, name);
    }

    show(values, chosen, label) {
      const focused = this.box.contains(document.activeElement);
      const [legend] = this.box.children;
      this.inputs = new Map();
      this.box.replaceChildren(legend, ...values.map((value) => {
        const input = element("input", { type: "radio", name: this.name, value, checked: value === chosen });
        input.addEventListener("change", () => this.choose(value));
        this.inputs.set(value, input);
        return element("label", {}, input, ...label(value));
      }));
      this.box.hidden = values.length < 2;
      if (focused) this.inputs.get(chosen)?.focus();
    }

    /** Another one chosen among the same. */
    check(value) {
      const input = this.inputs?.get(value);
      if (input && !input.checked) input.checked = true;
    }
  };

  regard.Heads = class {
    #number = 0;
    #pictures = new Map();

    constructor(choose) { this.choice = new regard.Choice("heads", "head", choose); }

    get box() { return this.choice.box; }

    show(layer, chosen) {
      if (this.layer === layer && this.language === regard.language) {
        this.choice.check(chosen);
        return;
      }
      Object.assign(this, { layer, language: regard.language });
      this.#pictures.clear();
      this.box.classList.toggle("many", layer.heads.length > MANY);
      this.choice.show(layer.heads, chosen, (head) => {
        const canvas = element("canvas", { width: 1, height: 1, aria: { hidden: "true" } });
        canvas.style.aspectRatio = `${Math.max(layer.width, layer.height / 2)} / ${Math.max(layer.height, layer.width / 4)}`;
        const bits = element("small");
        this.#pictures.set(head, { canvas, bits });
        return [canvas, element("span", {}, head === regard.MEAN ? regard.say("mean") : `${head}`), bits];
      });
      this.paint();
    }

    /** Paints the pictures; one that cannot be read stays empty, and its map says why. */
    paint() {
      const ramp = regard.ramp();
      for (const { again } of this.#pictures.values()) again?.(ramp); // at once, as a printer needs it
      this.#paint().catch(() => {});
    }

    /** One head after the other, some of the time of each frame. */
    async #paint() {
      const number = ++this.#number, { layer } = this, ramp = regard.ramp();
      for (const [head, { canvas, bits }] of this.#pictures) {
        const level = await layer.small(head, SIDE), mean = await layer.meanBits(head);
        if (number !== this.#number) return;
        const weights = Float32Array.from(level.bytes, (byte) => regard.WEIGHTS[byte]);
        const most = weights.reduce((found, one) => Math.max(found, one), 0);
        this.#pictures.get(head).again = (colours) => regard.paint(canvas, weights, level.width, most, colours);
        regard.paint(canvas, weights, level.width, most, ramp);
        bits.textContent = regard.say("bits", { bits: mean.toFixed(1) });
        await regard.breathe();
      }
    }

    destroy() { this.#number++; }
  };
})();
