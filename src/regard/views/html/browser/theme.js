// Colors of weights, and the light and dark themes.

/** The color [red, green, blue] of a CSS variable such as --paper. */
function color(name) {
  const hex = getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

/** The intensity of a weight's color from 0 to 1; the exponent makes small weights visible. */
regard.intensity = (share) => Math.min(Math.max(share, 0), 1) ** 0.7;

const STEPS = 4096;
const ramps = new Map(); // by their colors
/** Pixels (little-endian RGBA) from paper (0) to the accent color (1), in even steps of the weight. */
regard.colorRamp = () => {
  const paper = color("--paper"), accent = color("--accent"), key = `${paper}/${accent}`;
  if (ramps.has(key)) return ramps.get(key);
  const ramp = new Uint32Array(STEPS);
  for (let step = 0; step < STEPS; step++) {
    const share = regard.intensity(step / (STEPS - 1));
    const channel = (at) => Math.round(paper[at] + (accent[at] - paper[at]) * share);
    ramp[step] = (255 << 24) | (channel(2) << 16) | (channel(1) << 8) | channel(0);
  }
  ramps.set(key, ramp);
  return ramp;
};

/** Paints weights as pixels of a canvas, `width` to a line; the weight `max` has the full color. */
regard.paintWeights = (canvas, weights, width, max, ramp) => {
  const height = Math.max(1, Math.round(weights.length / width));
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext("2d"), image = context.createImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer), scale = (STEPS - 1) / (max || 1);
  for (let index = 0; index < weights.length; index++) {
    const step = weights[index] * scale;
    pixels[index] = ramp[step >= STEPS ? STEPS - 1 : step | 0];
  }
  context.putImageData(image, 0, 0);
};

// ---- themes: "auto", "light" or "dark"; paper is always light

regard.theme = "auto";
regard.printing = false;
function applyTheme() {
  const { dataset } = document.documentElement;
  if (regard.printing) dataset.theme = "light"; // canvases are painted before the page is laid out for paper
  else if (regard.theme === "auto") delete dataset.theme;
  else dataset.theme = regard.theme;
  document.dispatchEvent(new CustomEvent("regard:theme", { detail: regard.theme }));
}

regard.setTheme = (theme) => {
  regard.theme = theme === "light" || theme === "dark" ? theme : "auto";
  regard.remember("theme", regard.theme);
  applyTheme();
};
if (regard.remember("theme")) regard.setTheme(regard.remember("theme"));

for (const [name, printing] of [["beforeprint", true], ["afterprint", false]])
  addEventListener(name, () => {
    regard.printing = printing;
    applyTheme();
  });
for (const query of ["(prefers-color-scheme: dark)", "print"]) matchMedia(query).addEventListener("change", applyTheme);
