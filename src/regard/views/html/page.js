"use strict";
(() => {
  // The report: a list of texts, the chosen one beside it, two models of one text side by side.
  const { regard } = window, { element } = regard;
  const $ = (id) => document.getElementById(id);
  const main = $("main");
  let views = [];

  // ---- language and theme

  function switches() {
    const language = new regard.Choice("segments", "language", regard.setLanguage);
    language.show(["en", "zh"], regard.language, (code) => [element("span", { lang: code }, { en: "English", zh: "中文" }[code])]);
    const theme = new regard.Choice("segments", "theme", regard.setTheme);
    theme.show(["auto", "light", "dark"], regard.theme, (one) => [element("span", { data: { say: `theme.${one}` } })]);
    $("switches").replaceChildren(language.box, theme.box);
  }

  // ---- facts: names and values that are known are said in the language of the page

  const FACTS = {
    model: "模型", kind: "类型", languages: "语言", maps: "注意力图", "translated exactly": "完全译对", "pronouns right": "代词译对",
    "word senses right": "词义译对", "alignment error rate": "对齐错误率", time: "用时",
  };
  regard.addWords(Object.fromEntries(Object.entries(FACTS).map(([name, other]) => [`fact.${name}`, [name, other]])));
  const VALUES = [
    [/\b(kind|languages|maps): /g, (_, name) => `${FACTS[name]}：`], [/\bnone: /g, () => "无："],
    [/: (\d+) layers? of (\d+) heads?/g, (_, layers, heads) => `：${layers} 层，每层 ${heads} 头`], [/; /g, () => "；"],
    [/ without attention$|trained without attention/g, () => "，没有注意力"], [/, (\S+) attention\b/g, (_, name) => `，${name} 注意力`],
    [/this model's attention has no weights over words/g, () => "这个模型的注意力没有对词语的权重"],
    [/this recurrent network was /g, () => "这个循环网络"], [/recurrent network/g, () => "循环网络"], [/language model/g, () => "语言模型"],
    [/masked model/g, () => "掩码语言模型"], [/classifier/g, () => "分类器"],
    [/\b(cross|encoder|decoder)\b(?=[,：])/g, (_, kind) => regard.say(kind)], [/, /g, () => "、"],
  ];
  function tellFacts() {
    for (const fact of document.querySelectorAll(".facts > div")) {
      const [name, value] = fact.children, key = (name.dataset.fact ??= name.textContent), told = (value.dataset.fact ??= value.textContent);
      if (key in FACTS) name.textContent = regard.say(`fact.${key}`);
      if (key !== "kind" && key !== "maps" && !told.startsWith("kind: ")) continue;
      value.textContent = regard.language === "zh" ? VALUES.reduce((text, [known, other]) => text.replace(known, other), told) : told;
    }
  }
  document.addEventListener("regard:language", tellFacts);
  tellFacts();

  // ---- texts

  /** What is chosen in one of a pair is chosen in the other, where it has it; the same words are asked in both. */
  function together(pair) {
    const words = pair.map(({ shown }) => JSON.stringify(shown.strips.source.words));
    for (const [one, other] of [pair, [...pair].reverse()]) {
      one.container.addEventListener("regard:chosen", (event) => {
        if (other.has(event.detail)) other.choose(event.detail);
      });
      one.container.addEventListener("regard:asked", ({ detail }) => {
        if (words[0] === words[1]) other.ask(detail?.strip === "source" ? detail : null);
      });
    }
  }

  function show(number) {
    const board = JSON.parse($(`board-${number}`).textContent), chosen = views[0]?.state;
    for (const view of views) view.destroy();
    main.querySelectorAll(".pane").forEach((pane) => pane.remove());
    main.classList.toggle("pair", board.length > 1);
    views = board.map((shown) => {
      const box = element("div"), pane = element("div", { className: "pane" });
      const name = [shown.title, board.length > 1 && shown.model].filter(Boolean).join(" · ");
      if (name && name !== document.title) pane.append(element("p", { className: "name" }, name));
      if (board.length > 1) shown.model = ""; // said above
      pane.append(box);
      main.append(pane);
      const view = regard.view(box, shown, {});
      if (chosen && view.has(chosen)) view.choose(chosen);
      return view;
    });
    if (views.length > 1) together(views);
  }

  const list = $("texts"), count = list.querySelectorAll("input").length;
  document.querySelector("nav").hidden = count < 2;
  $("house").classList.toggle("several", count > 1);
  document.documentElement.lang = regard.language;
  switches();
  regard.wordAll(document.documentElement);
  if (!count) return;
  list.addEventListener("change", (event) => show(Number(event.target.value)));
  // after the first frame: what there is without maps is seen at once
  requestAnimationFrame(() => setTimeout(() => show(Number(list.querySelector("input:checked")?.value ?? 0))));
})();
