// Elements, found by id or made; their content is text, never markup.

export const $ = (id) => document.getElementById(id);

/** An element with properties (or attributes, where it has no such property) and children. */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** A button; `label` is its name for screen readers where its text is a symbol. */
export function button(text, onclick, { label, ...properties } = {}) {
  const named = label ? { "aria-label": label, title: label } : {};
  return element("button", { type: "button", onclick, ...named, ...properties }, text);
}

/** A number from 0 to 1 as a percentage. */
export const percent = (share) => window.regard.percent(share);
