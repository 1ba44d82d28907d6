// The state of the page in the address's fragment, which is not sent to servers.

const KINDS = new Set(["cross", "encoder", "decoder"]);
const MAX_TEXT = 100_000; // characters of a text

const isCount = (value) => Number.isInteger(value) && value >= 0 && value < 100_000;
const isHead = (value) => value === null || isCount(value);
const isText = (value) => typeof value === "string" && value.length <= MAX_TEXT;

function isOff(entry) {
  return entry && KINDS.has(entry.kind) && isCount(entry.layer) && isCount(entry.head);
}

function isRow(entry) {
  return entry && KINDS.has(entry.kind) && isHead(entry.layer) && isHead(entry.head) && isCount(entry.row)
    && Array.isArray(entry.weights) && entry.weights.length <= 5000
    && entry.weights.every((weight) => Number.isFinite(weight) && weight >= 0) && entry.weights.some((weight) => weight > 0);
}

function isEdit(entry) {
  return entry && isCount(entry.number) && isText(entry.source) && isText(entry.prefix) && Array.isArray(entry.rows) && entry.rows.every(isRow);
}

const areEdits = (value) => Array.isArray(value) && value.length <= 60 && value.every(isEdit);

function isChosen(entry) {
  return entry && KINDS.has(entry.kind) && isCount(entry.layer) && (entry.head === "mean" || isCount(entry.head));
}

/** The fragment, with its #. */
export function written(state) {
  const fields = new URLSearchParams({ q: state.text, s: state.source, t: state.target });
  if (state.model) fields.set("m", state.model);
  if (state.compare) fields.set("c", state.compare);
  if (state.number) fields.set("n", String(state.number));
  const short = (weight) => Number(weight.toPrecision(4));
  const edits = state.edits.map((entry) => ({ ...entry, rows: entry.rows.map((row) => ({ ...row, weights: row.weights.map(short) })) }));
  if (state.offHeads.length) fields.set("off", JSON.stringify(state.offHeads));
  if (edits.length) fields.set("held", JSON.stringify(edits));
  if (state.chosen) fields.set("map", JSON.stringify(state.chosen));
  return `#${fields}`;
}

/** The state in a fragment; invalid parts of it are ignored. */
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
  const offHeads = parsed("off", (value) => Array.isArray(value) && value.length <= 60 && value.every(isOff), []);
  return {
    text,
    source: fields.get("s") || "auto",
    target: fields.get("t") || "",
    model: fields.get("m") || null,
    compare: fields.get("c") || null,
    number: parsed("n", isCount, 0),
    offHeads: offHeads.map(({ kind, layer, head }) => ({ kind, layer, head })),
    edits: [parsed("held", (value) => isEdit(value) || areEdits(value), [])].flat(), // a single one, in older links
    chosen: parsed("map", isChosen, null),
  };
}
