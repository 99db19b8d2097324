// Elements: the only way data gets into a page. Strings become text, never markup.

/** element("a", { href, class: "x", onclick }, "text", child): null, undefined and false are left out. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function fill(made, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : String(value));
  }
  made.append(...children.flat().filter((child) => ![null, undefined, false].includes(child)).map(toNode));
  return made;
}

const toNode = (child) => (child instanceof Node ? child : String(child));

/** A stranger's words: clamped to some lines, in their own direction, and whole on hover. */
export function words(text) {
  return element("span", { class: "words", title: text }, text);
}

/** Rows of a <dl>: [["Token", node or text], ...]. */
export function fields(rows) {
  return rows
    .filter(([, value]) => value !== null && value !== undefined)
    .map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", {}, value)));
}

/** A sentence in a box: kind is good, bad or wait. */
export function notice(kind, ...content) {
  return element("p", { class: `notice ${kind}` }, ...content);
}
