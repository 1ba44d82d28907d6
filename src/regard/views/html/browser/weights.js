// Numbers of a map: decoded from base64 of deflated little-endian bytes, pooled, and summed by words.
const CHUNK = 1 << 16; // characters of base64 decoded at a time: a multiple of 4

async function blobText(blob) {
  if (typeof blob === "string") return blob;
  if (document.readyState === "loading") // the element may be incomplete
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  const node = document.getElementById(blob.blob);
  if (!node) throw new Error(blob.blob);
  return node.textContent;
}

async function decode(text) {
  const chunks = [];
  for (let start = 0; start < text.length; start += CHUNK) {
    const binary = atob(text.slice(start, start + CHUNK)), bytes = new Uint8Array(binary.length);
    for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
    chunks.push(bytes);
    await regard.yieldToBrowser();
  }
  const stream = new Blob(chunks).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** The numbers of a blob; `Type` is Uint8Array, Uint16Array or Float32Array. */
regard.numbers = async (blob, Type) => {
  const buffer = await decode(await blobText(blob));
  return new Type(buffer, 0, Math.floor(buffer.byteLength / Type.BYTES_PER_ELEMENT));
};

// ---- pooling

/** Half the size: the maximum of each 2 × 2 square. A level is { factor, width, height, bytes, scale }. */
regard.halve = async ({ factor, width, height, bytes, scale }) => {
  const halfWidth = Math.ceil(width / 2), halfHeight = Math.ceil(height / 2);
  const pooled = new Uint8Array(halfWidth * halfHeight);
  for (let row = 0; row < halfHeight; row++) {
    const upper = 2 * row * width, lower = Math.min(2 * row + 1, height - 1) * width;
    for (let column = 0; column < halfWidth; column++) {
      const left = 2 * column, right = Math.min(left + 1, width - 1);
      pooled[row * halfWidth + column] = Math.max(
        bytes[upper + left], bytes[upper + right], bytes[lower + left], bytes[lower + right]);
    }
    if (row % 32 === 31) await regard.yieldToBrowser();
  }
  return { factor: factor * 2, width: halfWidth, height: halfHeight, bytes: pooled, scale };
};

/** The weight of each byte of a level, as a share of its scale. */
regard.BYTE_WEIGHTS = Float32Array.from({ length: 256 }, (_, byte) => (byte / 255) ** 2);

// ---- words

/** For each token of an axis the words that it spells. */
function wordsOfTokens(axis) {
  if (!axis.words) {
    axis.words = axis.tokens.map(() => []);
    axis.groups.forEach((group, word) => group.forEach((token) => axis.words[token].push(word)));
  }
  return axis.words;
}

const add = (sums, word, weight) => sums.set(word, (sums.get(word) ?? 0) + weight);

/**
 * What a word attended to: word → weight. The mean over its tokens and the sum over the other's; a
 * token that spells several words splits its weight among them.
 */
regard.attendedWords = (matrix, word) => {
  const sums = new Map(), rows = matrix.rows.groups[word] ?? [], words = wordsOfTokens(matrix.columns);
  for (const row of rows)
    matrix.eachInRow(row, (column, weight) => {
      for (const other of words[column]) add(sums, other, weight / rows.length / words[column].length);
    });
  return sums;
};

/** What attended to a word: word → weight. */
regard.attendingWords = (matrix, word) => {
  const sums = new Map(), rowWords = wordsOfTokens(matrix.rows), columnWords = wordsOfTokens(matrix.columns);
  for (const column of matrix.columns.groups[word] ?? [])
    matrix.eachInColumn(column, (row, weight) => {
      for (const other of rowWords[row])
        add(sums, other, weight / matrix.rows.groups[other].length / columnWords[column].length);
    });
  return sums;
};
