// The page: asks the server for what is new, and draws it.

import { say } from "./messages.js";
import { initCurves, showCurves } from "./curves.js";
import { showAt, showSamples, translateSamples } from "./samples.js";
import { merge, runs } from "./state.js";
import { showSummaries } from "./summary.js";

const { regard } = window;
const EVERY = 2000, AT_REST = 10000; // milliseconds between questions: while a run goes on, and after its end
const $ = (id) => document.getElementById(id);
let cursor = "", timer = 0;

function showNotice(offline) {
  const command = `regard watch ${runs.map(({ folder }) => folder).join(" ") || "DIR"}`;
  $("notice").hidden = !offline;
  $("notice").textContent = offline ? say("notice.offline", { command }) : "";
  document.body.classList.toggle("offline", offline);
}

async function ask() {
  clearTimeout(timer);
  let more = false;
  try {
    const answer = await (await fetch(`updates?after=${encodeURIComponent(cursor)}`)).json();
    const again = cursor === "";
    ({ cursor, more } = answer);
    const changed = merge(answer);
    showSummaries();
    if (again || runs.some(({ grown }) => grown)) showCurves();
    if (again || runs.some(({ sampled }) => sampled)) showSamples();
    if (!again && changed.length)
      $("said").textContent = changed.map(({ name, state }) => say("said.state", { name, state: say(`state.${state}`) })).join(" ");
    showNotice(false);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error; // TypeError: no connection
    showNotice(true);
  } finally {
    const active = runs.some(({ state }) => state === "running" || state === "waiting");
    timer = setTimeout(ask, more ? 0 : active || !runs.length ? EVERY : AT_REST);
  }
}

document.addEventListener("regard:language", () => {
  showSummaries();
  showCurves();
  translateSamples();
  if (!$("notice").hidden) showNotice(true);
});
document.addEventListener("visibilitychange", () => { if (!document.hidden) ask(); });
$("switches").replaceChildren(...regard.pageSwitches());
initCurves(showAt);
document.documentElement.lang = regard.language;
regard.translate(document.documentElement);
ask();
