// What went wrong, said in the language of the page.

import { $ } from "./element.js";
import { Refusal, key } from "./server.js";
import { askKey, wantKey } from "./settings.js";
import { say } from "./wording.js";

const BUTTONS = ["again", "key", "undo"];

/** Who is called by the buttons that try again, and that undo everything. */
export function listen({ again, undo }) {
  $("notice-again").addEventListener("click", again);
  $("notice-key").addEventListener("click", askKey);
  $("notice-undo").addEventListener("click", undo);
  addEventListener("online", () => { if (!$("notice").hidden) again(); });
}

/** Says something; `offered` is the button beside it. */
function tell(text, offered = "") {
  if ($("notice-text").textContent !== text) $("notice-text").textContent = text; // not to be read out again
  for (const name of BUTTONS) $(`notice-${name}`).hidden = name !== offered;
  $("notice").hidden = false;
}

/** Nothing is wrong; whoever was at a button of the notice goes on at the text. */
export function clear() {
  if ($("notice").contains(document.activeElement)) $("text").focus();
  $("notice").hidden = true;
  $("notice-text").textContent = "";
}

/** Tells of a server that wants to be asked later. */
export const waiting = ({ status, seconds }) => tell(say(status === 429 ? "page.error.rate" : "page.error.busy", { seconds }));

/** Tells of a text that is too long to be asked about. */
export const tooLong = (count, most) => tell(say("page.error.long", { count: count.toLocaleString("en"), most: most.toLocaleString("en") }));

/** Tells of what could not be copied. */
export const notCopied = () => tell(say("page.error.copy"));

/** Tells that there is a key to be given; `sentence` is what was said of the last one. */
export function keyless(sentence = "") {
  const text = sentence && key.get() ? say("page.error.said", { sentence }) : say("page.error.key");
  wantKey(text);
  tell(text, "key");
}

/** Tells of an error; `touched` if something is held or off. One that is not the server's is a fault of ours and goes on. */
export function refused(error, touched = false) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refusal)) throw error;
  const { status, sentence } = error;
  if (status === 0) return tell(say("page.error.offline"), "again");
  if (status === 403) return keyless(sentence);
  if (status >= 500 && status !== 503) return tell(say("page.error.failed"), "again");
  if (status === 503 || status === 429) return tell(say("page.error.said", { sentence }), "again");
  const long = touched && /^the prefix of sentence .* tokens/u.test(sentence);
  tell(long ? say("page.error.begin") : say("page.error.said", { sentence }), touched ? "undo" : "");
}
