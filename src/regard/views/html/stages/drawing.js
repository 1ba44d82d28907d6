// A small copy of the drawing of the whole model, in which the blocks of a stage light up.
const SVG = "http://www.w3.org/2000/svg";
const TAGS = new Set(["rect", "path"]); // letters would be too small to read

function svgElement(tag, attributes, text) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.append(Object.assign(document.createElementNS(SVG, "title"), { textContent: text }));
  return node;
}

const isAny = (wanted, given) => wanted === null || wanted === given;

/** `drawing` is that of regard.views.html.model_drawing; `onBlock(matches)` is called of a block that is clicked. */
regard.ModelDrawing = class {
  #blocks = [];

  constructor({ width, height, shapes }, onBlock) {
    const top = 70; // above it is the heading of the large drawing
    this.svg = svgElement("svg", { viewBox: `0 ${top} ${width} ${height - top}`, class: "model-drawing", "aria-hidden": "true" });
    for (const { tag, attributes, text, place } of shapes) {
      if (!TAGS.has(tag)) continue;
      const node = svgElement(tag, attributes, text);
      this.svg.append(node);
      if (!place) continue;
      const matches = ({ side, part, layer }) => isAny(place.side, side) && isAny(place.part, part) && (!place.layers || layer === null || place.layers.includes(layer));
      this.#blocks.push([node, matches]);
      node.addEventListener("click", () => onBlock(matches));
    }
  }

  /** Lights the blocks in which a step happens. */
  light(step) {
    for (const [node, matches] of this.#blocks) node.classList.toggle("lit", matches(step));
  }
};
