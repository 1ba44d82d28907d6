// The report: a list of texts, the chosen one beside it, two models of one text side by side.
const { element } = regard;
const $ = (id) => document.getElementById(id);
const main = $("main");
let views = [], players = [];

// ---- facts: known names and values are translated

const FACTS = {
  model: "模型", kind: "类型", languages: "语言", maps: "注意力图", "translated exactly": "完全译对", "pronouns right": "代词译对",
  "word senses right": "词义译对", "alignment error rate": "对齐错误率", time: "用时",
};
const VALUES = [
  [/\b(kind|languages|maps): /g, (_, name) => `${FACTS[name]}：`], [/\bnone: /g, () => "无："],
  [/: (\d+) layers? of (\d+) heads?/g, (_, layers, heads) => `：${layers} 层，每层 ${heads} 头`], [/; /g, () => "；"],
  [/ without attention$|trained without attention/g, () => "，没有注意力"], [/, (\S+) attention\b/g, (_, name) => `，${name} 注意力`],
  [/this model's attention has no weights over words/g, () => "这个模型的注意力没有对词语的权重"],
  [/this recurrent network was /g, () => "这个循环网络"], [/recurrent network/g, () => "循环网络"], [/language model/g, () => "语言模型"],
  [/masked model/g, () => "掩码语言模型"], [/classifier/g, () => "分类器"],
  [/\b(cross|encoder|decoder)\b(?=[,：])/g, (_, kind) => regard.message(kind)], [/, /g, () => "、"],
];
function translateFacts() {
  for (const fact of document.querySelectorAll(".facts > div")) {
    const [name, value] = fact.children, key = (name.dataset.english ??= name.textContent), english = (value.dataset.english ??= value.textContent);
    const chinese = regard.language === "zh", translated = key === "kind" || key === "maps" || english.startsWith("kind: ");
    name.textContent = (chinese && FACTS[key]) || key;
    value.textContent = chinese && translated ? VALUES.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), english) : english;
  }
}
document.addEventListener("regard:language", translateFacts);
translateFacts();

// ---- texts

/** The stages of a text, which are made when they are opened; `id` is null if this page has none of them. */
function stepByStep(id) {
  const box = element("div"), summary = element("summary", { data: { message: "stepByStep" } }, regard.message("stepByStep"));
  const details = element("details", { className: "step-by-step" }, summary, box);
  if (!id) box.append(element("p", { className: "note", data: { message: "noStages" } }, regard.message("noStages")));
  else
    details.addEventListener("toggle", () => {
      if (details.open && !box.hasChildNodes()) players.push(regard.stages(box, JSON.parse($(id).textContent), { keys: details }));
    });
  return details;
}

/** Chooses the same map in both views of a pair, where there is one, and highlights the same source words. */
function synchronize(pair) {
  const words = pair.map(({ data }) => JSON.stringify(data.sides.source.words));
  for (const [view, other] of [pair, [...pair].reverse()]) {
    view.container.addEventListener("regard:chosen", (event) => {
      if (other.has(event.detail)) other.choose(event.detail);
    });
    view.container.addEventListener("regard:active", ({ detail }) => {
      if (words[0] === words[1]) other.setActive(detail?.side === "source" ? detail : null);
    });
  }
}

function show(number) {
  const entry = JSON.parse($(`entry-${number}`).textContent), chosen = views[0]?.state;
  for (const part of [...views, ...players]) part.destroy();
  players = [];
  main.querySelectorAll(".pane").forEach((pane) => pane.remove());
  main.classList.toggle("pair", entry.length > 1);
  views = entry.map((data) => {
    const box = element("div"), pane = element("div", { className: "pane" });
    const name = [data.title, entry.length > 1 && data.model].filter(Boolean).join(" · ");
    if (name && name !== document.title) pane.append(element("p", { className: "name" }, name));
    if (entry.length > 1) data.model = ""; // it is in the name
    pane.append(box, ...(data.stages === undefined ? [] : [stepByStep(data.stages)]));
    main.append(pane);
    const view = regard.view(box, data, {});
    if (chosen && view.has(chosen)) view.choose(chosen);
    return view;
  });
  if (views.length > 1) synchronize(views);
}

const list = $("texts"), count = list.querySelectorAll("input").length;
document.querySelector("nav").hidden = count < 2;
$("layout").classList.toggle("several", count > 1);
document.documentElement.lang = regard.language;
$("switches").replaceChildren(...regard.pageSwitches());
regard.translate(document.documentElement);
if (!count) return;
list.addEventListener("change", (event) => show(Number(event.target.value)));
// after the first frame, so that the page without maps is visible at once
requestAnimationFrame(() => setTimeout(() => show(Number(list.querySelector("input:checked")?.value ?? 0))));
