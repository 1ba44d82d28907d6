// The glossary: terms that are typed, kept in this browser for each target language.

const NAME = "regard.terms", MOST = 1000, LONGEST = 200;

let kept = null; // lines by target language

function lines() {
  try {
    kept ??= JSON.parse(localStorage.getItem(NAME) ?? "{}") ?? {};
  } catch {
    kept = {}; // not allowed, or written by something else
  }
  return kept;
}

/** The lines that were typed for a target language. */
export const typedTerms = (target) => String(lines()[target] ?? "");

/** Keeps the lines for a target language. */
export function keepTerms(target, text) {
  kept = { ...lines(), [target]: text || undefined };
  try {
    localStorage.setItem(NAME, JSON.stringify(kept));
  } catch {
    // they are used until the page is closed
  }
}

/** The terms of lines, `term = translation` or with a tab: {terms, wrong}, the latter a line that is neither. */
export function parseTerms(text) {
  const terms = {};
  let wrong = "";
  for (const line of text.split("\n")) {
    if (!line.trim() || line.startsWith("#")) continue;
    const [, term, translation] = line.match(/^\s*([^\t=]*[^\t=\s])\s*[\t=]\s*(\S.*?)\s*$/u) ?? [];
    const fits = translation && term.length <= LONGEST && translation.length <= LONGEST;
    if (fits && Object.keys(terms).length < MOST) terms[term] = translation;
    else wrong ||= line.trim();
  }
  return { terms, wrong };
}

/** The field of a request with the terms of its target language; none without any. */
export function glossaryField(target) {
  const { terms } = parseTerms(typedTerms(target));
  return Object.keys(terms).length ? { glossary: terms } : {};
}
