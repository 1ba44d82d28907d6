// A matrix of numbers on a canvas: coloured cells, or dots whose area is the number; read by pointing or with the arrow keys.
const { element, message } = regard;
const LINE = 21, WIDE = 22, DOT = 34; // pixels: a cell's height, its least width with a number, a dot's cell at most
const FAMILY = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif';
const SHARE = 0.62; // of the color in the fullest cell, so that ink stays readable on it

/** A number as it is shown: rounded, with a true minus sign. */
regard.numberText = (value, digits = 2) => {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const text = Math.abs(value) >= 1e5 ? value.toExponential(2) : value.toFixed(digits);
  return /[1-9]/.test(text) ? text.replaceAll("-", "−") : text.replace("-", "");
};

/** The largest finite size among numbers. */
regard.largest = (values) => values.reduce((most, value) => (Number.isFinite(value) ? Math.max(most, Math.abs(value)) : most), 0);

/**
 * { values, numRows, numColumns } with `rows` and `columns` (labels, or null), `dots`, `max` (the number of the fullest
 * cell), `marked` (a row), `room` (labels for which there is to be room), `labelShare` (of the width that labels may take), `hint` (false: none), `label` (for screen readers) and `readout(row, column)`, what is said of a cell.
 */
regard.NumberGrid = class {
  cursor = null;

  constructor(matrix) {
    this.canvas = element("canvas", { aria: { hidden: "true" } });
    this.box = element("div", { className: "numbers", tabIndex: 0, role: "application", aria: { label: matrix.label } }, this.canvas);
    this.out = element("p", { className: "readout number", aria: { live: "polite" } });
    this.context = this.canvas.getContext("2d");
    Object.assign(this, matrix);
    this.max ??= regard.largest(matrix.values);
    this.box.addEventListener("pointermove", (event) => this.setCursor(this.#cellAt(event)));
    this.box.addEventListener("pointerdown", (event) => this.setCursor(this.#cellAt(event)));
    this.box.addEventListener("pointerleave", () => this.setCursor(null));
    this.box.addEventListener("focus", () => { if (this.box.matches(":focus-visible")) this.setCursor(this.cursor ?? { row: this.marked ?? 0, column: 0 }); });
    this.box.addEventListener("blur", () => this.setCursor(null));
    this.box.addEventListener("keydown", (event) => this.#onKey(event));
    this.resizeObserver = new ResizeObserver(() => { if (this.box.clientWidth !== this.width) this.draw(); });
    this.resizeObserver.observe(this.box);
    this.setCursor(null);
  }

  destroy() { this.resizeObserver.disconnect(); }

  setCursor(cell) {
    this.cursor = cell;
    this.out.dataset.hint = this.hint === false ? "" : message("hintNumbers");
    this.out.textContent = cell ? this.readout(cell.row, cell.column) : "";
    this.onCursor?.(cell);
    this.draw();
  }

  #cellAt(event) {
    const { left, top } = this.canvas.getBoundingClientRect(), { frame } = this;
    if (!frame) return null;
    const column = Math.floor((event.clientX - left - frame.left) / frame.x), row = Math.floor((event.clientY - top - frame.top) / frame.y);
    return this.#has(row, column) ? { row, column } : null;
  }

  #has(row, column) {
    return row >= 0 && column >= 0 && row < this.numRows && column < this.numColumns && row * this.numColumns + column < this.values.length;
  }

  #onKey(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (event.key === "Escape") this.box.blur();
    if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation(); // else the next stage
    const { row, column } = this.cursor ?? { row: 0, column: 0 };
    if (this.#has(row + step[0], column + step[1])) this.setCursor({ row: row + step[0], column: column + step[1] });
  }

  // ---- drawing

  #layout() {
    this.width = this.box.clientWidth;
    const left = this.rows ? regard.labelRoom(this.room ?? this.rows, "rows", 40, Math.min(150, Math.max(70, this.width * (this.labelShare ?? 0.24)))) : 2;
    const top = this.columns ? regard.labelRoom(this.columns, "columns", 24, 96) : 2;
    const room = this.width - left - 2, { numRows, numColumns } = this;
    let x = room / numColumns, y = numRows * LINE > 700 ? Math.max(8, 700 / numRows) : LINE;
    if (this.dots) x = y = Math.min(DOT, x, Math.max(8, 620 / numRows));
    else if (!this.columns && x < WIDE) y = Math.min(y, Math.max(12, Math.min(x * 1.6, LINE)));
    x = Math.min(x, this.dots ? DOT : 64);
    this.frame = { left, top, x, y, width: x * numColumns, height: y * numRows };
  }

  draw() {
    if (!this.box.clientWidth) return;
    this.#layout();
    const { canvas, context, frame, width } = this, height = Math.ceil(frame.top + frame.height + 2), ratio = devicePixelRatio || 1;
    const style = getComputedStyle(this.box);
    const names = ["paper", "ink", "muted", "line", "accent", "second", "masked", "hatch"];
    this.colors = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.height = `${height}px`;
    context.scale(ratio, ratio);
    context.textAlign = "left";
    const marks = (side) => new Set([side === "row" ? this.marked : undefined, this.cursor?.[side]].filter((place) => place !== undefined && place !== null));
    if (this.rows)
      regard.drawLabels(context, "rows", {
        tokens: this.rows, first: 0, last: this.numRows - 1, position: (row) => frame.top + (row + 0.5) * frame.y, cell: frame.y, room: frame.left,
        edge: frame.left, highlighted: marks("row"), colors: this.colors, from: 0, to: height,
      });
    if (this.columns)
      regard.drawLabels(context, "columns", {
        tokens: this.columns, first: 0, last: this.numColumns - 1, position: (column) => frame.left + (column + 0.5) * frame.x, cell: frame.x,
        room: frame.top, edge: frame.top, highlighted: marks("column"), colors: this.colors, from: 0, to: width,
      });
    this.#drawCells();
    if (this.marked !== undefined && this.marked !== null) this.#outline(this.colors.accent, 0, this.marked, this.numColumns);
    if (this.cursor) this.#outline(this.colors.ink, this.cursor.column, this.cursor.row, 1);
  }

  #outline(color, column, row, columns) {
    const { context, frame } = this;
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(frame.left + column * frame.x, frame.top + row * frame.y, columns * frame.x, frame.y);
  }

  #drawCells() {
    const { context, frame, colors, values, numColumns, max } = this, numbers = !this.dots && frame.x >= WIDE && frame.y >= 14;
    const size = Math.min(12, Math.max(9, frame.x / 2.75)), digits = frame.x >= 32 ? 2 : 1;
    context.font = `${size}px ${FAMILY}`;
    context.textBaseline = "middle";
    context.textAlign = "center";
    const gap = frame.x > 5 && frame.y > 5 ? 1 : 0;
    for (let index = 0; index < values.length; index++) {
      const value = values[index], row = Math.floor(index / numColumns), column = index % numColumns;
      const x = frame.left + column * frame.x, y = frame.top + row * frame.y, share = max ? Math.min(1, Math.abs(value) / max) : 0;
      if (this.dots || !Number.isFinite(value)) {
        context.globalAlpha = 1;
        context.fillStyle = Number.isFinite(value) ? colors.paper : colors.masked;
        context.fillRect(x, y, frame.x - gap, frame.y - gap);
      }
      if (!Number.isFinite(value)) this.#write(regard.numberText(value), x, y, colors.muted);
      else if (this.dots) this.#dot(x + (frame.x - gap) / 2, y + (frame.y - gap) / 2, Math.sqrt(share) * (frame.x / 2 - 1.5), value < 0);
      else {
        context.globalAlpha = regard.intensity(share) * SHARE;
        context.fillStyle = value < 0 ? colors.second : colors.accent;
        context.fillRect(x, y, frame.x - gap, frame.y - gap);
        context.globalAlpha = 1;
        if (numbers) this.#write(regard.numberText(value, digits), x, y, colors.ink);
      }
    }
    context.textAlign = "left";
    context.strokeStyle = colors.line;
    context.lineWidth = 1;
    if (this.dots) this.#lines();
  }

  #lines() {
    const { context, frame, numRows, numColumns } = this;
    context.beginPath();
    for (let row = 0; row <= numRows; row++) { context.moveTo(frame.left, frame.top + row * frame.y - 0.5); context.lineTo(frame.left + frame.width, frame.top + row * frame.y - 0.5); }
    for (let column = 0; column <= numColumns; column++) { context.moveTo(frame.left + column * frame.x - 0.5, frame.top); context.lineTo(frame.left + column * frame.x - 0.5, frame.top + frame.height); }
    context.stroke();
  }

  #write(text, x, y, color) {
    const { context, frame } = this;
    if (frame.x < 12) return;
    context.fillStyle = color;
    context.fillText(text, x + frame.x / 2, y + frame.y / 2 + 0.5, frame.x - 2);
  }

  /** A filled dot above zero, a ring below. */
  #dot(x, y, radius, negative) {
    const { context, colors } = this;
    if (radius < 0.3) return;
    context.beginPath();
    context.arc(x, y, negative ? Math.max(0.3, radius - 0.75) : radius, 0, 2 * Math.PI);
    if (negative) {
      context.strokeStyle = colors.second;
      context.lineWidth = 1.5;
      context.stroke();
    } else {
      context.fillStyle = colors.accent;
      context.fill();
    }
  }
};
