// Elements: the only way data gets into a page. Strings become text, never markup.

const SVG = "http://www.w3.org/2000/svg";

/** element("a", { href, class: "x", onclick }, "text", child): null, undefined and false are left out. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for a part of a picture. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
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

/** A stranger's address, as a link only if it is http or https. */
export function webLink(address) {
  const isWeb = URL.canParse(address) && ["http:", "https:"].includes(new URL(address).protocol);
  return isWeb ? element("a", { href: address, rel: "noopener noreferrer" }, address) : address;
}

/** A link away from the market's pages: it opens in a new tab, and says so. */
export function tabLink(href, label, title) {
  const said = element("span", { class: "visually-hidden" }, " (JSON, in a new tab)");
  return element("a", { href, title, target: "_blank", rel: "noopener", class: "outward" }, label, said);
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
