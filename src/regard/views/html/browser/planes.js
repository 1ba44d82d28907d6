"use strict";
(() => {
  // A plane is one head's map, or the mean of all heads. A row looks, a column is looked at.
  //   at(row, column)       { weight, exact }: where not exact, the weight is at most that
  //   eachInRow(row, f), eachInColumn(column, f)   the weights that are known
  //   levels                squares of growing size, each with its largest weight
  //   weights(level, x, y, across, down)   of a rectangle of a level's squares
  const regard = (window.regard ??= {});
  const MEAN = (regard.MEAN = "mean");
  const SMALLEST = 128; // side of the last level
  const KEPT = { whole: 40, packed: 6 }; // planes in memory of each layer

  async function pyramid(base) {
    const levels = [base];
    while (Math.max(levels.at(-1).width, levels.at(-1).height) > SMALLEST) levels.push(await regard.halved(levels.at(-1)));
    return levels;
  }

  /** The weights of a rectangle of a pooled level. */
  function pooledWeights({ width, bytes, scale = 1 }, x, y, across, down) {
    const found = new Float32Array(across * down), table = regard.WEIGHTS;
    for (let row = 0; row < down; row++)
      for (let column = 0, from = (y + row) * width + x; column < across; column++)
        found[row * across + column] = scale * table[bytes[from + column]];
    return found;
  }

  /** What every plane of a layer has. */
  const placed = ({ rows, columns, width, height, map }) => ({ rows, columns, width, height, causal: map.causal, normal: map.normal !== false });

  /**
   * The weight that has the full colour: the largest, but not of the first rows of a causal map,
   * which see so little that their weights are always large.
   */
  function loudest({ height, causal }, mostOfRow) {
    let most = 0;
    for (let row = causal ? Math.min(32, Math.floor(height / 4)) : 0; row < height; row++) most = Math.max(most, mostOfRow(row));
    return most;
  }

  class WholePlane {
    exact = true;

    constructor(layer, values) {
      Object.assign(this, placed(layer), { values });
      const { width } = this;
      this.most = loudest(this, (row) => values.subarray(row * width, (row + 1) * width).reduce((most, value) => Math.max(most, value), 0));
    }

    async build() {
      const bytes = new Uint8Array(this.values.length);
      const scale = this.values.reduce((most, value) => Math.max(most, value), 1);
      for (let place = 0; place < bytes.length; place++) bytes[place] = Math.ceil(Math.sqrt(this.values[place] / scale) * 255);
      this.levels = await pyramid({ factor: 1, width: this.width, height: this.height, bytes, scale });
      return this;
    }

    at(row, column) { return { weight: this.values[row * this.width + column], exact: true }; }

    /** The sum of a row. */
    total(row) { return this.values.subarray(row * this.width, (row + 1) * this.width).reduce((sum, value) => sum + value, 0); }

    eachInRow(row, tell) {
      for (let column = 0; column < this.width; column++) tell(column, this.values[row * this.width + column]);
    }

    eachInColumn(column, tell) {
      for (let row = 0; row < this.height; row++) tell(row, this.values[row * this.width + column]);
    }

    weights(level, x, y, across, down) {
      if (level) return pooledWeights(this.levels[level], x, y, across, down);
      const found = new Float32Array(across * down);
      for (let row = 0; row < down; row++) {
        const from = (y + row) * this.width + x;
        found.set(this.values.subarray(from, from + across), row * across);
      }
      return found;
    }
  }

  class PackedPlane {
    exact = false;

    constructor(layer, places, largest, base) {
      Object.assign(this, placed(layer), { count: layer.map.largest.count, places, largest, base });
    }

    async build() {
      this.floor = new Float32Array(this.height); // the least of the weights known of each row
      const known = (row) => this.largest.subarray(row * this.count, (row + 1) * this.count);
      this.most = loudest(this, (row) => Math.max(...known(row)));
      if (this.count < this.width) for (let row = 0; row < this.height; row++) this.floor[row] = Math.min(...known(row));
      await regard.breathe();
      const cells = { factor: 1, width: this.width, height: this.height };
      this.levels = [cells, ...(await pyramid(this.base))];
      return this;
    }

    /** The sum of a row, where it is known. */
    total() { return this.normal ? 1 : NaN; }

    at(row, column) {
      for (let place = row * this.count; place < (row + 1) * this.count; place++)
        if (this.places[place] === column) return { weight: this.largest[place], exact: true };
      const { factor, width, bytes, scale } = this.base;
      const square = scale * regard.WEIGHTS[bytes[Math.floor(row / factor) * width + Math.floor(column / factor)]];
      const weight = Math.min(square, this.floor[row]);
      return { weight, exact: weight === 0 };
    }

    eachInRow(row, tell) {
      for (let place = row * this.count; place < (row + 1) * this.count; place++) tell(this.places[place], this.largest[place]);
    }

    eachInColumn(column, tell) {
      const { places, count, largest } = this;
      for (let place = 0; place < places.length; place++)
        if (places[place] === column) tell(Math.floor(place / count), largest[place]);
    }

    weights(level, x, y, across, down) {
      if (level) return pooledWeights(this.levels[level], x, y, across, down);
      const found = new Float32Array(across * down), { factor, width, bytes, scale } = this.base;
      for (let row = 0; row < down; row++) {
        const here = y + row, squares = Math.floor(here / factor) * width, floor = this.floor[here];
        for (let column = 0; column < across; column++) {
          const square = scale * regard.WEIGHTS[bytes[squares + Math.floor((x + column) / factor)]];
          found[row * across + column] = square < floor ? square : floor;
        }
        for (let place = here * this.count; place < (here + 1) * this.count; place++) {
          const column = this.places[place] - x;
          if (column >= 0 && column < across) found[row * across + column] = this.largest[place];
        }
      }
      return found;
    }
  }

  /** The maps of one kind and layer, decoded head by head when they are asked for. */
  regard.Layer = class {
    #planes = new Map();
    #bases = new Map();

    constructor(shown, map) {
      Object.assign(this, { map, rows: shown.axes[map.rows], columns: shown.axes[map.columns] });
      this.height = this.rows.tokens.length;
      this.width = this.columns.tokens.length;
      this.heads = map.heads.length > 1 ? [MEAN, ...map.heads] : [...map.heads];
    }

    #place(head) { return head === MEAN ? this.map.heads.length : this.map.heads.indexOf(head); }

    /** The weight that the largest number of a head's map stands for. */
    #scale(head) { return this.map.most?.[this.#place(head)] ?? 1; }

    plane(head) {
      const kept = this.#planes.get(head);
      this.#planes.delete(head);
      this.#planes.set(head, kept ?? (this.map.whole ? this.#whole(head) : this.#packed(head)));
      if (this.#planes.size > (this.map.whole ? KEPT.whole : KEPT.packed)) this.#planes.delete(this.#planes.keys().next().value);
      return this.#planes.get(head);
    }

    async #whole(head) {
      const heads = head === MEAN ? this.map.heads : [head];
      const values = new Float32Array(this.width * this.height);
      for (const one of heads) {
        const numbers = await regard.numbers(this.map.whole[this.#place(one)], Uint16Array);
        const step = this.#scale(one) / 65535 / heads.length;
        for (let place = 0; place < values.length; place++) values[place] += numbers[place] * step;
      }
      return new WholePlane(this, values).build();
    }

    async #packed(head) {
      const { largest } = this.map, place = this.#place(head), base = await this.#base(head);
      const places = await regard.numbers(largest.columns[place], Uint16Array);
      const weights = await regard.numbers(largest.weights[place], Float32Array);
      return new PackedPlane(this, places, weights, base).build();
    }

    /** The first pooled level of a packed head. */
    #base(head) {
      const { factor, cells } = this.map.pooled;
      const read = async () => ({
        factor, width: Math.ceil(this.width / factor), height: Math.ceil(this.height / factor),
        bytes: await regard.numbers(cells[this.#place(head)], Uint8Array), scale: this.#scale(head),
      });
      if (!this.#bases.has(head)) this.#bases.set(head, read());
      return this.#bases.get(head);
    }

    /** A level of at most `side` squares a side: for a thumbnail. */
    async small(head, side) {
      let level = this.map.whole ? (await this.plane(head)).levels[0] : await this.#base(head);
      while (Math.max(level.width, level.height) > side) level = await regard.halved(level);
      return level;
    }

    /** The mean entropy of a head's rows, in bits; rows that see nothing count nowhere. */
    async meanBits(head) {
      const all = await this.bits(head), count = this.map.entropy.seeing?.[this.#place(head)] ?? all.length;
      return all.reduce((sum, one) => sum + one, 0) / Math.max(count, 1);
    }

    /** Of each row of a head's map, the entropy in bits. */
    async bits(head) {
      this.entropies ??= regard.numbers(this.map.entropy.rows, Uint16Array);
      const all = await this.entropies, place = this.#place(head), step = this.map.entropy.most / 65535;
      return Float32Array.from(all.subarray(place * this.height, (place + 1) * this.height), (value) => value * step);
    }
  };
})();
