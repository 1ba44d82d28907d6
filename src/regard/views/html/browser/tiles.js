// A matrix as tiles: squares of cells that are painted once, when they become visible.
const SIDE = 256; // squares of a level along a tile
const CACHED = 96; // tiles in memory
const TIME = 6; // milliseconds per frame for painting tiles

regard.Tiles = class {
  #tiles = new Map();

  constructor(matrix, max, ramp) { Object.assign(this, { matrix, max, ramp }); }

  /** The finest level whose squares take at least a pixel each, or the coarsest one. */
  level(cellWidth, cellHeight) {
    const { levels } = this.matrix;
    const fits = levels.findIndex(({ factor }) => Math.min(cellWidth, cellHeight) * factor >= 1);
    return fits < 0 ? levels.length - 1 : fits;
  }

  #tile(level, x, y) {
    const key = `${level}/${x}/${y}`, cached = this.#tiles.get(key);
    if (cached) { // move the last used one to the end
      this.#tiles.delete(key);
      this.#tiles.set(key, cached);
    }
    return cached;
  }

  #paint(level, x, y) {
    const { width, height } = this.matrix.levels[level];
    const tileWidth = Math.min(SIDE, width - x * SIDE), tileHeight = Math.min(SIDE, height - y * SIDE);
    const canvas = document.createElement("canvas");
    regard.paintWeights(canvas, this.matrix.region(level, x * SIDE, y * SIDE, tileWidth, tileHeight), tileWidth, this.max, this.ramp);
    this.#tiles.set(`${level}/${x}/${y}`, canvas);
    if (this.#tiles.size > CACHED) this.#tiles.delete(this.#tiles.keys().next().value);
    return canvas;
  }

  /**
   * Draws the visible cells, `cellWidth` × `cellHeight` pixels each, with cell (0, 0) at (left, top),
   * up to the edges `right` and `bottom`. Returns whether all tiles are painted: the others are drawn
   * blurred, from a coarser level.
   */
  draw(context, { left, top, right, bottom, cellWidth, cellHeight }, pixelRatio) {
    const level = this.level(cellWidth * pixelRatio, cellHeight * pixelRatio), { factor, width, height } = this.matrix.levels[level];
    const started = performance.now();
    const tileWidth = SIDE * factor * cellWidth, tileHeight = SIDE * factor * cellHeight;
    const lastX = Math.min(Math.ceil(width / SIDE), Math.ceil((right - left) / tileWidth)) - 1;
    const lastY = Math.min(Math.ceil(height / SIDE), Math.ceil((bottom - top) / tileHeight)) - 1;
    let complete = true;
    context.imageSmoothingEnabled = false;
    for (let y = Math.max(0, Math.floor(-top / tileHeight)); y <= lastY; y++)
      for (let x = Math.max(0, Math.floor(-left / tileWidth)); x <= lastX; x++) {
        let tile = this.#tile(level, x, y);
        if (!tile && (regard.printing || performance.now() - started < TIME)) tile = this.#paint(level, x, y);
        const corner = [left + x * tileWidth, top + y * tileHeight];
        if (tile) context.drawImage(tile, ...corner, tile.width * factor * cellWidth, tile.height * factor * cellHeight);
        else {
          complete = false;
          this.#drawBlurred(context, level, x, y, corner, [tileWidth, tileHeight]);
        }
      }
    return complete;
  }

  /** Draws the part of a coarser tile that covers this one, if there is any. */
  #drawBlurred(context, level, x, y, corner, size) {
    for (let coarse = level + 1; coarse < this.matrix.levels.length; coarse++) {
      const times = this.matrix.levels[coarse].factor / this.matrix.levels[level].factor;
      const tile = this.#tile(coarse, Math.floor(x / times), Math.floor(y / times));
      if (!tile) continue;
      const side = SIDE / times, fromX = (x % times) * side, fromY = (y % times) * side;
      const width = Math.min(side, tile.width - fromX), height = Math.min(side, tile.height - fromY);
      if (width > 0 && height > 0)
        context.drawImage(tile, fromX, fromY, width, height, ...corner, size[0] * (width / side), size[1] * (height / side));
      return;
    }
  }
};
