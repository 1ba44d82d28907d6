// What went wrong, said in the language of the page.

import { $ } from "./element.js";
import { Refusal, key } from "./server.js";
import { wantKey } from "./settings.js";
import { say } from "./wording.js";

let again = () => {};

/** Who is called by the button that tries again. */
export function onAgain(action) {
  again = action;
  $("notice-again").addEventListener("click", () => again());
  addEventListener("online", () => { if (!$("notice").hidden) again(); });
}

function tell(text, retry = false) {
  $("notice-text").textContent = text;
  $("notice-again").hidden = !retry;
  $("notice").hidden = false;
}

export function clear() {
  $("notice").hidden = true;
  $("notice-text").textContent = "";
}

/** Tells of a server that wants to be asked later. */
export const waiting = ({ status, seconds }) => tell(say(status === 429 ? "page.error.rate" : "page.error.busy", { seconds }));

/** Tells of a text that is too long to be asked about. */
export const tooLong = (count, most) => tell(say("page.error.long", { count: count.toLocaleString("en"), most: most.toLocaleString("en") }));

/** Tells of what could not be copied. */
export const notCopied = () => tell(say("page.error.copy"));

/** Tells of an error; one that is not the server's is a fault of ours and goes on. */
export function refused(error) {
  if (error.name === "AbortError") return;
  if (!(error instanceof Refusal)) throw error;
  const { status, sentence } = error;
  if (status === 0) return tell(say("page.error.offline"), true);
  if (status === 403) {
    tell(key.get() ? say("page.error.said", { sentence }) : say("page.error.key"), true);
    return wantKey(true);
  }
  if (status >= 500 && status !== 503) return tell(say("page.error.failed"), true);
  tell(say("page.error.said", { sentence }), status === 503 || status === 429);
}
