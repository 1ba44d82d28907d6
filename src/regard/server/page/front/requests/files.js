// Translates a file that was chosen or dropped.

import { $, element } from "../view/element.js";
import { postFile } from "./server.js";
import { say } from "../view/messages.js";

let kinds = [];

/** Sets the file types that the server accepts. */
export function setFileTypes(types) {
  kinds = types;
  $("file").accept = kinds.join(",");
}

async function translate(file, { direction, onBegin, onRefusal }) {
  const { name } = file, note = $("file-note");
  onBegin();
  if (kinds.length && !kinds.some((kind) => name.toLowerCase().endsWith(kind))) {
    note.textContent = say("page.file.kinds", { kinds: kinds.join(", ") });
    return;
  }
  note.textContent = say("page.file.doing", { name });
  try {
    const { source, target } = direction();
    const href = await postFile(file, source, target);
    note.replaceChildren(element("a", { href, download: "" }, say("page.file.done", { name })));
  } catch (error) {
    note.textContent = "";
    onRefusal(error);
  }
}

export function listen(handlers) {
  const drop = $("drop");
  $("pick").addEventListener("click", () => $("file").click());
  $("file").addEventListener("change", () => {
    const [file] = $("file").files;
    if (file) translate(file, handlers);
    $("file").value = "";
  });
  const carries = (event) => event.dataTransfer?.types.includes("Files");
  drop.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    drop.classList.add("over");
  });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    drop.classList.remove("over");
    if (!carries(event)) return;
    event.preventDefault();
    const [file] = event.dataTransfer.files;
    if (file) translate(file, handlers);
  });
}
