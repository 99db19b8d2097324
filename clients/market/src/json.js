// JSON whose integers stay whole: serial numbers go up to 2^63 - 1, JavaScript's numbers don't.

const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const WHOLE = /^-?[1-9]\d*$/;

const isLarge = (token) => WHOLE.test(token) && !Number.isSafeInteger(Number(token));
const newMark = () => `${Math.random()}:`; // no stranger's text begins with it

/** Parse JSON. Integers beyond 2^53 become a BigInt. @param {string} text @returns {any} */
export function parse(text) {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const mark = newMark();
  const marked = text.replace(TOKENS, (token) => (isLarge(token) ? `"${mark}${token}"` : token));
  return JSON.parse(marked, (_, value) => (typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value));
}

/** Write JSON. A BigInt becomes an integer. @param {any} value @param {number} [indent] @returns {string} */
export function stringify(value, indent) {
  const mark = newMark();
  const text = JSON.stringify(value, (_, part) => (typeof part === "bigint" ? `${mark}${part}` : part), indent);
  return text?.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}
