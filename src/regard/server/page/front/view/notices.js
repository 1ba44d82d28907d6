// Notices of errors, in the language of the page.

import { $ } from "./element.js";
import { ServerError, key } from "../requests/server.js";
import { focusKeyField, showKeyField } from "./settings.js";
import { say } from "./messages.js";

const BUTTONS = ["again", "key", "undo"];

/** Sets the handlers of the buttons that repeat a request and that undo everything. */
export function listen({ again, undo }) {
  $("notice-again").addEventListener("click", again);
  $("notice-key").addEventListener("click", focusKeyField);
  $("notice-undo").addEventListener("click", undo);
  addEventListener("online", () => { if (!$("notice").hidden) again(); });
}

/** Shows a notice; `offered` is the button beside it. */
function showNotice(text, offered = "") {
  if ($("notice-text").textContent !== text) $("notice-text").textContent = text; // so that it is not read out again
  for (const name of BUTTONS) $(`notice-${name}`).hidden = name !== offered;
  $("notice").hidden = false;
}

/** Hides the notice; the focus moves from its buttons to the text. */
export function clear() {
  if ($("notice").contains(document.activeElement)) $("text").focus();
  $("notice").hidden = true;
  $("notice-text").textContent = "";
}

/** A busy server: the request is repeated later. */
export const waiting = ({ status, seconds }) => showNotice(say(status === 429 ? "page.error.rate" : "page.error.busy", { seconds }));

/** The text is too long. */
export const tooLong = (count, most) => showNotice(say("page.error.long", { count: count.toLocaleString("en"), most: most.toLocaleString("en") }));

/** Copying is not possible. */
export const notCopied = () => showNotice(say("page.error.copy"));

/** A key is needed; `sentence` is the server's message about the last one. */
export function showKeyNeeded(sentence = "") {
  const text = sentence && key.get() ? say("page.error.said", { sentence }) : say("page.error.key");
  showKeyField(text);
  showNotice(text, "key");
}

/** Shows a server's error; `touched` if there are edits. Other errors are thrown again. */
export function showError(error, touched = false) {
  if (error.name === "AbortError") return;
  if (!(error instanceof ServerError)) throw error;
  const { status, sentence } = error;
  if (status === 0) return showNotice(say("page.error.offline"), "again");
  if (status === 403) return showKeyNeeded(sentence);
  if (status >= 500 && status !== 503) return showNotice(say("page.error.failed"), "again");
  if (status === 503 || status === 429) return showNotice(say("page.error.said", { sentence }), "again");
  const long = touched && /^the prefix of sentence .* tokens/u.test(sentence);
  showNotice(long ? say("page.error.begin") : say("page.error.said", { sentence }), touched ? "undo" : "");
}
