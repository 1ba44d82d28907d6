"use strict";
(() => {
  // Elements, numbers, colours and themes.
  const regard = (window.regard ??= {});

  /** An element; strings among its children become text nodes: no text is ever read as HTML. */
  regard.element = (tag, options = {}, ...children) => {
    const { data, aria, role, ...rest } = options;
    const made = Object.assign(document.createElement(tag), rest);
    for (const [name, value] of Object.entries(data ?? {})) made.dataset[name] = value;
    for (const [name, value] of Object.entries(aria ?? {})) made.setAttribute(`aria-${name}`, value);
    if (role) made.setAttribute("role", role);
    made.append(...children);
    return made;
  };

  regard.emit = (from, name, detail) => from.dispatchEvent(new CustomEvent(name, { bubbles: true, detail }));

  /** A weight in per cent, with as many digits as it needs. */
  regard.percent = (weight) => {
    if (!(weight > 0)) return "0 %";
    if (weight < 0.0001) return "< 0.01 %";
    const digits = weight >= 0.0995 ? 0 : weight >= 0.00995 ? 1 : weight >= 0.000995 ? 2 : 3;
    return `${(weight * 100).toFixed(digits)} %`;
  };

  regard.languageTag = (language) => (language ?? "").replace("_", "-");

  const TURNING = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu; // they turn the direction of what is around them
  const SEEN = /[^\p{C}\p{Z}\u115f\u1160\u3164\u2800]/u;
  const named = (letter) => `[U+${letter.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`;

  /** A text in which something is to be seen: what would be blank, or turn other words around, by its number. */
  regard.visible = (text) => {
    if (text === "" || text === " ") return text;
    return SEEN.test(text) ? text.replace(TURNING, named) : [...text].map(named).join("");
  };

  /** A token as it is shown: the byte of a printable character as that character. */
  regard.tokenText = (token) => {
    const byte = /^<0x([2-7][0-9A-Fa-f])>$/.exec(token), code = byte ? parseInt(byte[1], 16) : 0;
    if (code >= 0x20 && code < 0x7f) return code === 0x20 ? "␠" : String.fromCharCode(code);
    return regard.visible(token);
  };

  // ---- time: work in slices, so that no frame waits

  const SLICE = 8; // milliseconds
  let since = 0;
  /** Nothing while there is time left in this slice, else a promise of the next one. */
  regard.breathe = () => {
    if (performance.now() - since < SLICE) return undefined;
    return new Promise((done) => setTimeout(() => { since = performance.now(); done(); }));
  };

  // ---- colours

  regard.colour = (name, from = document.documentElement) => {
    const hex = getComputedStyle(from).getPropertyValue(name).trim();
    return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  };

  /** How strongly a share of the scale is coloured: a little more than it is, so that small ones are seen. */
  regard.strength = (share) => Math.min(Math.max(share, 0), 1) ** 0.7;

  const STEPS = 4096;
  const ramps = new Map(); // by their colours
  /** Pixels (little-endian RGBA) from paper (0) to the accent (1), in even steps of the weight. */
  regard.ramp = () => {
    const none = regard.colour("--paper"), full = regard.colour("--accent"), key = `${none}/${full}`;
    if (ramps.has(key)) return ramps.get(key);
    const found = new Uint32Array(STEPS);
    for (let step = 0; step < STEPS; step++) {
      const share = regard.strength(step / (STEPS - 1));
      const part = (at) => Math.round(none[at] + (full[at] - none[at]) * share);
      found[step] = (255 << 24) | (part(2) << 16) | (part(1) << 8) | part(0);
    }
    ramps.set(key, found);
    return found;
  };

  /** Paints weights as pixels of a canvas, `width` to a line; `most` has the full colour. */
  regard.paint = (canvas, weights, width, most, ramp) => {
    const height = Math.max(1, Math.round(weights.length / width));
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d"), image = context.createImageData(width, height);
    const pixels = new Uint32Array(image.data.buffer), scale = (STEPS - 1) / (most || 1);
    for (let place = 0; place < weights.length; place++) {
      const step = weights[place] * scale;
      pixels[place] = ramp[step >= STEPS ? STEPS - 1 : step | 0];
    }
    context.putImageData(image, 0, 0);
  };

  // ---- themes

  const THEMES = ["auto", "light", "dark"];
  regard.theme = "auto";
  regard.setTheme = (theme) => {
    regard.theme = THEMES.includes(theme) ? theme : "auto";
    regard.remember("theme", regard.theme);
    if (regard.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = regard.theme;
    document.dispatchEvent(new CustomEvent("regard:theme", { detail: regard.theme }));
  };
  const kept = regard.remember("theme");
  if (kept === "light" || kept === "dark") regard.setTheme(kept);
  // ---- paper is light

  regard.printing = false;
  const repaint = () => document.dispatchEvent(new CustomEvent("regard:theme", { detail: regard.theme }));
  addEventListener("beforeprint", () => {
    document.documentElement.dataset.theme = "light"; // canvases are painted before the page is laid out for paper
    regard.printing = true;
    repaint();
  });
  addEventListener("afterprint", () => {
    regard.printing = false;
    if (regard.theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = regard.theme;
    repaint();
  });

  for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", repaint);
})();
