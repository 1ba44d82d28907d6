// The difference of two translations, word by word.

/** For each word of `before` and of `after` whether the other lacks it (longest common subsequence). */
export function diffWords(before, after) {
  const rows = before.length, columns = after.length;
  const best = Array.from({ length: rows + 1 }, () => new Uint16Array(columns + 1));
  for (let i = rows - 1; i >= 0; i--)
    for (let j = columns - 1; j >= 0; j--)
      best[i][j] = before[i] === after[j] ? best[i + 1][j + 1] + 1 : Math.max(best[i + 1][j], best[i][j + 1]);
  const removed = new Array(rows).fill(true), added = new Array(columns).fill(true);
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (before[i] === after[j]) removed[i++] = added[j++] = false;
    else if (best[i + 1][j] >= best[i][j + 1]) i++;
    else j++;
  }
  return { removed, added };
}

/** The span [start, end] of each word in a text; a word that is not found has no length. */
export function wordSpans(text, words) {
  let from = 0;
  return words.map((word) => {
    const start = text.indexOf(word, from);
    if (start < 0) return [from, from];
    from = start + word.length;
    return [start, from];
  });
}

/** A text with its changed words marked, as nodes. */
export function markWords(text, words, changed, mark) {
  const nodes = [];
  let from = 0;
  wordSpans(text, words).forEach(([start, end], place) => {
    if (!changed[place] || start === end) return;
    nodes.push(text.slice(from, start), mark(text.slice(start, end)));
    from = end;
  });
  nodes.push(text.slice(from));
  return nodes.filter((node) => node !== "");
}
