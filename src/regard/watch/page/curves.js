// All charts: which there are, their lines, and the cursor that they share.

import { Chart, smoothed } from "./chart.js";
import { say } from "./messages.js";
import { bytes, decimal, percent, rate, whole } from "./numbers.js";
import { points, runs, validationFigures } from "./state.js";

const KNOWN = ["loss", "dev_bleu", "dev_chrf", "dev_accuracy", "dev_macro_f1", "rate", "tokens_per_second", "memory"];
const FORMATS = { rate, memory: bytes, tokens_per_second: whole, dev_accuracy: percent };
const FROM_ZERO = ["dev_bleu", "dev_chrf", "rate", "tokens_per_second", "memory"];
const LEFT_OUT = ["dev_loss", "dev_perplexity", "dev_exact"]; // in the first chart; the same as the loss; too coarse
const box = document.getElementById("charts"), charts = new Map();
let axis = "step", onPick = () => {};

const compact = (format) => (value) => format(value).replace(/\.0+(?= |$)/, "");

function chart(name) {
  if (!charts.has(name)) {
    const format = FORMATS[name] ?? ((value) => decimal(value, Math.abs(value) >= 10 ? 1 : 2));
    charts.set(name, new Chart({
      title: () => (KNOWN.includes(name) ? say(`chart.${name}`) : name.replace(/^dev_/, "").replaceAll("_", " ")),
      format: compact(format), zero: FROM_ZERO.includes(name),
      onCursor: (x) => charts.forEach((one) => one.setCursor(x)), onPick: (x) => onPick(x, axis),
    }));
  }
  return charts.get(name);
}

/** The lines of a chart: of each run one, and of the loss those of training and development. */
function lines(name) {
  return runs.flatMap((run) => {
    const several = runs.length > 1, color = `series-${run.number % 6}`, style = name.startsWith("dev_") ? "dots" : "line";
    const label = several ? run.name : "", own = points(run, name, axis);
    if (name !== "loss") return [{ label, style, color, points: own }];
    const named = (kind) => [label, say(`series.${kind}`)].filter(Boolean).join(" · ");
    return [
      { label: "", style: "raw", color, points: own },
      { label: named("train"), style: "line", color, points: smoothed(own) },
      { label: named("dev"), style: "dots", color: several ? color : "series-1", points: points(run, "dev_loss", axis) },
    ];
  });
}

/** Draws all charts anew. */
export function showCurves() {
  const found = validationFigures(), scored = found.includes("dev_bleu");
  const left = [...LEFT_OUT, ...(scored && runs.every((run) => run.rows.some((row) => "dev_bleu" in row) || !run.rows.length) ? ["dev_accuracy"] : [])];
  const names = [...new Set([...KNOWN, ...found])].filter((name) => !left.includes(name));
  const order = (name) => (KNOWN.includes(name) ? KNOWN.indexOf(name) : 4.5);
  names.sort((a, b) => order(a) - order(b));
  const shown = names.map((name) => [chart(name), lines(name)]);
  const boxes = shown.map(([one]) => one.box);
  if (boxes.length !== box.children.length || boxes.some((node, at) => box.children[at] !== node)) box.replaceChildren(...boxes);
  document.getElementById("curves").hidden = !runs.some((run) => run.rows.length);
  for (const [one, own] of shown) one.show(own, axis);
  const smoothing = runs.some((run) => run.about?.smoothing > 0);
  document.getElementById("smoothing").textContent = smoothing ? say("axis.smoothing") : "";
}

/** Builds the switch of the horizontal axis; `pick(x, axis)` hears of clicks. */
export function initCurves(pick) {
  onPick = pick;
  axis = window.regard.remember("axis") === "time" ? "time" : "step";
  const radios = new window.regard.RadioGroup("segments", "axis", (value) => {
    axis = value;
    window.regard.remember("axis", value);
    charts.forEach((one) => one.setCursor(null));
    showCurves();
  });
  radios.legend.className = "hidden";
  radios.show(["step", "time"], axis, (name) => [window.regard.element("span", { data: { message: `axis.${name}` } }, say(`axis.${name}`))]);
  document.getElementById("axis").append(radios.box);
}
