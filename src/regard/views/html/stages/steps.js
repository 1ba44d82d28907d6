// The steps of a traced text, as regard.views.html.trace_payload describes them: their order, their numbers, their names.
const { message } = regard;
const SUMS = new Set(["residual", "input"]);
const samePlace = (a, b) => a.side === b.side && a.part === b.part && a.layer === b.layer;

regard.StepList = class {
  #numbers = new Map();
  #heads = new Map();

  constructor(data) {
    const order = (step) => ["encoder", "pooling", "decoder"].indexOf(step.side);
    this.data = data;
    this.steps = data.steps.toSorted((a, b) => order(a) - order(b)).flatMap((step) => this.#withWeighted(step));
  }

  /** The weighted values, which a page does not hold, stand before the context that they add up to. */
  #withWeighted(context) {
    const find = (name) => this.data.steps.find((step) => step.name === name && samePlace(step, context) && step.head === context.head);
    const weights = find("weights"), values = find("values");
    if (context.name !== "context" || find("weighted values") || !weights || !values) return [context];
    const weighted = {
      ...weights, name: "weighted values", equation: "a_ij v_j", axes: [...weights.axes, "feature"], shape: [...weights.shape, values.shape[1]],
      values: null, number: context.number - 0.5,
    };
    return [weighted, context];
  }

  /** The steps with one head of each part: this one, or the next that there is. */
  stages(head) {
    const found = (step) => this.headsAt(step).find((other) => other >= head) ?? this.headsAt(step).at(-1);
    return this.steps.filter((step) => step.head === null || step.head === found(step));
  }

  /** The heads whose steps there are in the place of a step. */
  headsAt(step) {
    const key = [step.side, step.part, step.layer].join();
    if (!this.#heads.has(key)) {
      const heads = this.steps.filter((other) => other.head !== null && samePlace(other, step)).map(({ head }) => head);
      this.#heads.set(key, [...new Set(heads)].sort((a, b) => a - b));
    }
    return this.#heads.get(key);
  }

  sizes({ side, part }) { return this.data.sizes.find((size) => size.side === side && size.part === part); }

  heads(step) { return this.sizes(step)?.heads ?? 1; }

  /** The step of a name in the same place (and head) as another. */
  beside(step, name) { return this.steps.find((other) => other.name === name && samePlace(other, step) && other.head === step.head); }

  /** All numbers of a step, flat. */
  numbers(step) {
    const { values } = step, load = async () => {
      if (values?.blob || typeof values === "string") return regard.numbers(values, Float32Array);
      return Float32Array.from(values.flat(Infinity), (value) => (value === null ? -Infinity : Number(value)));
    };
    if (!this.#numbers.has(step.number)) this.#numbers.set(step.number, load());
    return this.#numbers.get(step.number);
  }

  /** The numbers of a step at a position. */
  async at(step, position) {
    const row = Math.max(0, step.rows.indexOf(position));
    if (step.name === "weighted values" && !step.values) return this.#weighted(step, row);
    const numbers = await this.numbers(step), size = numbers.length / (step.rows.length || 1);
    return numbers.subarray(row * size, (row + 1) * size);
  }

  /** a_ij v_j of one query: a weight of zero takes nothing, even of what is not finite. */
  async #weighted(step, row) {
    const [weights, values] = await Promise.all(["weights", "values"].map((name) => this.numbers(this.beside(step, name))));
    const [, count, size] = step.shape, numbers = new Float32Array(count * size);
    for (let key = 0; key < count; key++) {
      const weight = weights[row * count + key];
      if (weight) for (let feature = 0; feature < size; feature++) numbers[key * size + feature] = weight * values[key * size + feature];
    }
    return numbers;
  }

  /** The vectors of a side before a step, the last first; those of single heads left out. */
  before(step) {
    const earlier = this.steps.slice(0, this.steps.indexOf(step)).filter((other) => other.side === step.side && other.head === null);
    return earlier.filter(({ axes }) => axes.join() === "query,feature").reverse();
  }

  /** The two steps that a step is the sum of, found by adding; null if it is no sum. */
  async addends(step, position) {
    if (!SUMS.has(step.name)) return null;
    const total = await this.at(step, position), [last, ...others] = this.before(step);
    if (!last || last.shape[1] !== step.shape[1]) return null;
    const added = await this.at(last, position), tolerance = 2e-3 * (regard.largest(total) + regard.largest(added));
    for (const other of others.slice(0, 24)) {
      if (other.shape[1] !== step.shape[1]) continue;
      const first = await this.at(other, position);
      if (total.every((number, index) => Math.abs(first[index] + added[index] - number) <= tolerance)) return [other, last];
    }
    return null;
  }

  // ---- names

  /** What stands at the positions of a side: tokens that are read. */
  tokens(side) { return this.data.sides[side]?.tokens ?? null; }

  rowLabels(step) {
    const tokens = this.tokens(step.side);
    return step.rows.map((row) => regard.plainToken(tokens?.[row] ?? "q"));
  }

  keyLabels(step) {
    const axis = step.axes.findIndex((name) => name === "key" || name === "slot"), count = step.shape[axis], tokens = this.tokens(step.keys);
    return Array.from({ length: count }, (_, key) => (step.axes[axis] === "slot" || !tokens ? `${key}` : regard.plainToken(tokens[key])));
  }

  partName({ part, layer }) {
    const name = message(`part.${part}`);
    return layer === null ? name : message("inLayer", { part: name, layer });
  }
};

/** A token without the mark of the space before it. */
regard.plainToken = (token) => regard.tokenText(token.replace(/^▁(?=.)/, ""));
