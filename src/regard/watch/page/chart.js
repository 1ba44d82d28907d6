// One chart: lines over updates or time, with a cursor that pointer and arrow keys move.

import { say } from "./messages.js";
import { clock, ticks, timeTicks, whole } from "./numbers.js";

const { element } = window.regard;
const SVG = "http://www.w3.org/2000/svg";
const HEIGHT = 190, TOP = 10, RIGHT = 14, BOTTOM = 24;
const MOST = 700; // points of a line that are drawn

function svg(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

/** The mean over some points on both sides of each. */
export function smoothed(points) {
  const half = Math.floor(points.length / 50);
  if (!half) return points;
  const sums = [0];
  for (const { y } of points) sums.push(sums.at(-1) + y);
  return points.map((point, at) => {
    const reach = Math.min(half, at, points.length - 1 - at); // symmetrical, so that the ends are not shifted
    return { ...point, y: (sums[at + reach + 1] - sums[at - reach]) / (2 * reach + 1) };
  });
}

/** At most MOST points: means of neighbours. */
function thinned(points) {
  if (points.length <= MOST) return points;
  const size = points.length / MOST;
  return Array.from({ length: MOST }, (_, part) => {
    const some = points.slice(Math.floor(part * size), Math.floor((part + 1) * size));
    const mean = (name) => some.reduce((sum, point) => sum + point[name], 0) / some.length;
    return { ...some[0], x: mean("x"), y: mean("y") };
  });
}

/** The point of a line that is nearest to x. */
function nearest(points, x) {
  let [low, high] = [0, points.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (points[middle].x < x) low = middle + 1;
    else high = middle;
  }
  return low && x - points[low - 1].x < points[low].x - x ? points[low - 1] : points[low];
}

export class Chart {
  #lines = []; // { label, style, color, points }
  #axis = "step";
  #cursor = null; // x

  /** `format(value)` writes a value; `onCursor(x)` hears of the pointer, `onPick(x)` of a click. */
  constructor({ title, format, zero = false, onCursor, onPick }) {
    Object.assign(this, { title, format, zero, onCursor, onPick });
    this.caption = element("figcaption");
    this.plot = element("div", { className: "plot", tabIndex: 0, role: "slider", aria: { valuemin: 0 } });
    this.box = element("figure", { className: "chart" }, this.caption, this.plot);
    this.plot.addEventListener("pointermove", (event) => this.onCursor(this.#xAt(event)));
    this.plot.addEventListener("pointerleave", () => this.onCursor(null));
    this.plot.addEventListener("click", (event) => this.onPick(this.#xAt(event)));
    this.plot.addEventListener("keydown", (event) => this.#handleKey(event));
    this.plot.addEventListener("blur", () => this.onCursor(null));
    new ResizeObserver(() => this.draw()).observe(this.plot);
  }

  show(lines, axis) {
    this.#lines = lines.filter(({ points }) => points.length);
    this.#axis = axis;
    this.box.hidden = !this.#lines.length;
    this.draw();
  }

  setCursor(x) {
    this.#cursor = x;
    this.#drawCursor();
  }

  get #read() { return this.#lines.filter(({ style }) => style !== "raw"); }

  #ranges() {
    const all = this.#lines.flatMap(({ points }) => points), ys = all.map(({ y }) => y);
    let [low, high] = [Math.min(...ys), Math.max(...ys)];
    if (this.zero) low = Math.min(0, low);
    if (high - low < 1e-12) [low, high] = [low - Math.abs(low) * 0.1 - 1e-9, high + Math.abs(high) * 0.1 + 1e-9];
    const room = (high - low) * 0.06, right = Math.max(...all.map(({ x }) => x));
    return { low: this.zero && low === 0 ? 0 : low - room, high: high + room, left: 0, right: right > 0 ? right : 1 };
  }

  draw() {
    if (this.box.hidden || !this.plot.clientWidth) return;
    const width = this.plot.clientWidth, { low, high, left, right } = this.#ranges();
    const marks = ticks(low, high, 4).filter((y) => y >= low && y <= high), labels = marks.map(this.format);
    const margin = Math.max(26, 8 + 6.6 * Math.max(...labels.map((label) => label.length)));
    const inner = Math.max(10, width - margin - RIGHT);
    this.scale = {
      x: (x) => margin + ((x - left) / (right - left)) * inner,
      y: (y) => TOP + (1 - (y - low) / (high - low)) * (HEIGHT - TOP - BOTTOM),
      back: (pixel) => left + ((pixel - margin) / inner) * (right - left),
    };
    const { x: at, y: up } = this.scale, grid = svg("g", { class: "grid" });
    marks.forEach((y, number) => grid.append(
      svg("line", { x1: margin, x2: width - RIGHT, y1: up(y), y2: up(y) }),
      svg("text", { x: margin - 6, y: up(y) + 3.5, "text-anchor": "end" }, labels[number])));
    const count = Math.max(2, Math.floor(inner / 62));
    const times = this.#axis === "time" ? timeTicks(left, right, count) : ticks(left, right, count).filter(Number.isInteger);
    for (const x of times) {
      const anchor = at(x) > width - 24 ? "end" : "middle";
      grid.append(svg("text", { x: at(x), y: HEIGHT - 6, "text-anchor": anchor }, this.#axis === "time" ? clock(x) : whole(x)));
    }
    const drawn = this.#lines.flatMap((line) => this.#drawLine(line));
    this.cursor = svg("g", { class: "cursor" });
    this.plot.replaceChildren(svg("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" }, grid, ...drawn, this.cursor));
    this.#drawCursor();
  }

  #drawLine({ points, style, color }) {
    const { x: at, y: up } = this.scale, place = ({ x, y }) => `${at(x).toFixed(1)} ${up(y).toFixed(1)}`;
    const shown = thinned(points);
    const path = svg("path", { class: `${style} ${color}`, d: shown.map((point, number) => `${number ? "L" : "M"}${place(point)}`).join("") });
    if (style !== "dots" && shown.length > 1) return [path];
    const few = shown.length > 60 ? shown.slice(-1) : shown; // many dots would hide the line
    return [path, ...few.map((point) => svg("circle", { class: color, cx: at(point.x), cy: up(point.y), r: 3 }))];
  }

  // ---- the cursor

  #drawCursor() {
    if (!this.cursor || this.box.hidden) return;
    const lines = this.#read, { x: at, y: up } = this.scale;
    const found = lines.map(({ points }) => (this.#cursor === null ? points.at(-1) : nearest(points, this.#cursor)));
    this.cursor.replaceChildren();
    if (this.#cursor !== null) {
      const x = at(this.#cursor);
      this.cursor.append(svg("line", { x1: x, x2: x, y1: TOP, y2: HEIGHT - BOTTOM }));
      found.forEach(({ x: own, y }, number) => this.cursor.append(svg("circle", { class: lines[number].color, cx: at(own), cy: up(y), r: 4 })));
    }
    this.#caption(found);
  }

  #where(x) { return this.#axis === "time" ? clock(x) : say("chart.at.step", { step: whole(x) }); }

  #caption(found) {
    const lines = this.#read, title = this.title();
    const value = ({ label }, number) => [label, this.format(found[number].y)].filter(Boolean).join(" ");
    this.caption.replaceChildren(element("b", {}, title), ...(this.#cursor === null ? [] : [element("span", { className: "where" }, this.#where(this.#cursor))]),
      element("span", { className: "values" }, ...lines.map((line, number) =>
        element("span", { className: `value ${line.color} ${line.style}` }, value(line, number)))));
    const latest = lines.map(value).join(", "), last = Math.max(...lines.map(({ points }) => points.at(-1).x));
    this.plot.setAttribute("aria-label", say("chart.label", { title, latest }));
    this.plot.setAttribute("aria-valuemax", String(last));
    this.plot.setAttribute("aria-valuenow", String(this.#cursor ?? last));
    this.plot.setAttribute("aria-valuetext", `${this.#where(this.#cursor ?? last)}: ${latest}`);
  }

  #xAt(event) {
    if (!this.scale) return null;
    const x = this.scale.back(event.clientX - this.plot.getBoundingClientRect().left);
    return Math.max(0, Math.min(x, Math.max(...this.#read.map(({ points }) => points.at(-1).x))));
  }

  /** Arrow keys go from point to point of the line that has the fewest. */
  #handleKey(event) {
    const line = this.#read.reduce((few, one) => (one.points.length < few.points.length ? one : few)).points;
    const now = this.#cursor === null ? line.length - 1 : line.indexOf(nearest(line, this.#cursor));
    const keys = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: line.length - 1, PageDown: now - 10, PageUp: now + 10 };
    if (event.key === "Escape") this.onCursor(null);
    else if (event.key === "Enter") this.onPick(this.#cursor ?? line.at(-1).x);
    else if (event.key in keys) this.onCursor(line[Math.max(0, Math.min(line.length - 1, keys[event.key]))].x);
    else return;
    event.preventDefault();
  }
}
