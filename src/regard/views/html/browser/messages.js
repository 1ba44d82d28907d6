// The texts of the view: key → [English, Chinese].
const LANGUAGES = ["en", "zh"];
const messages = {
  alignment: ["Alignment", "对齐"],
  text: ["Words", "词语"],
  attention: ["Attention", "注意力"],
  source: ["Source", "原文"],
  target: ["Translation", "译文"],
  "alignment.label": ["Text and label", "文本与标签"],
  "target.label": ["Label", "标签"],
  "about.cross.label": [
    "A row is a piece of the label: where in the text the model looked to write it.",
    "每一行是标签的一个片段：写下它时，模型看了文本的哪些地方。"],
  "about.encoder.label": [
    "A row is a piece of the text: where in the text it looked.",
    "每一行是文本的一个片段：它看了文本的哪些地方。"],
  "about.decoder.label": [
    "A row is what the decoder read last: where among the pieces of the label so far it looked.",
    "每一行是解码器刚读到的片段：它看了标签前面的哪些片段。"],
  "reference.label": ["Right label: {text}", "正确标签：{text}"],
  "referenceSame.label": ["Right label: the same.", "正确标签：相同。"],
  texts: ["Texts", "文本"],
  stepByStep: ["Step by step: every number on a word's way", "逐步查看：一个词经过的每个数"],
  noStages: [
    "The stages of this text are left out, as they take too much; `regard trace` shows those of any sentence.",
    "这段文本的逐步过程数据过大，未包含在内；可用 `regard trace` 查看任意一句。"],
  kind: ["Kind", "类型"],
  layer: ["Layer", "层"],
  head: ["Head", "注意力头"],
  mean: ["mean", "平均"],
  cross: ["cross", "交叉"],
  encoder: ["encoder", "编码器"],
  decoder: ["decoder", "解码器"],
  "about.cross": [
    "A row is a piece of the translation: where in the source the model looked to write it.",
    "每一行是译文的一个片段：写下它时，模型看了原文的哪些地方。"],
  "about.encoder": [
    "A row is a piece of the source: where in the source it looked.",
    "每一行是原文的一个片段：它看了原文的哪些地方。"],
  "about.decoder": [
    "A row is what the decoder read last: where among the words so far it looked.",
    "每一行是解码器刚读到的片段：它看了前面的哪些词。"],
  "about.alone": [
    "A row is a piece of the text: where in the text it looked.",
    "每一行是文本的一个片段：它看了文本的哪些地方。"],
  "about.causal": [
    "A row is a piece of the text: where among the pieces so far it looked.",
    "每一行是文本的一个片段：它看了前面的哪些片段。"],
  linesFrom: [
    "Lines read from cross attention, layer {layer}, head {head}.",
    "连线取自交叉注意力第 {layer} 层第 {head} 头。"],
  underlines: ["Underlines show confidence.", "下划线表示置信度。"],
  reference: ["Reference: {text}", "参考译文：{text}"],
  referenceSame: ["Reference: the same.", "参考译文：相同。"],
  confidence: ["confidence {share}", "置信度 {share}"],
  lookedAt: ["looked at", "看了"],
  seenBy: ["seen by", "被看"],
  noWord: ["no word", "非词语"],
  theRest: ["the rest", "其余"],
  hintWords: [
    "Point at a word, or go there with Tab and the arrow keys, to see what it is linked to.",
    "把指针移到词语上，或用 Tab 和方向键选中它，查看与它相连的词。"],
  hintLooked: [
    "Point at a word, or go there with Tab and the arrow keys, to see what it looked at and what looked at it.",
    "把指针移到词语上，或用 Tab 和方向键选中它，查看它看了什么、又被什么看。"],
  hintCells: [
    "Point at a cell, or go there with the arrow keys, to read its weight. Wheel, pinch or + and − zoom, drag moves, 0\u00a0fits.",
    "把指针移到格子上，或用方向键移动，读出权重。滚轮、双指或 + − 缩放，拖动平移，0 还原。"],
  mapLabel: [
    "{kind} attention, layer {layer}, {head}: {rows} rows, {columns} columns; arrow keys read the cells, plus and minus zoom",
    "{kind}注意力，第 {layer} 层，{head}：{rows} 行，{columns} 列；方向键读取格子，加减号缩放"],
  headNumber: ["head {head}", "第 {head} 头"],
  meanOfHeads: ["mean of heads", "各头平均"],
  hidden: ["hidden", "不可见"],
  atMost: ["at most {share}", "至多 {share}"],
  rowBits: ["this row: {bits} bits of at most {most}", "本行：{bits} 比特，至多 {most}"],
  bits: ["{bits} bits", "{bits} 比特"],
  entropy: ["entropy", "熵"],
  entropyOf: ["spreads over {bits} bits of at most {most}", "分散程度 {bits} 比特，至多 {most}"],
  zoomIn: ["Zoom in", "放大"],
  zoomOut: ["Zoom out", "缩小"],
  fit: ["Fit", "适合"],
  fitLong: ["Fit the whole map", "适合整张图"],
  fullScale: ["colors to 100 %", "色标到 100 %"],
  packed: [
    "Large map: the {count} largest weights of each row exactly; the rest as the largest of each {factor} × {factor} square.",
    "大图：每行最大的 {count} 个权重是精确值；其余以每个 {factor} × {factor} 方块中的最大值表示。"],
  packedOne: [
    "Large map: the largest weight of each row exactly; the rest as the largest of each {factor} × {factor} square.",
    "大图：每行最大的一个权重是精确值；其余以每个 {factor} × {factor} 方块中的最大值表示。"],
  noMaps: ["There are no attention maps of this text.", "这段文本没有注意力图。"],
  broken: ["This map could not be read: {why}", "无法读取这张图：{why}"],
  theme: ["Theme", "主题"],
  "theme.auto": ["auto", "自动"],
  "theme.light": ["light", "浅色"],
  "theme.dark": ["dark", "深色"],
  language: ["Language", "语言"],
};

/** Reads, or writes and reads, a setting in local storage; a sandboxed frame has none. */
regard.remember = (name, value) => {
  try {
    if (value !== undefined) localStorage.setItem(`regard.${name}`, value);
    return localStorage.getItem(`regard.${name}`);
  } catch {
    return value ?? null;
  }
};

/** Adds messages: { key: [English, Chinese] }. */
regard.addMessages = (more) => Object.assign(messages, more);

/** The message of `key` in the page's language, with each {name} replaced from `values`. */
regard.message = (key, values = {}) => {
  const texts = messages[key];
  if (!texts) return key;
  const text = texts[LANGUAGES.indexOf(regard.language)] ?? texts[0];
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
};

/** Fills in the messages named by data-message (text), data-message-label and data-message-title. */
regard.translate = (root) => {
  const fill = (attribute, set) => {
    const nodes = [...root.querySelectorAll(`[${attribute}]`)];
    if (root.matches?.(`[${attribute}]`)) nodes.push(root);
    for (const node of nodes) set(node, regard.message(node.getAttribute(attribute)));
  };
  fill("data-message", (node, text) => { node.textContent = text; });
  fill("data-message-label", (node, text) => node.setAttribute("aria-label", text));
  fill("data-message-title", (node, text) => { node.title = text; });
};

regard.setLanguage = (code) => {
  regard.language = LANGUAGES.includes(code) ? code : "en";
  regard.remember("language", regard.language);
  document.documentElement.lang = regard.language;
  regard.translate(document.documentElement);
  document.dispatchEvent(new CustomEvent("regard:language", { detail: regard.language }));
};

const preferred = regard.remember("language") ?? navigator.language ?? "en";
regard.language = preferred.toLowerCase().startsWith("zh") ? "zh" : "en";
