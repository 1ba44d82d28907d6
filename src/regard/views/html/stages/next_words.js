// The ten most probable next words as bars, and a slider for the temperature that reshapes them.
const { element, message, numberText } = regard;
let temperature = 1; // of all steps: it stays while one goes from word to word

/** p_i = exp(l_i / T) / Σ_j exp(l_j / T); `others` is log Σ exp(l / T) of the logits that are not here. */
regard.reshape = (logits, others, heat) => {
  const scaled = Array.from(logits, (logit) => logit / heat), most = Math.max(...scaled, others);
  const total = scaled.reduce((sum, logit) => sum + Math.exp(logit - most), Math.exp(others - most));
  return scaled.map((logit) => Math.exp(logit - most) / total);
};

/** A word with its bar; a button if `onClick` goes on with it. */
function bar(word, share, text, written, onClick) {
  const fill = element("span", { className: "fill" });
  fill.style.setProperty("--share", Math.max(0, Math.min(1, share)));
  const row = element(onClick ? "button" : "span", { className: "next-word", ...(onClick ? { type: "button" } : {}) },
    element("span", { className: "name" }, word), element("span", { className: "track" }, fill), element("span", { className: "share" }, text));
  if (onClick) row.addEventListener("click", onClick);
  return element("li", { className: written ? "written-word" : "" }, row);
}

/** Tokens as they are shown; of two that look alike, the one that goes on with the word before has an ellipsis. */
function names(tokens) {
  const plain = tokens.map(regard.plainToken), isAlone = (name) => plain.indexOf(name) === plain.lastIndexOf(name);
  return plain.map((name, place) => (isAlone(name) || tokens[place].startsWith("▁") ? name : `…${name}`));
}

/** The picture of logits or probabilities at a position; `onPosition(position)` goes on to another, `onWord(id)` with another word. */
regard.nextWords = async (list, step, position, { onPosition, onWord }) => {
  const row = Math.max(0, step.rows.indexOf(position)), words = names(step.tokens[row]), values = await list.at(step, position);
  const side = list.data.sides[step.side], rest = step.shape.at(-1) - words.length;
  const written = step.ids[row].indexOf(side?.ids[position]), bars = element("ol", { className: "bars" });
  const logits = list.beside(step, "logits"), parts = [], left = element("p", { className: "note" });
  const click = (place) => onWord && (() => onWord(step.ids[row][place]));
  if (step.name === "logits") {
    const low = Math.min(...values, 0), high = Math.max(...values, 0);
    bars.append(...words.map((word, place) => bar(word, (values[place] - low) / (high - low || 1), numberText(values[place]), place === written, click(place))));
    left.textContent = rest ? message("othersLeft", { count: rest.toLocaleString(regard.language) }) : "";
  } else if (logits?.temperatures) {
    const { temperatures, others } = logits, own = await list.at(logits, position), name = element("output", { className: "share" });
    const slider = element("input", { type: "range", min: 0, max: temperatures.length - 1, step: 1, value: temperatures.indexOf(temperature) });
    const paint = () => {
      temperature = temperatures[slider.value];
      name.textContent = `T = ${temperature.toFixed(1)}`;
      slider.setAttribute("aria-valuetext", name.textContent);
      const shares = regard.reshape(own, others[row][slider.value] ?? -Infinity, temperature), sum = shares.reduce((a, b) => a + b, 0);
      bars.replaceChildren(...words.map((word, place) => bar(word, shares[place], regard.percent(shares[place]), place === written, click(place))));
      left.textContent = rest ? message("othersShare", { count: rest.toLocaleString(regard.language), share: regard.percent(1 - sum) }) : "";
    };
    slider.addEventListener("input", paint);
    paint();
    parts.push(element("label", { className: "temperature" }, element("span", {}, message("temperature")), slider, name),
      element("p", { className: "note" }, message("aboutTemperature")));
  } else bars.append(...words.map((word, place) => bar(word, values[place], regard.percent(values[place]), place === written, click(place))));
  if (onWord) parts.push(element("p", { className: "note" }, message("clickWord")));
  if (side?.tokens.length > 1) parts.unshift(decoding(list, step, position, onPosition));
  return [...parts, element("div", { className: "block" }, bars, left)];
};

/** What has been written so far, and the way to the word before and after. */
function decoding(list, step, position, onPosition) {
  const tokens = list.tokens(step.side).map(regard.plainToken), place = step.rows.indexOf(position);
  const button = (key, to) => {
    const node = element("button", { type: "button", data: { go: key } }, message(key));
    node.setAttribute("aria-disabled", String(to === undefined)); // not `disabled`, which would lose the focus
    node.addEventListener("click", () => { if (to !== undefined) onPosition(to); });
    return node;
  };
  const writes = step.side === "decoder", until = writes ? tokens.slice(0, position + 1) : tokens; // an encoder sees all
  return element("div", { className: "decoding" }, element("p", { className: "so-far" }, ...until.map((token, number) =>
    element("span", { className: number === position ? "last" : "" }, token)), ...(writes ? [element("span", { className: "next" }, "?")] : [])),
    element("span", { className: "controls" }, button("wordBefore", step.rows[place - 1]), button("wordAfter", step.rows[place + 1])));
}
