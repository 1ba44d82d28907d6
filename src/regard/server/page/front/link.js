// The state of the page in the address' fragment, which no server gets to see.

const KINDS = new Set(["cross", "encoder", "decoder"]);
const MOST = 100_000; // characters of a text

const isCount = (value) => Number.isInteger(value) && value >= 0 && value < 100_000;
const isHead = (value) => value === null || isCount(value);
const isText = (value) => typeof value === "string" && value.length <= MOST;

function isOff(one) {
  return one && KINDS.has(one.kind) && isCount(one.layer) && isCount(one.head);
}

function isRow(one) {
  return one && KINDS.has(one.kind) && isHead(one.layer) && isHead(one.head) && isCount(one.row)
    && Array.isArray(one.weights) && one.weights.length <= 5000
    && one.weights.every((weight) => Number.isFinite(weight) && weight >= 0) && one.weights.some((weight) => weight > 0);
}

function isHeld(one) {
  return one && isCount(one.number) && isText(one.source) && isText(one.prefix) && Array.isArray(one.rows) && one.rows.every(isRow);
}

const areHeld = (value) => Array.isArray(value) && value.length <= 60 && value.every(isHeld);

function isChosen(one) {
  return one && KINDS.has(one.kind) && isCount(one.layer) && (one.head === "mean" || isCount(one.head));
}

/** The fragment, with its #. */
export function written(state) {
  const fields = new URLSearchParams({ q: state.text, s: state.source, t: state.target });
  if (state.model) fields.set("m", state.model);
  if (state.compare) fields.set("c", state.compare);
  if (state.number) fields.set("n", String(state.number));
  const short = (weight) => Number(weight.toPrecision(4));
  const held = state.held.map((one) => ({ ...one, rows: one.rows.map((row) => ({ ...row, weights: row.weights.map(short) })) }));
  if (state.offs.length) fields.set("off", JSON.stringify(state.offs));
  if (held.length) fields.set("held", JSON.stringify(held));
  if (state.chosen) fields.set("map", JSON.stringify(state.chosen));
  return `#${fields}`;
}

/** What a fragment says; whatever in it is not as it should be is as if it were not there. */
export function read(fragment) {
  const fields = new URLSearchParams(fragment.replace(/^#/, ""));
  const text = fields.get("q");
  if (!text || !isText(text)) return null;
  const parsed = (name, right, other) => {
    try {
      const value = JSON.parse(fields.get(name));
      return right(value) ? value : other;
    } catch {
      return other;
    }
  };
  const offs = parsed("off", (value) => Array.isArray(value) && value.length <= 60 && value.every(isOff), []);
  return {
    text,
    source: fields.get("s") || "auto",
    target: fields.get("t") || "",
    model: fields.get("m") || null,
    compare: fields.get("c") || null,
    number: parsed("n", isCount, 0),
    offs: offs.map(({ kind, layer, head }) => ({ kind, layer, head })),
    held: [parsed("held", (value) => isHeld(value) || areHeld(value), [])].flat(), // one alone, in older links
    chosen: parsed("map", isChosen, null),
  };
}
