// The map of one head: a canvas that shows the whole matrix at first, and any part of it zoomed in.
const { element, message } = regard;
const MAX_CELL = 64, FITTED_CELL = 28; // pixels of a cell: at most, and at most while the whole map is shown
const LEGIBLE = 14; // pixels of a cell from which on the wheel scrolls the page
const BARS = 40, GAP = 8; // pixels: the width of the entropy bars, and the space before them
const GRID = 7; // pixels of a cell from which on lines are drawn between cells
const LONG = 200; // tokens from which on readouts include positions

regard.MapView = class {
  cursor = null;
  zoom = { x: 1, y: 1 }; // pixels of a cell
  origin = { x: 0, y: 0 }; // the column and row at the upper left
  fullScale = false; // whether colors go up to 100 %
  #frameRequest = 0;
  #activeWord = null;
  #version = 0; // of the last map that was requested

  constructor({ onRow, clickable }) {
    this.onRow = onRow;
    this.canvas = element("canvas", { aria: { hidden: "true" } });
    this.mark = element("span", { className: "off-mark", hidden: true });
    this.box = element("div", { className: "cells", tabIndex: 0, role: "application" }, this.canvas);
    this.box.classList.toggle("clickable", clickable);
    this.out = element("p", { className: "readout value", aria: { live: "polite" } });
    this.context = this.canvas.getContext("2d");
    regard.attachInput(this);
    this.resizeObserver = new ResizeObserver(() => {
      if (this.box.clientWidth !== this.width) this.fit(true);
    });
    this.resizeObserver.observe(this.box);
  }

  destroy() { this.#version++; this.resizeObserver.disconnect(); cancelAnimationFrame(this.#frameRequest); }

  /** Shows a head of a layer; returns a promise of its being shown. */
  async show(layer, head, label) {
    const version = ++this.#version, same = this.matrix?.rows === layer.rows && this.matrix?.columns === layer.columns;
    this.box.setAttribute("aria-busy", "true");
    this.box.setAttribute("aria-label", label);
    const matrix = await layer.matrix(head), entropies = await layer.entropies(head);
    if (version !== this.#version) return;
    Object.assign(this, { matrix, entropies, layer });
    this.repaint();
    if (same) this.draw();
    else this.fit(false);
    this.setCursor(same ? this.cursor : null);
    this.box.removeAttribute("aria-busy");
  }

  /** Applies the colors again: another head, scale or theme. */
  repaint() {
    if (!this.matrix) return;
    const names = ["paper", "ink", "muted", "line", "accent", "second", "masked", "hatch"];
    const style = getComputedStyle(this.box);
    this.colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    this.max = this.fullScale ? 1 : this.matrix.max;
    this.tiles = new regard.Tiles(this.matrix, this.max, regard.colorRamp());
    this.#makePattern();
    this.draw();
  }

  /** Dims the map with a reason, such as a head that is switched off; without a text it is shown normally. */
  dim(text) {
    this.mark.textContent = text ?? "";
    this.mark.hidden = !text;
    if (text) this.box.setAttribute("aria-description", text);
    else this.box.removeAttribute("aria-description");
    this.draw();
  }

  // ---- geometry

  get numColumns() { return this.matrix.width; }
  get numRows() { return this.matrix.height; }
  get canZoomIn() { return Math.min(this.fitted.x, this.fitted.y) < LEGIBLE; }
  get isFitted() { return this.zoom.x <= this.fitted.x * 1.001 && this.zoom.y <= this.fitted.y * 1.001; }

  /** Whether all cells are visible. */
  get showsAll() {
    return this.numColumns * this.zoom.x <= this.frame.width + 0.5 && this.numRows * this.zoom.y <= this.frame.height + 0.5;
  }

  /** Lays the map out again with all cells visible; `keepZoom` keeps the part that is zoomed in, if any. */
  fit(keepZoom) {
    if (!this.matrix || !this.box.clientWidth) return;
    const zoomedIn = keepZoom && this.fitted && !this.isFitted;
    this.width = this.box.clientWidth;
    const left = regard.labelRoom(this.matrix.rows.tokens, "rows", 44, Math.min(130, Math.max(56, this.width * 0.24)));
    const top = regard.labelRoom(this.matrix.columns.tokens, "columns", 50, 110);
    const room = { x: Math.max(60, this.width - left - GAP - BARS - 1), y: Math.max(240, Math.min(760, innerHeight * 0.75)) };
    let x = Math.min(FITTED_CELL, room.x / this.numColumns), y = Math.min(FITTED_CELL, room.y / this.numRows);
    if (Math.max(x, y) < 3 * Math.min(x, y)) x = y = Math.min(x, y); // else cells are not square
    Object.assign(this, { fitted: { x, y }, room, frame: { left, top, width: 0, height: 0 } });
    if (zoomedIn) this.zoom = { x: Math.max(x, this.zoom.x), y: Math.max(y, this.zoom.y) };
    else {
      this.zoom = { ...this.fitted };
      this.origin = { x: 0, y: 0 };
    }
    this.#resizeFrame();
    this.#clampOrigin();
    this.draw();
  }

  #largestCell(axis) { return Math.max(MAX_CELL, this.fitted[axis]); }

  /** Makes the frame as large as the cells need, within the room. */
  #resizeFrame() {
    const { frame, zoom, room } = this;
    frame.width = Math.min(room.x, this.numColumns * zoom.x);
    frame.height = Math.min(room.y, this.numRows * zoom.y);
    this.height = Math.ceil(frame.top + frame.height + 6);
    this.canvas.style.height = `${this.height}px`;
    this.onZoom?.({ isFitted: this.isFitted, isLargest: ["x", "y"].every((axis) => zoom[axis] >= this.#largestCell(axis) * 0.999) });
  }

  #clampOrigin() {
    const { frame, zoom, origin } = this;
    origin.x = Math.max(0, Math.min(origin.x, this.numColumns - frame.width / zoom.x));
    origin.y = Math.max(0, Math.min(origin.y, this.numRows - frame.height / zoom.y));
    this.box.classList.toggle("zoomed", !this.showsAll);
  }

  /** Zooms in (factor > 1) or out around a point of the canvas. */
  zoomBy(factor, point) {
    if (!this.matrix) return;
    const { frame, zoom, origin } = this;
    const center = point ?? { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
    for (const [axis, start] of [["x", frame.left], ["y", frame.top]]) {
      const offset = center[axis] - start, cell = origin[axis] + offset / zoom[axis];
      zoom[axis] = Math.max(this.fitted[axis], Math.min(this.#largestCell(axis), zoom[axis] * factor));
      origin[axis] = cell - offset / zoom[axis];
    }
    this.#resizeFrame();
    this.#clampOrigin();
    this.draw();
  }

  pan(x, y) {
    this.origin.x -= x / this.zoom.x;
    this.origin.y -= y / this.zoom.y;
    this.#clampOrigin();
    this.draw();
  }

  /** The cell at a point of the canvas; at the entropy bars, only its row. */
  cellAt(x, y) {
    if (!this.matrix) return null;
    const { frame, zoom, origin } = this, offset = x - frame.left;
    const row = Math.floor(origin.y + (y - frame.top) / zoom.y);
    if (y < frame.top || y > frame.top + frame.height || row < 0 || row >= this.numRows) return null;
    if (offset >= 0 && offset <= frame.width) return { row, column: Math.min(this.numColumns - 1, Math.floor(origin.x + offset / zoom.x)) };
    if (offset >= frame.width + GAP && offset <= frame.width + GAP + BARS) return { row, column: null };
    return null;
  }

  /** The center of a cell, in pixels of the canvas. */
  pointOf({ row, column }) {
    const { frame, zoom, origin } = this;
    return { x: frame.left + ((column ?? 0) + 0.5 - origin.x) * zoom.x, y: frame.top + (row + 0.5 - origin.y) * zoom.y };
  }

  /** Scrolls so that the cursor is visible. */
  #follow() {
    const { frame, zoom, origin, cursor } = this;
    for (const [axis, cell, size] of [["x", cursor.column ?? 0, frame.width], ["y", cursor.row, frame.height]])
      origin[axis] = Math.max(cell + 1 - size / zoom[axis], Math.min(cell, origin[axis]));
    this.#clampOrigin();
  }

  // ---- the readout

  /** Moves the cursor to a cell or null and writes its weight; `follow` scrolls there. */
  setCursor(cursor = this.cursor, follow = false) {
    this.cursor = cursor;
    if (follow) this.#follow();
    this.out.dataset.hint = message("hintCells");
    this.out.replaceChildren();
    this.draw();
    if (!cursor || !this.matrix) return;
    const { row, column } = cursor, { matrix } = this;
    const token = ({ tokens }, index) => {
      const position = tokens.length > LONG ? [element("span", { className: "share" }, ` ${index}`)] : [];
      return [element("b", {}, regard.tokenText(tokens[index])), ...position];
    };
    this.out.append(...token(matrix.rows, row));
    const most = Math.log2(matrix.causal ? row + 1 : matrix.width);
    const bits = { bits: this.entropies[row].toFixed(2), most: most.toFixed(2) };
    if (column === null) this.out.append(` ${message("entropyOf", bits)}`);
    else {
      this.out.append(" → ", ...token(matrix.columns, column), " ", this.weightAt(row, column));
      this.out.append(element("span", { className: "share row-bits" }, message("rowBits", bits)));
    }
  }

  weightAt(row, column) {
    if (this.matrix.causal && column > row) return message("hidden");
    const { weight, exact } = this.matrix.at(row, column);
    return exact ? regard.percent(weight) : message("atMost", { share: regard.percent(weight) });
  }

  /** Marks the tokens of the active word: { side, word } or null. */
  setActiveWord(active) {
    this.#activeWord = active;
    this.draw();
  }

  #highlighted(axis, index) {
    const active = this.#activeWord, group = active && axis.side === active.side ? axis.groups[active.word] ?? [] : [];
    return new Set(index === undefined || index === null ? group : [...group, index]);
  }

  // ---- drawing

  draw() {
    if (!this.matrix || !this.frame) return;
    if (regard.printing) this.#draw(); // there is no animation frame before printing
    else this.#frameRequest ||= requestAnimationFrame(() => {
      this.#frameRequest = 0;
      this.#draw();
    });
  }

  #draw() {
    const { context, canvas, frame, zoom, origin } = this, pixelRatio = devicePixelRatio || 1;
    const width = Math.round(this.width * pixelRatio), height = Math.round(this.height * pixelRatio);
    if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
    context.setTransform(pixelRatio, 0, 0, pixelRatio, 0, 0);
    context.clearRect(0, 0, this.width, this.height);
    const left = frame.left - origin.x * zoom.x, top = frame.top - origin.y * zoom.y; // of cell (0, 0)
    const range = {
      firstX: Math.floor(origin.x), lastX: Math.min(this.numColumns - 1, Math.ceil(origin.x + frame.width / zoom.x) - 1),
      firstY: Math.floor(origin.y), lastY: Math.min(this.numRows - 1, Math.ceil(origin.y + frame.height / zoom.y) - 1),
    };
    context.save();
    context.beginPath();
    context.rect(frame.left, frame.top, frame.width, frame.height);
    context.clip();
    const right = frame.left + frame.width, bottom = frame.top + frame.height;
    const complete = this.tiles.draw(context, { left, top, right, bottom, cellWidth: zoom.x, cellHeight: zoom.y }, pixelRatio);
    if (this.matrix.causal) this.#drawMask(left, top, right, range);
    if (Math.min(zoom.x, zoom.y) >= GRID) this.#drawGrid(left, top, range);
    if (!this.mark.hidden) this.#drawDimmed();
    if (this.cursor) this.#drawCursor(left, top);
    context.restore();
    context.strokeStyle = this.colors.line;
    context.lineWidth = 1;
    context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.width + 1, frame.height + 1);
    this.#drawLabels(left, top, range);
    this.#drawEntropy(top, range);
    if (!this.showsAll) this.#drawScrollBars();
    if (!complete && !regard.printing) this.draw();
  }

  #drawLabels(left, top, { firstX, lastX, firstY, lastY }) {
    const { context, frame, zoom, colors, matrix: { rows, columns }, cursor } = this;
    regard.drawLabels(context, "rows", {
      tokens: rows.tokens, first: firstY, last: lastY, position: (row) => top + (row + 0.5) * zoom.y, cell: zoom.y, room: frame.left,
      edge: frame.left, highlighted: this.#highlighted(rows, cursor?.row), colors, from: frame.top, to: frame.top + frame.height,
    });
    regard.drawLabels(context, "columns", {
      tokens: columns.tokens, first: firstX, last: lastX, position: (column) => left + (column + 0.5) * zoom.x, cell: zoom.x, room: frame.top,
      edge: frame.top, highlighted: this.#highlighted(columns, cursor?.column), colors, from: frame.left, to: frame.left + frame.width,
    });
  }

  #drawGrid(left, top, { firstX, lastX, firstY, lastY }) {
    const { context, zoom, frame } = this;
    context.fillStyle = this.colors.line;
    context.globalAlpha = 0.5;
    for (let column = firstX; column <= lastX; column++)
      context.fillRect(Math.round(left + column * zoom.x) - 1, frame.top, 1, frame.height);
    for (let row = firstY; row <= lastY; row++) context.fillRect(frame.left, Math.round(top + row * zoom.y) - 1, frame.width, 1);
    context.globalAlpha = 1;
  }

  /** Makes the hatch pattern of hidden cells. */
  #makePattern() {
    const tile = element("canvas", { width: 6, height: 6 }), context = tile.getContext("2d");
    context.fillStyle = this.colors.masked;
    context.fillRect(0, 0, 6, 6);
    context.strokeStyle = this.colors.hatch;
    for (const shift of [-6, 0, 6]) {
      context.moveTo(shift, 6);
      context.lineTo(shift + 6, 0);
    }
    context.stroke();
    this.pattern = this.context.createPattern(tile, "repeat");
  }

  /** Hatches the hidden cells of a causal map, right of the diagonal. */
  #drawMask(left, top, right, { firstY, lastY }) {
    const { context, zoom } = this;
    context.fillStyle = this.pattern;
    context.beginPath();
    if (zoom.y >= 3)
      for (let row = firstY; row <= lastY; row++) {
        const from = left + (row + 1) * zoom.x;
        if (from < right) context.rect(from, top + row * zoom.y, right - from, zoom.y);
      }
    else {
      const end = lastY + 1;
      context.moveTo(left + (firstY + 1) * zoom.x, top + firstY * zoom.y);
      context.lineTo(left + (end + 1) * zoom.x, top + end * zoom.y);
      context.lineTo(Math.max(right, left + (end + 1) * zoom.x), top + firstY * zoom.y);
    }
    context.fill();
  }

  /** Hatches all cells, which stay readable. */
  #drawDimmed() {
    const { context, frame } = this;
    context.globalAlpha = 0.8;
    context.fillStyle = this.pattern;
    context.fillRect(frame.left, frame.top, frame.width, frame.height);
    context.globalAlpha = 1;
  }

  #drawCursor(left, top) {
    const { context, zoom, cursor, frame } = this;
    const width = Math.max(zoom.x, 5), height = Math.max(zoom.y, 5);
    const x = left + ((cursor.column ?? 0) + 0.5) * zoom.x, y = top + (cursor.row + 0.5) * zoom.y;
    context.fillStyle = this.colors.second;
    context.globalAlpha = 0.35;
    if (zoom.y < GRID) context.fillRect(frame.left, y - 0.5, frame.width, 1);
    if (zoom.x < GRID && cursor.column !== null) context.fillRect(x - 0.5, frame.top, 1, frame.height);
    context.globalAlpha = 1;
    context.strokeStyle = this.colors.second;
    context.lineWidth = 2;
    if (cursor.column === null) context.strokeRect(frame.left + 1, y - height / 2, frame.width - 2, height);
    else context.strokeRect(x - width / 2, y - height / 2, width, height);
  }

  /** Draws the entropy of each row as a bar; where rows are thinner than a pixel, their mean. */
  #drawEntropy(top, { firstY, lastY }) {
    const { context, frame, zoom, colors, cursor } = this, start = frame.left + frame.width + GAP;
    const most = this.layer.map.entropy.max, bottom = frame.top + frame.height, gap = zoom.y >= GRID ? 2 : 0;
    regard.drawHeading(context, message("entropy"), start + BARS / 2, frame.top - 6, colors);
    context.fillStyle = colors.second;
    const step = Math.max(1, Math.floor(1 / zoom.y));
    for (let row = firstY; row <= lastY; row += step) {
      const rows = this.entropies.subarray(row, row + step), mean = rows.reduce((sum, bits) => sum + bits, 0) / rows.length;
      const y = Math.max(frame.top, top + row * zoom.y), height = Math.min(bottom, top + (row + rows.length) * zoom.y) - y;
      context.globalAlpha = cursor && cursor.row >= row && cursor.row < row + rows.length ? 1 : 0.6;
      if (height > gap) context.fillRect(start, y + gap / 2, Math.max(0.5, (mean / most) * BARS), height - gap);
    }
    context.globalAlpha = 1;
    context.fillStyle = colors.line;
    context.fillRect(start - 1, frame.top, 1, frame.height);
  }

  /** Draws scroll bars, which show the visible part of the map. */
  #drawScrollBars() {
    const { context, frame, zoom, origin } = this;
    context.fillStyle = this.colors.muted;
    const width = frame.width ** 2 / (this.numColumns * zoom.x), height = frame.height ** 2 / (this.numRows * zoom.y);
    context.fillRect(frame.left + (origin.x / this.numColumns) * frame.width, frame.top + frame.height + 3, Math.max(8, width), 3);
    context.fillRect(frame.left + frame.width + 3, frame.top + (origin.y / this.numRows) * frame.height, 3, Math.max(8, height));
  }
};
