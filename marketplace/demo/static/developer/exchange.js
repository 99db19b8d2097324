// One exchange with the API, shown: the request as curl, the answer as it came.

import { get, parse, stringify } from "../call.js";
import { codeBlock } from "../code.js";
import { element } from "../element.js";

/** The element that shows a call of call.js. By default it is closed on a narrow screen. */
export function exchange(made, { open = matchMedia("(min-width: 48rem)").matches } = {}) {
  const { pathname, search } = new URL(made.address);
  const path = decodeURI(pathname + search);
  const kind = made.ok ? (made.status === 202 ? "wait" : "good") : "bad";
  const took = made.milliseconds === undefined ? null : `${made.milliseconds} ms`;
  const parts = [label("Request"), codeBlock(made.curl, `the curl command for ${path}`)];
  if (made.text) {
    parts.push(label("Answer"), codeBlock(pretty(made.text), `the answer of ${path}`));
  }
  return element(
    "details",
    { class: "exchange", open },
    element(
      "summary",
      {},
      element("span", { class: "method" }, made.method),
      element("code", { class: "path" }, path),
      element("span", { class: `status ${kind}` }, `${made.status || ""} ${made.statusText}`.trim()),
      took && element("span", { class: "took" }, took),
    ),
    element("div", { class: "said" }, ...parts),
  );
}

/** Make the call that a page has listed, and show it whole. */
export async function fill(shown) {
  const made = exchange(await get(shown.dataset.call), { open: true });
  made.querySelector("summary").remove();
  shown.append(...made.childNodes);
}

const label = (text) => element("p", { class: "label" }, text);

function pretty(text) {
  try {
    return stringify(parse(text), 2);
  } catch {
    return text;
  }
}
