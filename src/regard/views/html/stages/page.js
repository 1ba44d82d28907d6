// The page of one traced text.
const { element, message } = regard;
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("trace").textContent);

function addSwitches() {
  const language = new regard.RadioGroup("segments", "language", regard.setLanguage);
  language.show(["en", "zh"], regard.language, (code) => [element("span", { lang: code }, { en: "English", zh: "中文" }[code])]);
  const theme = new regard.RadioGroup("segments", "theme", regard.setTheme);
  theme.show(["auto", "light", "dark"], regard.theme, (name) => [element("span", { data: { message: `theme.${name}` } })]);
  $("switches").replaceChildren(language.box, theme.box);
}

/** The words that are followed; a token that belongs to no word stands for itself. */
function entitle({ positions }) {
  const names = Object.entries(data.sides).map(([side, { tokens, written, words, groups }]) => {
    const position = positions[side], word = groups.findIndex((group) => group.includes(position));
    return regard.visible(words[word] ?? regard.plainToken((written.length ? written : tokens)[position]));
  });
  $("title").textContent = document.title = message("way", { word: [...new Set(names)].join(" → ") });
}

document.documentElement.lang = regard.language;
addSwitches();
regard.translate(document.documentElement);
$("main").addEventListener("regard:stage", ({ detail }) => entitle(detail));
regard.stages($("main"), data, { start: data.start });
