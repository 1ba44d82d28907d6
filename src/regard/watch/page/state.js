// What is known of the runs: the server's answers put together.

export const runs = [];

/** Adds an answer of the server; returns the runs whose state has changed. */
export function merge(answer) {
  const changed = [];
  answer.runs.forEach((news, number) => {
    const run = (runs[number] ??= { number, rows: [], validations: [], state: null });
    if (run.state !== news.state) changed.push(run);
    const { metrics, samples, ...rest } = news;
    Object.assign(run, rest);
    run.grown = metrics.whole || metrics.rows.length > 0;
    run.sampled = samples.whole || samples.rows.length > 0;
    if (metrics.whole) run.rows = [];
    if (samples.whole) run.validations = [];
    for (const row of metrics.rows) if (Number.isFinite(row.step)) run.rows.push(row);
    for (const row of samples.rows) if (Array.isArray(row.samples) && row.samples.length) run.validations.push(row);
  });
  return changed;
}

/** The last value of a figure; undefined if there is none. */
export const latest = (run, name) => run.rows.findLast((row) => Number.isFinite(row[name]))?.[name];

/** The points of a figure: { x, y, step } by update or by time. */
export function points(run, name, axis) {
  const found = [];
  for (const row of run.rows) {
    const x = axis === "time" ? row.seconds : row.step;
    if (Number.isFinite(row[name]) && Number.isFinite(x)) found.push({ x, y: row[name], step: row.step });
  }
  return found;
}

/** The names of all numbers that validations have. */
export function validationFigures() {
  const names = new Set();
  for (const run of runs)
    for (const row of run.rows)
      for (const [name, value] of Object.entries(row)) if (name.startsWith("dev_") && Number.isFinite(value)) names.add(name);
  return [...names];
}
