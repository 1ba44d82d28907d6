// DOM elements, formatted numbers and tokens, and long work in slices.

/** Creates an element; strings among its children become text nodes, never HTML. */
regard.element = (tag, options = {}, ...children) => {
  const { data, aria, role, ...properties } = options;
  const node = Object.assign(document.createElement(tag), properties);
  for (const [name, value] of Object.entries(data ?? {})) node.dataset[name] = value;
  for (const [name, value] of Object.entries(aria ?? {})) node.setAttribute(`aria-${name}`, value);
  if (role) node.setAttribute("role", role);
  node.append(...children);
  return node;
};

regard.emit = (target, name, detail) => target.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));

/** A weight in percent, with as many digits as it needs. */
regard.percent = (weight) => {
  if (!(weight > 0)) return "0 %";
  if (weight < 0.0001) return "< 0.01 %";
  const digits = weight >= 0.0995 ? 0 : weight >= 0.00995 ? 1 : weight >= 0.000995 ? 2 : 3;
  return `${(weight * 100).toFixed(digits)} %`;
};

regard.languageTag = (language) => (language ?? "").replace("_", "-");

const BIDI_CONTROLS = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu; // they change the direction of the text around them
const VISIBLE = /[^\p{C}\p{Z}\u115f\u1160\u3164\u2800]/u;
const codePoint = (letter) => `[U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;

/** A text with invisible and bidirectional control characters replaced by their code points. */
regard.visible = (text) => {
  if (text === "" || text === " ") return text;
  return VISIBLE.test(text) ? text.replace(BIDI_CONTROLS, codePoint) : [...text].map(codePoint).join("");
};

/** A token as it is shown: the byte of a printable character as that character. */
regard.tokenText = (token) => {
  const byte = /^<0x([2-7][0-9A-Fa-f])>$/.exec(token), code = byte ? parseInt(byte[1], 16) : 0;
  if (code >= 0x20 && code < 0x7f) return code === 0x20 ? "␠" : String.fromCharCode(code);
  return regard.visible(token);
};

const SLICE = 8; // milliseconds
let sliceStart = 0;
/** Await it in long loops: a promise of the next task if this one has run for a slice, else undefined. */
regard.yieldToBrowser = () => {
  if (performance.now() - sliceStart < SLICE) return undefined;
  return new Promise((resolve) => setTimeout(() => { sliceStart = performance.now(); resolve(); }));
};
