"use strict";
(() => {
  // A plane as tiles: squares of cells painted once, when they come into sight.
  const regard = (window.regard ??= {});
  const SIDE = 256; // squares of a level along a tile
  const KEPT = 96; // tiles in memory
  const TIME = 6; // milliseconds a frame for painting tiles

  regard.Tiles = class {
    #tiles = new Map();

    constructor(plane, most, ramp) { Object.assign(this, { plane, most, ramp }); }

    /** The coarsest level that needs no more than its squares: one of at least a pixel each, if there is. */
    level(across, down) {
      const { levels } = this.plane;
      const fits = levels.findIndex(({ factor }) => Math.min(across, down) * factor >= 1);
      return fits < 0 ? levels.length - 1 : fits;
    }

    #tile(level, x, y) {
      const key = `${level}/${x}/${y}`, kept = this.#tiles.get(key);
      if (kept) { // the last used stands last
        this.#tiles.delete(key);
        this.#tiles.set(key, kept);
      }
      return kept;
    }

    #paint(level, x, y) {
      const { width, height } = this.plane.levels[level];
      const across = Math.min(SIDE, width - x * SIDE), down = Math.min(SIDE, height - y * SIDE);
      const canvas = document.createElement("canvas");
      regard.paint(canvas, this.plane.weights(level, x * SIDE, y * SIDE, across, down), across, this.most, this.ramp);
      this.#tiles.set(`${level}/${x}/${y}`, canvas);
      if (this.#tiles.size > KEPT) this.#tiles.delete(this.#tiles.keys().next().value);
      return canvas;
    }

    /**
     * Draws the cells in sight, `across` × `down` pixels each, cell (0, 0) at (left, top). Gives
     * whether all are there: those that are not yet painted are seen blurred, from a coarser level.
     */
    draw(context, { left, top, across, down, width, height }, device) {
      const level = this.level(across * device, down * device), { factor } = this.plane.levels[level];
      const started = performance.now();
      const wide = SIDE * factor * across, tall = SIDE * factor * down;
      const { width: squares, height: lines } = this.plane.levels[level];
      const lastX = Math.min(Math.ceil(squares / SIDE), Math.ceil((width - left) / wide)) - 1;
      const lastY = Math.min(Math.ceil(lines / SIDE), Math.ceil((height - top) / tall)) - 1;
      let whole = true;
      context.imageSmoothingEnabled = false;
      for (let y = Math.max(0, Math.floor(-top / tall)); y <= lastY; y++)
        for (let x = Math.max(0, Math.floor(-left / wide)); x <= lastX; x++) {
          let tile = this.#tile(level, x, y);
          if (!tile && (regard.printing || performance.now() - started < TIME)) tile = this.#paint(level, x, y);
          const at = [left + x * wide, top + y * tall];
          if (tile) context.drawImage(tile, ...at, tile.width * factor * across, tile.height * factor * down);
          else {
            whole = false;
            this.#blurred(context, level, x, y, at, [wide, tall]);
          }
        }
      return whole;
    }

    /** The part of a coarser tile, if one is there, that covers this one. */
    #blurred(context, level, x, y, at, size) {
      for (let coarse = level + 1; coarse < this.plane.levels.length; coarse++) {
        const times = this.plane.levels[coarse].factor / this.plane.levels[level].factor;
        const tile = this.#tile(coarse, Math.floor(x / times), Math.floor(y / times));
        if (!tile) continue;
        const side = SIDE / times;
        const [fromX, fromY] = [(x % times) * side, (y % times) * side];
        const wide = Math.min(side, tile.width - fromX), tall = Math.min(side, tile.height - fromY);
        if (wide > 0 && tall > 0)
          context.drawImage(tile, fromX, fromY, wide, tall, ...at, size[0] * (wide / side), size[1] * (tall / side));
        return;
      }
    }
  };
})();
