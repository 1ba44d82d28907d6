// The matrix of one head, or of the mean of all heads: rows are queries, columns are keys.
//   at(row, column)       { weight, exact }: where not exact, the weight is an upper bound
//   eachInRow(row, f), eachInColumn(column, f)   the known weights
//   rowSum(row)           NaN where it is not known
//   levels                squares of growing size, each with its largest weight
//   region(level, x, y, width, height)   the weights of a rectangle of a level's squares
const MEAN = (regard.MEAN = "mean");
const LAST_LEVEL = 128; // the longest side of the last level
const CACHED = { whole: 40, packed: 6 }; // matrices in memory per layer

class Matrix {
  constructor({ rows, columns, width, height, map }) {
    Object.assign(this, { rows, columns, width, height, causal: map.causal, normalized: map.normalized !== false });
  }

  /**
   * The weight of the full color: the largest, but not of the first rows of a causal map, whose
   * weights are always large because they have few keys.
   */
  findMax(maxOfRow) {
    this.max = 0;
    const first = this.causal ? Math.min(32, Math.floor(this.height / 4)) : 0;
    for (let row = first; row < this.height; row++) this.max = Math.max(this.max, maxOfRow(row));
  }

  async buildLevels(base) {
    const levels = [base];
    while (Math.max(levels.at(-1).width, levels.at(-1).height) > LAST_LEVEL) levels.push(await regard.halve(levels.at(-1)));
    return levels;
  }

  region(level, x, y, width, height) {
    const weights = new Float32Array(width * height);
    if (level) this.#pooledRegion(this.levels[level], weights, x, y, width, height);
    else this.exactRegion(weights, x, y, width, height);
    return weights;
  }

  #pooledRegion({ width: stride, bytes, scale = 1 }, weights, x, y, width, height) {
    for (let row = 0; row < height; row++)
      for (let column = 0, from = (y + row) * stride + x; column < width; column++)
        weights[row * width + column] = scale * regard.BYTE_WEIGHTS[bytes[from + column]];
  }
}

class WholeMatrix extends Matrix {
  exact = true;

  constructor(layer, values) {
    super(layer);
    this.values = values;
    this.findMax((row) => this.#row(row).reduce((max, value) => Math.max(max, value), 0));
  }

  #row(row) { return this.values.subarray(row * this.width, (row + 1) * this.width); }

  async build() {
    const { values, width, height } = this, scale = values.reduce((max, value) => Math.max(max, value), 1);
    const bytes = new Uint8Array(values.length);
    for (let index = 0; index < bytes.length; index++) bytes[index] = Math.ceil(Math.sqrt(values[index] / scale) * 255);
    this.levels = await this.buildLevels({ factor: 1, width, height, bytes, scale });
    return this;
  }

  at(row, column) { return { weight: this.values[row * this.width + column], exact: true }; }

  rowSum(row) { return this.#row(row).reduce((sum, value) => sum + value, 0); }

  eachInRow(row, visit) { this.#row(row).forEach((weight, column) => visit(column, weight)); }

  eachInColumn(column, visit) {
    for (let row = 0; row < this.height; row++) visit(row, this.values[row * this.width + column]);
  }

  exactRegion(weights, x, y, width, height) {
    for (let row = 0; row < height; row++) weights.set(this.#row(y + row).subarray(x, x + width), row * width);
  }
}

class PackedMatrix extends Matrix {
  exact = false;

  /** `columns` and `largest` are the largest weights of each row, `base` is the first pooled level. */
  constructor(layer, columns, largest, base) {
    super(layer);
    Object.assign(this, { count: layer.map.largest.count, largestColumns: columns, largest, base });
  }

  async build() {
    const known = (row) => this.largest.subarray(row * this.count, (row + 1) * this.count);
    this.findMax((row) => Math.max(...known(row)));
    this.bounds = new Float32Array(this.height); // of each row's other weights: its smallest known one
    if (this.count < this.width) for (let row = 0; row < this.height; row++) this.bounds[row] = Math.min(...known(row));
    await regard.yieldToBrowser();
    this.levels = [{ factor: 1, width: this.width, height: this.height }, ...(await this.buildLevels(this.base))];
    return this;
  }

  rowSum() { return this.normalized ? 1 : NaN; }

  /** An upper bound of a weight that is not among the largest. */
  #bound(row, column) {
    const { factor, width, bytes, scale } = this.base;
    const square = scale * regard.BYTE_WEIGHTS[bytes[Math.floor(row / factor) * width + Math.floor(column / factor)]];
    return Math.min(square, this.bounds[row]);
  }

  at(row, column) {
    let known;
    this.eachInRow(row, (other, weight) => { if (other === column) known = weight; });
    if (known !== undefined) return { weight: known, exact: true };
    const weight = this.#bound(row, column);
    return { weight, exact: weight === 0 };
  }

  eachInRow(row, visit) {
    for (let index = row * this.count; index < (row + 1) * this.count; index++) visit(this.largestColumns[index], this.largest[index]);
  }

  eachInColumn(column, visit) {
    this.largestColumns.forEach((other, index) => {
      if (other === column) visit(Math.floor(index / this.count), this.largest[index]);
    });
  }

  exactRegion(weights, x, y, width, height) {
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) weights[row * width + column] = this.#bound(y + row, x + column);
      this.eachInRow(y + row, (column, weight) => {
        if (column >= x && column < x + width) weights[row * width + column - x] = weight;
      });
    }
  }
}

/** The maps of one kind and layer, decoded head by head when they are needed. */
regard.Layer = class {
  #matrices = new Map();
  #bases = new Map();

  constructor(data, map) {
    Object.assign(this, { map, rows: data.axes[map.rows], columns: data.axes[map.columns] });
    this.height = this.rows.tokens.length;
    this.width = this.columns.tokens.length;
    this.heads = map.heads.length > 1 ? [MEAN, ...map.heads] : [...map.heads];
  }

  #index(head) { return head === MEAN ? this.map.heads.length : this.map.heads.indexOf(head); }

  /** The weight of the largest number in a head's map. */
  #scale(head) { return this.map.scales?.[this.#index(head)] ?? 1; }

  /** A promise of a head's matrix; the last used ones are cached. */
  matrix(head) {
    const cached = this.#matrices.get(head);
    this.#matrices.delete(head);
    this.#matrices.set(head, cached ?? (this.map.whole ? this.#whole(head) : this.#packed(head)));
    if (this.#matrices.size > (this.map.whole ? CACHED.whole : CACHED.packed)) this.#matrices.delete(this.#matrices.keys().next().value);
    return this.#matrices.get(head);
  }

  async #whole(head) {
    const heads = head === MEAN ? this.map.heads : [head];
    const values = new Float32Array(this.width * this.height);
    for (const part of heads) {
      const numbers = await regard.numbers(this.map.whole[this.#index(part)], Uint16Array);
      const step = this.#scale(part) / 65535 / heads.length;
      for (let index = 0; index < values.length; index++) values[index] += numbers[index] * step;
    }
    return new WholeMatrix(this, values).build();
  }

  async #packed(head) {
    const { largest } = this.map, index = this.#index(head), base = await this.#base(head);
    const columns = await regard.numbers(largest.columns[index], Uint16Array);
    const weights = await regard.numbers(largest.weights[index], Float32Array);
    return new PackedMatrix(this, columns, weights, base).build();
  }

  /** The first pooled level of a packed head. */
  #base(head) {
    const { factor, cells } = this.map.pooled;
    const read = async () => ({
      factor, width: Math.ceil(this.width / factor), height: Math.ceil(this.height / factor),
      bytes: await regard.numbers(cells[this.#index(head)], Uint8Array), scale: this.#scale(head),
    });
    if (!this.#bases.has(head)) this.#bases.set(head, read());
    return this.#bases.get(head);
  }

  /** A level of at most `side` squares per side. */
  async thumbnail(head, side) {
    let level = this.map.whole ? (await this.matrix(head)).levels[0] : await this.#base(head);
    while (Math.max(level.width, level.height) > side) level = await regard.halve(level);
    return level;
  }

  /** The entropy of each row of a head, in bits. */
  async entropies(head) {
    this.steps ??= regard.numbers(this.map.entropy.rows, Uint16Array);
    const steps = await this.steps, start = this.#index(head) * this.height, scale = this.map.entropy.max / 65535;
    return Float32Array.from(steps.subarray(start, start + this.height), (step) => step * scale);
  }

  /** The mean entropy of a head's rows, without rows that attend to nothing. */
  async meanEntropy(head) {
    const rows = await this.entropies(head), count = this.map.entropy.numFilled?.[this.#index(head)] ?? rows.length;
    return rows.reduce((sum, bits) => sum + bits, 0) / Math.max(count, 1);
  }
};
