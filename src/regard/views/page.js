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
