// The page of one traced text.
const { element, message } = regard;
const $ = (id) => document.getElementById(id);
let data = null;

/** The words that are followed; a token that belongs to no word stands for itself. */
function entitle({ positions }) {
  const names = Object.entries(data.sides).map(([side, { tokens, written, words, groups }]) => {
    const position = positions[side], word = groups.findIndex((group) => group.includes(position));
    return regard.visible(words[word] ?? regard.plainToken((written.length ? written : tokens)[position]));
  });
  $("title").textContent = document.title = message("title", { word: [...new Set(names)].join(" → ") });
}

document.documentElement.lang = regard.language;
$("switches").replaceChildren(...regard.pageSwitches());
regard.translate(document.documentElement);
$("main").addEventListener("regard:stage", ({ detail }) => entitle(detail));
$("main").setAttribute("aria-busy", "true");
// after the first frame, so that the page is visible at once
requestAnimationFrame(() => setTimeout(() => {
  data = JSON.parse($("trace").textContent);
  regard.stages($("main"), data, { start: data.start });
}));
