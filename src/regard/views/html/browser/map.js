"use strict";
(() => {
  // The map of one head: a canvas that shows the whole at first, and any part of it nearer.
  const regard = (window.regard ??= {});
  const { element } = regard;
  const NEAREST = 64, USUAL = 28; // pixels of a cell: at most, and at most while the whole map is shown
  const LEGIBLE = 14; // pixels of a cell from which on the wheel is left to the page
  const STRIP = 40, GAP = 8; // pixels: the entropy strip, and the space before it
  const GRID = 7; // pixels of a cell from which on lines are drawn between cells
  const LARGE = 200; // tokens from which on readouts say where a token stands

  regard.MapView = class {
    cursor = null;
    zoom = { x: 1, y: 1 };
    origin = { x: 0, y: 0 };
    #frame = 0;
    #asked = null;
    #number = 0; // of the last map asked for

    constructor({ pressed, clickable }) {
      this.onPressed = pressed;
      this.canvas = element("canvas", { aria: { hidden: "true" } });
      this.mark = element("span", { className: "off-mark", hidden: true });
      this.box = element("div", { className: "cells", tabIndex: 0, role: "application" }, this.canvas);
      this.box.classList.toggle("clickable", clickable);
      this.out = element("p", { className: "readout value", aria: { live: "polite" } });
      this.context = this.canvas.getContext("2d");
      this.full = false;
      regard.steer(this);
      this.resized = new ResizeObserver(() => {
        if (this.box.clientWidth !== this.wide) this.fit(true);
      });
      this.resized.observe(this.box);
    }

    destroy() { this.#number++; this.resized.disconnect(); cancelAnimationFrame(this.#frame); }

    /** Shows a head of a layer; gives a promise of its being there. */
    async show(layer, head, label) {
      const number = ++this.#number, same = this.plane && this.plane.rows === layer.rows && this.plane.columns === layer.columns;
      this.box.setAttribute("aria-busy", "true");
      this.box.setAttribute("aria-label", label);
      const plane = await layer.plane(head), bits = await layer.bits(head);
      if (number !== this.#number) return;
      Object.assign(this, { plane, bits, layer });
      this.repaint();
      if (same) this.draw();
      else this.fit(false);
      this.tell(same ? this.cursor : null);
      this.box.removeAttribute("aria-busy");
    }

    /** Colours anew: another head, scale or theme. */
    repaint() {
      if (!this.plane) return;
      const names = ["paper", "ink", "muted", "line", "accent", "second", "masked", "hatch"];
      const style = getComputedStyle(this.box);
      this.colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
      this.most = this.full ? 1 : this.plane.most;
      this.tiles = new regard.Tiles(this.plane, this.most, regard.ramp());
      this.#hatch();
      this.draw();
    }

    /** Dims the map and says why, as for a head that is switched off; no text shows it as ever. */
    dim(text) {
      this.mark.textContent = text ?? "";
      this.mark.hidden = !text;
      if (text) this.box.setAttribute("aria-description", text);
      else this.box.removeAttribute("aria-description");
      this.draw();
    }

    // ---- where cells are

    get columnCount() { return this.plane.width; }
    get rowCount() { return this.plane.height; }
    get canGoNearer() { return Math.min(this.least.x, this.least.y) < LEGIBLE; }
    get fitted() { return this.zoom.x <= this.least.x * 1.001 && this.zoom.y <= this.least.y * 1.001; }

    /** Whether all cells are in sight. */
    get whole() {
      return this.columnCount * this.zoom.x <= this.frame.width + 0.5 && this.rowCount * this.zoom.y <= this.frame.height + 0.5;
    }

    /** Lays the map out anew so that all of it is seen; `kept` keeps what is seen, if it is a part. */
    fit(kept) {
      if (!this.plane || !this.box.clientWidth) return;
      const part = kept && this.least && !this.fitted;
      this.wide = this.box.clientWidth;
      const room = Math.min(130, Math.max(56, this.wide * 0.24));
      const left = regard.labelRoom(this.plane.rows.tokens, "rows", 44, room);
      const top = regard.labelRoom(this.plane.columns.tokens, "columns", 50, 110);
      const across = Math.max(60, this.wide - left - GAP - STRIP - 1);
      const down = Math.max(240, Math.min(760, innerHeight * 0.75));
      let x = Math.min(USUAL, across / this.columnCount), y = Math.min(USUAL, down / this.rowCount);
      if (Math.max(x, y) < 3 * Math.min(x, y)) x = y = Math.min(x, y); // else cells are not square
      this.least = { x, y };
      this.space = { across, down };
      this.frame = { left, top, width: 0, height: 0 };
      if (part) this.zoom = { x: Math.max(x, this.zoom.x), y: Math.max(y, this.zoom.y) };
      else {
        this.zoom = { ...this.least };
        this.origin = { x: 0, y: 0 };
      }
      this.#grow();
      this.#within();
      this.draw();
    }

    /** The frame takes as much of the space there is as the cells need. */
    #grow() {
      const { frame, zoom, space } = this;
      frame.width = Math.min(space.across, this.columnCount * zoom.x);
      frame.height = Math.min(space.down, this.rowCount * zoom.y);
      this.tall = Math.ceil(frame.top + frame.height + 6);
      this.canvas.style.height = `${this.tall}px`;
      const nearest = ["x", "y"].every((side) => zoom[side] >= Math.max(NEAREST, this.least[side]) * 0.999);
      this.onZoomed?.({ fitted: this.fitted, nearest });
    }

    #within() {
      const { frame, zoom, origin } = this;
      origin.x = Math.max(0, Math.min(origin.x, this.columnCount - frame.width / zoom.x));
      origin.y = Math.max(0, Math.min(origin.y, this.rowCount - frame.height / zoom.y));
      this.box.classList.toggle("near", !this.whole);
    }

    /** Nearer (times > 1) or further, a point of the canvas staying where it is. */
    nearer(times, point) {
      if (!this.plane) return;
      const { frame, zoom, origin } = this;
      const at = point ?? { x: frame.left + frame.width / 2, y: frame.top + frame.height / 2 };
      for (const [side, start] of [["x", frame.left], ["y", frame.top]]) {
        const past = at[side] - start, cell = origin[side] + past / zoom[side];
        const nearest = Math.max(NEAREST, this.least[side]);
        zoom[side] = Math.max(this.least[side], Math.min(nearest, zoom[side] * times));
        origin[side] = cell - past / zoom[side];
      }
      this.#grow();
      this.#within();
      this.draw();
    }

    move(x, y) {
      this.origin.x -= x / this.zoom.x;
      this.origin.y -= y / this.zoom.y;
      this.#within();
      this.draw();
    }

    /** The cell at a point of the canvas; beside the map, in the entropy strip, only its row. */
    cellAt(x, y) {
      if (!this.plane) return null;
      const { frame, zoom, origin } = this, past = x - frame.left;
      const row = Math.floor(origin.y + (y - frame.top) / zoom.y);
      if (y < frame.top || y > frame.top + frame.height || row < 0 || row >= this.rowCount) return null;
      if (past >= 0 && past <= frame.width) return { row, column: Math.min(this.columnCount - 1, Math.floor(origin.x + past / zoom.x)) };
      if (past >= frame.width + GAP && past <= frame.width + GAP + STRIP) return { row, column: null };
      return null;
    }

    /** The middle of a cell, in pixels of the canvas. */
    pointOf({ row, column }) {
      const { frame, zoom, origin } = this;
      return { x: frame.left + ((column ?? 0) + 0.5 - origin.x) * zoom.x, y: frame.top + (row + 0.5 - origin.y) * zoom.y };
    }

    /** Moves what is seen so that the cursor is in it. */
    follow() {
      const { frame, zoom, origin, cursor } = this;
      for (const [side, place, size] of [["x", cursor.column ?? 0, frame.width], ["y", cursor.row, frame.height]])
        origin[side] = Math.max(place + 1 - size / zoom[side], Math.min(place, origin[side]));
      this.#within();
    }

    // ---- telling

    tell(cursor = this.cursor) {
      this.cursor = cursor;
      this.out.dataset.hint = regard.say("hintCells");
      this.out.replaceChildren();
      this.draw();
      if (!cursor || !this.plane) return;
      const { row, column } = cursor, { plane } = this;
      const token = (axis, place) => {
        const many = axis.tokens.length > LARGE ? [element("span", { className: "share" }, ` ${place}`)] : [];
        return [element("b", {}, regard.tokenText(axis.tokens[place])), ...many];
      };
      this.out.append(...token(plane.rows, row));
      const bits = this.bits[row], most = Math.log2(plane.causal ? row + 1 : plane.width);
      const told = { bits: bits.toFixed(2), most: most.toFixed(2) };
      if (column === null) {
        this.out.append(` ${regard.say("entropyOf", told)}`);
        return;
      }
      this.out.append(" → ", ...token(plane.columns, column), " ", this.weightAt(row, column));
      this.out.append(element("span", { className: "share row-bits" }, regard.say("rowBits", told)));
    }

    weightAt(row, column) {
      if (this.plane.causal && column > row) return regard.say("hidden");
      const { weight, exact } = this.plane.at(row, column);
      return exact ? regard.percent(weight) : regard.say("atMost", { share: regard.percent(weight) });
    }

    /** Marks the tokens of the word that is asked: { strip, place } or null. */
    ask(asked) {
      this.#asked = asked;
      this.draw();
    }

    #marked(axis, place) {
      const group = this.#asked && axis.strip === this.#asked.strip ? axis.groups[this.#asked.place] ?? [] : [];
      return new Set(place === undefined || place === null ? group : [...group, place]);
    }

    // ---- drawing

    draw() {
      if (!this.plane || !this.frame) return;
      if (regard.printing) { // no frame comes before the page is on paper
        this.#draw();
        return;
      }
      if (this.#frame) return;
      this.#frame = requestAnimationFrame(() => {
        this.#frame = 0;
        this.#draw();
      });
    }

    #draw() {
      const { context, canvas, frame, zoom, origin } = this, device = devicePixelRatio || 1;
      if (canvas.width !== Math.round(this.wide * device) || canvas.height !== Math.round(this.tall * device)) {
        canvas.width = Math.round(this.wide * device);
        canvas.height = Math.round(this.tall * device);
      }
      context.setTransform(device, 0, 0, device, 0, 0);
      context.clearRect(0, 0, this.wide, this.tall);
      const left = frame.left - origin.x * zoom.x, top = frame.top - origin.y * zoom.y;
      const sight = {
        firstX: Math.floor(origin.x), lastX: Math.min(this.columnCount - 1, Math.ceil(origin.x + frame.width / zoom.x) - 1),
        firstY: Math.floor(origin.y), lastY: Math.min(this.rowCount - 1, Math.ceil(origin.y + frame.height / zoom.y) - 1),
      };
      const { rows, columns } = this.plane;
      const marks = { rows: this.#marked(rows, this.cursor?.row), columns: this.#marked(columns, this.cursor?.column) };
      context.save();
      context.beginPath();
      context.rect(frame.left, frame.top, frame.width, frame.height);
      context.clip();
      const right = frame.left + frame.width, bottom = frame.top + frame.height;
      const whole = this.tiles.draw(context, { left, top, across: zoom.x, down: zoom.y, width: right, height: bottom }, device);
      if (this.plane.causal) this.#hide(left, top, right, sight);
      if (Math.min(zoom.x, zoom.y) >= GRID) this.#grid(left, top, sight);
      if (!this.mark.hidden) this.#veil();
      if (this.cursor) this.#drawCursor(left, top);
      context.restore();
      context.strokeStyle = this.colours.line;
      context.lineWidth = 1;
      context.strokeRect(frame.left - 0.5, frame.top - 0.5, frame.width + 1, frame.height + 1);
      this.#labels(left, top, sight, marks);
      this.#entropy(top, sight);
      if (!this.whole) this.#bars();
      if (!whole && !regard.printing) this.draw();
    }

    #labels(left, top, sight, marks) {
      const { context, frame, zoom, colours, plane } = this;
      regard.drawLabels(context, "rows", {
        tokens: plane.rows.tokens, first: sight.firstY, last: sight.lastY, at: (row) => top + (row + 0.5) * zoom.y, cell: zoom.y,
        room: frame.left, edge: frame.left, on: marks.rows, colours, from: frame.top, to: frame.top + frame.height,
      });
      regard.drawLabels(context, "columns", {
        tokens: plane.columns.tokens, first: sight.firstX, last: sight.lastX, at: (column) => left + (column + 0.5) * zoom.x, cell: zoom.x,
        room: frame.top, edge: frame.top, on: marks.columns, colours, from: frame.left, to: frame.left + frame.width,
      });
    }

    #grid(left, top, { firstX, lastX, firstY, lastY }) {
      const { context, zoom, frame } = this;
      context.fillStyle = this.colours.line;
      context.globalAlpha = 0.5;
      for (let column = firstX; column <= lastX; column++)
        context.fillRect(Math.round(left + column * zoom.x) - 1, frame.top, 1, frame.height);
      for (let row = firstY; row <= lastY; row++) context.fillRect(frame.left, Math.round(top + row * zoom.y) - 1, frame.width, 1);
      context.globalAlpha = 1;
    }

    #hatch() {
      const tile = element("canvas", { width: 6, height: 6 }), pen = tile.getContext("2d");
      pen.fillStyle = this.colours.masked;
      pen.fillRect(0, 0, 6, 6);
      pen.strokeStyle = this.colours.hatch;
      for (const shift of [-6, 0, 6]) {
        pen.moveTo(shift, 6);
        pen.lineTo(shift + 6, 0);
      }
      pen.stroke();
      this.pattern = this.context.createPattern(tile, "repeat");
      this.hatchTile = tile;
    }

    /** What a causal map hides: the cells right of the diagonal, hatched. */
    #hide(left, top, right, { firstY, lastY }) {
      const { context, zoom } = this;
      context.fillStyle = this.pattern;
      context.beginPath();
      if (zoom.y >= 3)
        for (let row = firstY; row <= lastY; row++) {
          const from = left + (row + 1) * zoom.x;
          if (from < right) context.rect(from, top + row * zoom.y, right - from, zoom.y);
        }
      else {
        const last = lastY + 1;
        context.moveTo(left + (firstY + 1) * zoom.x, top + firstY * zoom.y);
        context.lineTo(left + (last + 1) * zoom.x, top + last * zoom.y);
        context.lineTo(Math.max(right, left + (last + 1) * zoom.x), top + firstY * zoom.y);
      }
      context.fill();
    }

    /** Hatches the cells, which stay readable. */
    #veil() {
      const { context, frame } = this;
      context.globalAlpha = 0.8;
      context.fillStyle = this.pattern;
      context.fillRect(frame.left, frame.top, frame.width, frame.height);
      context.globalAlpha = 1;
    }

    #drawCursor(left, top) {
      const { context, zoom, cursor, frame } = this;
      const wide = Math.max(zoom.x, 5), tall = Math.max(zoom.y, 5);
      const x = left + ((cursor.column ?? 0) + 0.5) * zoom.x, y = top + (cursor.row + 0.5) * zoom.y;
      context.fillStyle = this.colours.second;
      context.globalAlpha = 0.35;
      if (zoom.y < GRID) context.fillRect(frame.left, y - 0.5, frame.width, 1);
      if (zoom.x < GRID && cursor.column !== null) context.fillRect(x - 0.5, frame.top, 1, frame.height);
      context.globalAlpha = 1;
      context.strokeStyle = this.colours.second;
      context.lineWidth = 2;
      if (cursor.column === null) context.strokeRect(frame.left + 1, y - tall / 2, frame.width - 2, tall);
      else context.strokeRect(x - wide / 2, y - tall / 2, wide, tall);
    }

    /** One bar a row: how widely it looks; where rows are thinner than a pixel, their mean. */
    #entropy(top, { firstY, lastY }) {
      const { context, frame, zoom, bits, colours } = this, start = frame.left + frame.width + GAP;
      const most = this.layer.map.entropy.most, end = frame.top + frame.height;
      regard.drawHeading(context, regard.say("entropy"), start + STRIP / 2, frame.top - 6, colours);
      context.fillStyle = colours.second;
      const rows = Math.max(1, Math.floor(1 / zoom.y));
      for (let row = firstY; row <= lastY; row += rows) {
        let sum = 0;
        const last = Math.min(row + rows, this.rowCount);
        for (let one = row; one < last; one++) sum += bits[one];
        const y = Math.max(frame.top, top + row * zoom.y), tall = Math.min(end, top + last * zoom.y) - y;
        const gap = zoom.y >= GRID ? 2 : 0;
        context.globalAlpha = this.cursor && this.cursor.row >= row && this.cursor.row < last ? 1 : 0.6;
        if (tall > gap) context.fillRect(start, y + gap / 2, Math.max(0.5, (sum / (last - row) / most) * STRIP), tall - gap);
      }
      context.globalAlpha = 1;
      context.fillStyle = colours.line;
      context.fillRect(start - 1, frame.top, 1, frame.height);
    }

    /** Where in the whole one is. */
    #bars() {
      const { context, frame, zoom, origin } = this;
      context.fillStyle = this.colours.muted;
      const across = frame.width * frame.width / (this.columnCount * zoom.x), down = frame.height * frame.height / (this.rowCount * zoom.y);
      context.fillRect(frame.left + (origin.x / this.columnCount) * frame.width, frame.top + frame.height + 3, Math.max(8, across), 3);
      context.fillRect(frame.left + frame.width + 3, frame.top + (origin.y / this.rowCount) * frame.height, 3, Math.max(8, down));
    }
  };
})();
