// The head of each run: state, progress and figures.

import { say } from "./messages.js";
import { bytes, clock, decimal, percent, whole } from "./numbers.js";
import { latest, runs } from "./state.js";

const { element } = window.regard;
const SILENT = 90; // seconds without figures from which on it is said
const box = document.getElementById("runs");

function about({ about = {} }) {
  const { kind, source, target, size = {}, attention } = about;
  const layers = size.num_encoder_layers ? `${size.num_encoder_layers}+${size.num_decoder_layers}` : size.num_layers;
  return [
    kind, source && (source === target ? source : `${source} → ${target}`), attention !== "full" && attention,
    layers && say("about.layers", { layers }), size.dim && say("about.dim", { dim: size.dim }),
  ].filter(Boolean).join(" · ");
}

function explanation(run) {
  const command = `regard train --resume ${run.folder}`;
  if (run.state === "failed") return run.reason ?? "";
  if (run.state === "running") return run.silent > SILENT ? say("about.silent", { time: clock(run.silent) }) : "";
  return ["waiting", "stopped", "lost"].includes(run.state) ? say(`about.${run.state}`, { command }) : "";
}

function facts(run) {
  const ended = run.state !== "running", list = [];
  const add = (name, value, format) => { if (Number.isFinite(value)) list.push([name, format(value)]); };
  add("fact.step", latest(run, "step"), whole);
  add("fact.elapsed", latest(run, "seconds"), clock);
  if (!ended) add("fact.left", latest(run, "seconds_left"), (value) => clock(value - Math.min(run.silent ?? 0, value)));
  add("fact.loss", latest(run, "loss"), (value) => decimal(value, 3));
  add("fact.dev_loss", latest(run, "dev_loss"), (value) => decimal(value, 3));
  const scored = latest(run, "dev_bleu") !== undefined;
  if (!scored) add("fact.dev_perplexity", latest(run, "dev_perplexity"), (value) => decimal(value, 1));
  if (!scored) add("fact.dev_accuracy", latest(run, "dev_accuracy"), percent);
  add("fact.dev_bleu", latest(run, "dev_bleu"), (value) => decimal(value, 1));
  add("fact.dev_chrf", latest(run, "dev_chrf"), (value) => decimal(value, 1));
  add("fact.tokens", latest(run, "tokens_per_second"), whole);
  add("fact.memory", latest(run, "memory"), bytes);
  return list;
}

/** The share of a run that is over. */
export const share = (run) => (run.state === "finished" ? 1 : (latest(run, "share") ?? 0));

function card(run) {
  const bar = element("div", { className: "bar", role: "progressbar", aria: {
    valuemin: 0, valuemax: 100, valuenow: Math.round(100 * share(run)), label: say("progress", { name: run.name }) } }, element("span"));
  bar.firstChild.style.width = `${100 * share(run)}%`;
  const why = explanation(run);
  return element("article", { className: `run series-${run.number % 6}`, data: { state: run.state } },
    element("div", { className: "line" },
      ...(runs.length > 1 ? [element("span", { className: "swatch", aria: { hidden: "true" } })] : []),
      element("h2", {}, window.regard.visible(run.name)),
      element("span", { className: "state" }, say(`state.${run.state}`)),
      element("p", { className: "note" }, about(run))),
    element("div", { className: "progress" }, bar, element("span", { className: "share", aria: { hidden: "true" } }, `${Math.floor(100 * share(run))} %`)),
    ...(why ? [element("p", { className: "why" }, why)] : []),
    element("dl", { className: "facts" }, ...facts(run).map(([name, value]) =>
      element("div", {}, element("dt", {}, say(name)), element("dd", {}, value)))));
}

/** Draws the heads of all runs, and the title of the tab. */
export function showSummaries() {
  if (!runs.length) return; // before the first answer
  box.replaceChildren(...runs.map(card));
  const [first] = runs, name = runs.map((run) => run.name).join(", ");
  const running = runs.some((run) => run.state === "running");
  document.getElementById("title").textContent = name;
  document.title = running
    ? say("watch.title", { share: `${Math.floor(100 * Math.min(...runs.map(share)))} %`, name })
    : say("watch.title.state", { state: say(`state.${first.state}`), name });
}
