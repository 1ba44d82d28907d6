// The picture of each step: vectors as cells, scores as dots, the context as a stack of weighted values.
const { element, message, numberText } = regard;
const SCORES = ["raw scores", "scaled", "capped", "energies", "biased", "masked"];
const WEIGHTED = 0.4; // of the width: labels with weights
const LINES = 17, NARROW = 22; // lines of a vector whose cells have numbers, and the pixels of such a cell

/** A heading above a grid of numbers, and the readout below it. */
function block(grid, caption = "", { quiet = false } = {}) {
  const parts = [caption && element("p", { className: "caption" }, caption), grid.box, !quiet && grid.out];
  return element("div", { className: "block" }, ...parts.filter(Boolean));
}

/** A vector in lines: with numbers if there is room, else as small cells. */
function vectorGrid(values, width, label, { small = false } = {}) {
  const lengths = [64, 32, 16, 8].filter((length) => (width - 50) / length >= NARROW && length <= values.length);
  const fitting = lengths.find((length) => Math.ceil(values.length / length) <= LINES);
  const length = !small && fitting ? fitting : Math.min(values.length, width > 560 ? 64 : 32);
  const numRows = Math.ceil(values.length / length);
  return new regard.NumberGrid({
    values, numRows, numColumns: length, label, rows: numRows > 1 ? Array.from({ length: numRows }, (_, row) => `${row * length}`) : null, columns: null,
    readout: (row, column) => message("feature", { number: row * length + column, value: numberText(values[row * length + column], 4) }),
  });
}

/** Draws steps for a position; `show` returns the parts of the picture. */
regard.Pictures = class {
  #grids = [];

  constructor(list) { this.list = list; }

  clear() {
    for (const grid of this.#grids) grid.destroy();
    this.#grids = [];
  }

  repaint() { for (const grid of this.#grids) grid.setCursor(grid.cursor); }

  async show(step, position, width, options) {
    const axes = step.axes.join().replace("slot", "key");
    const make = {
      "query,key": () => this.#scores(step, position),
      "key,feature": () => this.#keys(step, position),
      "query,key,feature": () => this.#stack(step, position),
      "query,feature": () => this.#vector(step, position, width),
      "query,vocabulary": () => regard.nextWords(this.list, step, position, options),
      query: () => this.#word(step, position),
    }[axes];
    const parts = await make();
    return parts;
  }

  #add(grid) {
    this.#grids.push(grid);
    return grid;
  }

  #label(step) { return `${message(`step.${step.name}`)}: ${message("gridLabel")}`; }

  /** All queries and keys as dots; the row of the chosen word is marked. */
  async #scores(step, position) {
    const { list } = this, values = await list.numbers(step), rows = list.rowLabels(step), columns = list.keyLabels(step);
    const weights = step.name === "weights", first = weights ? null : SCORES.map((name) => list.beside(step, name)).find(Boolean);
    const max = regard.largest(await list.numbers(first ?? step)); // of the first scores: scaling makes dots smaller
    const grid = this.#add(new regard.NumberGrid({
      values, numRows: rows.length, numColumns: columns.length, rows, columns, dots: true, max, marked: step.rows.indexOf(position), label: this.#label(step),
      readout: (row, column) => {
        const value = values[row * columns.length + column], shown = weights ? regard.percent(value) : numberText(value, 4);
        return `${rows[row]} → ${columns[column]}:  ${shown}`;
      },
    }));
    const caption = message(weights ? "dots.weights" : "dots.scores", { max: weights ? regard.percent(max) : numberText(max) });
    const products = step.name === "raw scores" ? await this.#product(step, grid, position) : [];
    return [block(grid, caption), ...products];
  }

  /** The query and one key, whose products add up to a score; the key that is pointed at, else the one of the largest score. */
  async #product(step, grid, position) {
    const { list } = this, query = list.beside(step, "query"), keys = list.beside(step, "keys");
    if (!query || !keys) return [];
    const count = step.shape.at(-1), all = await list.numbers(keys), queries = await list.numbers(query), size = keys.shape[1];
    const box = element("div", { className: "block product" }), caption = element("p", { className: "caption" });
    const row = Math.max(0, step.rows.indexOf(position)), own = grid.values.subarray(row * count, (row + 1) * count), best = own.indexOf(Math.max(...own));
    let shown = null, shownAt = "";
    grid.onCursor = (cell) => {
      const { row: i, column: j } = cell ?? { row, column: best };
      if (shownAt === `${i},${j}`) return;
      shownAt = `${i},${j}`;
      caption.textContent = message("product", { query: grid.rows[i], key: grid.columns[j], value: numberText(grid.values[i * count + j]) });
      const q = queries.subarray(i * size, (i + 1) * size), k = all.subarray(j * size, (j + 1) * size), both = new Float32Array(3 * size);
      both.set(q);
      both.set(k, size);
      both.set(q.map((number, feature) => number * k[feature]), 2 * size);
      if (!shown) {
        const name = (line) => message(["productQuery", "productKey", "productBoth"][line]);
        shown = this.#add(new regard.NumberGrid({
          values: both, numRows: 3, numColumns: size, hint: false, rows: ["q", "k", "q · k"], columns: null, label: message("productLabel"),
          readout: (line, feature) => `${name(line)} ${feature}:  ${numberText(shown.values[line * size + feature], 4)}`,
        }));
        box.append(caption, shown.box, shown.out);
      }
      Object.assign(shown, { values: both, max: regard.largest(both) });
      shown.draw();
    };
    grid.onCursor(null);
    return [box];
  }

  /** Keys or values: a line for each token. */
  async #keys(step, position) {
    const { list } = this, values = await list.numbers(step), rows = list.keyLabels(step), size = step.shape[1];
    const grid = this.#add(new regard.NumberGrid({
      values, numRows: rows.length, numColumns: size, rows, columns: null, label: this.#label(step), marked: step.keys === step.side ? position : null,
      readout: (row, column) => `${rows[row]}, ${message("feature", { number: column, value: numberText(values[row * size + column], 4) })}`,
    }));
    return [block(grid, message("aLineEach", { count: rows.length }))];
  }

  async #weightedGrid(step, position, max) {
    const { list } = this, values = await list.at(step, position), [, count, size] = step.shape, keys = list.keyLabels(step);
    const weights = await list.at(list.beside(step, "weights"), position);
    const rows = keys.map((key, number) => `${regard.percent(weights[number])} · ${key}`);
    return this.#add(new regard.NumberGrid({
      values, numRows: count, numColumns: size, rows, columns: null, max, labelShare: WEIGHTED, label: this.#label(step),
      readout: (row, column) => message("weightedCell", {
        key: keys[row], weight: regard.percent(weights[row]), number: column, value: numberText(values[row * size + column], 4),
      }),
    }));
  }

  async #stack(step, position) { return [block(await this.#weightedGrid(step, position), message("aLineEach", { count: step.shape[1] }))]; }

  /** The weighted values one upon the other, and below them their sum. */
  async #sum(step, weighted, position) {
    const context = await this.list.at(step, position), max = Math.max(regard.largest(context), regard.largest(await this.list.at(weighted, position)));
    const above = await this.#weightedGrid(weighted, position, max);
    const below = this.#add(new regard.NumberGrid({
      values: context, numRows: 1, numColumns: context.length, hint: false, rows: ["Σ"], room: above.rows, labelShare: WEIGHTED, columns: null, max, label: this.#label(step),
      readout: (_, column) => message("feature", { number: column, value: numberText(context[column], 4) }),
    }));
    return [block(above, message("stack")), element("p", { className: "sum", aria: { hidden: "true" } }, "Σ ↓"), block(below)];
  }

  /** One vector, above it what it is made of. */
  async #vector(step, position, width) {
    const { list } = this, weighted = step.name === "context" && list.beside(step, "weighted values");
    if (weighted) return this.#sum(step, weighted, position);
    const values = await list.at(step, position), heads = list.heads(step);
    if (step.name === "heads joined" && heads > 1 && values.length % heads === 0) return [this.#joined(step, values, heads)];
    const strip = async (other, sign = "") => {
      const grid = this.#add(vectorGrid(await list.at(other, position), width, this.#label(other), { small: true }));
      return block(grid, `${sign}${message(`step.${other.name}`)} (${list.partName(other)})`, { quiet: true });
    };
    const addends = await list.addends(step, position), [last] = list.before(step), parts = [];
    if (addends) parts.push(await strip(addends[0]), await strip(addends[1], "+ "));
    else if (last && !["token", "position", "next input", "input"].includes(step.name)) parts.push(await strip(last, `${message("from")} `));
    const caption = message("vector", { count: values.length });
    return [...parts, block(this.#add(vectorGrid(values, width, this.#label(step))), `${parts.length ? "= " : ""}${caption}`)];
  }

  #joined(step, values, heads) {
    const size = values.length / heads;
    const grid = this.#add(new regard.NumberGrid({
      values, numRows: heads, numColumns: size, rows: Array.from({ length: heads }, (_, head) => message("headNumber", { head })), columns: null, label: this.#label(step),
      readout: (row, column) => `${message("headNumber", { head: row })}, ${message("feature", { number: row * size + column, value: numberText(values[row * size + column], 4) })}`,
    }));
    return block(grid, message("joined", { heads, size }));
  }

  /** What is read at a position, and what the model writes after it. */
  async #word(step, position) {
    const row = Math.max(0, step.rows.indexOf(position)), read = this.list.rowLabels(step)[row];
    const told = this.list.data.sides[step.side]?.written[position];
    const chosen = regard.plainToken(step.tokens[row][0]), written = told && regard.plainToken(told);
    const from = this.list.tokens(step.side) ? [element("span", {}, read), " → "] : []; // a classifier's query is no word
    const parts = [element("p", { className: "written" }, ...from, element("b", {}, chosen))];
    if (written && written !== chosen) parts.push(element("p", { className: "note" }, message("searchChose", { word: written })));
    return parts;
  }
};
