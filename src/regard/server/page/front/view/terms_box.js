// The box of the glossary.

import { $ } from "./element.js";
import { say } from "./messages.js";
import { keepTerms, parseTerms, typedTerms } from "../state/terms.js";

function showWrong() {
  const { wrong } = parseTerms($("terms-text").value);
  $("terms-said").textContent = wrong ? say("page.terms.wrong", { line: wrong }) : "";
}

/** Shows the terms of a target language. */
export function showTerms(target) {
  if ($("terms-text").dataset.target === target) return;
  $("terms-text").dataset.target = target;
  $("terms-text").value = typedTerms(target);
  showWrong();
}

/** Handles changes; `onChange` is called when the terms are others. */
export function listen({ onChange }) {
  $("terms-text").addEventListener("input", () => {
    keepTerms($("terms-text").dataset.target ?? "", $("terms-text").value);
    showWrong();
    onChange();
  });
}
