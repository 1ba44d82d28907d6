"use strict";
(() => {
  // Numbers out of their strings: base64 of deflated little-endian numbers, decoded when needed.
  const regard = (window.regard ??= {});
  const PIECE = 1 << 16; // characters or bytes at a time

  async function textOf(blob) {
    if (typeof blob === "string") return blob;
    if (document.readyState === "loading") // it may be there in part
      await new Promise((done) => document.addEventListener("DOMContentLoaded", done, { once: true }));
    const found = document.getElementById(blob.blob);
    if (!found) throw new Error(blob.blob);
    return found.textContent;
  }

  async function inflated(text) {
    const stream = new DecompressionStream("deflate"), writer = stream.writable.getWriter();
    const parts = [];
    const reading = (async () => {
      const reader = stream.readable.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        parts.push(value);
        await regard.breathe();
      }
    })();
    for (const told of [reading, writer.closed]) told.catch(() => {}); // `reading` is waited for below
    for (let start = 0; start < text.length; start += PIECE) { // a piece of base64 is a multiple of 4
      const binary = atob(text.slice(start, start + PIECE)), bytes = new Uint8Array(binary.length);
      for (let place = 0; place < binary.length; place++) bytes[place] = binary.charCodeAt(place);
      await Promise.race([writer.write(bytes), reading]);
      await regard.breathe();
    }
    writer.close().catch(() => {});
    await reading;
    const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let place = 0;
    for (const part of parts) {
      whole.set(part, place);
      place += part.length;
    }
    return whole;
  }

  /** The numbers of a blob: `Kind` is Uint8Array, Uint16Array or Float32Array. */
  regard.numbers = async (blob, Kind) => {
    const bytes = await inflated(await textOf(blob));
    return new Kind(bytes.buffer, 0, Math.floor(bytes.length / Kind.BYTES_PER_ELEMENT));
  };

  // ---- pooling

  /** Half the size: the largest of each 2 × 2 square. A level is { factor, width, height, bytes, scale }. */
  regard.halved = async ({ factor, width, height, bytes, scale }) => {
    const across = Math.ceil(width / 2), down = Math.ceil(height / 2);
    const found = new Uint8Array(across * down);
    for (let row = 0; row < down; row++) {
      const upper = 2 * row * width, lower = Math.min(2 * row + 1, height - 1) * width;
      for (let column = 0; column < across; column++) {
        const left = 2 * column, right = Math.min(left + 1, width - 1);
        found[row * across + column] = Math.max(
          bytes[upper + left], bytes[upper + right], bytes[lower + left], bytes[lower + right]);
      }
      if (row % 32 === 31) await regard.breathe();
    }
    return { factor: factor * 2, width: across, height: down, bytes: found, scale };
  };

  /** The weight that a byte of a level stands for, or a little less than that, as a share of its scale. */
  regard.WEIGHTS = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

  // ---- words

  /** For each token of an axis the words that it spells. */
  regard.owners = (axis) => {
    if (!axis.owners) {
      axis.owners = axis.tokens.map(() => []);
      axis.groups.forEach((group, word) => group.forEach((token) => axis.owners[token].push(word)));
    }
    return axis.owners;
  };

  /**
   * What a word looked at: word → weight. The mean over its tokens, the sum over the other's; a token
   * that spells several words shares its weight among them.
   */
  regard.lookedAt = (plane, word) => {
    const sums = new Map(), group = plane.rows.groups[word] ?? [], owners = regard.owners(plane.columns);
    for (const row of group)
      plane.eachInRow(row, (column, weight) => {
        const here = owners[column];
        for (const other of here) sums.set(other, (sums.get(other) ?? 0) + weight / group.length / here.length);
      });
    return sums;
  };

  /** What looked at a word: word → weight. */
  regard.seenBy = (plane, word) => {
    const sums = new Map(), owners = regard.owners(plane.rows), columns = regard.owners(plane.columns);
    for (const column of plane.columns.groups[word] ?? [])
      plane.eachInColumn(column, (row, weight) => {
        for (const other of owners[row]) {
          const share = weight / plane.rows.groups[other].length / columns[column].length;
          sums.set(other, (sums.get(other) ?? 0) + share);
        }
      });
    return sums;
  };
})();
