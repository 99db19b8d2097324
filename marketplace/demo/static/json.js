// JSON whose integers stay whole: serial numbers go up to 2^63 - 1, JavaScript's numbers don't.

export function parse(text) {
  return JSON.parse(text, (_, value, context) => {
    const isLarge = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value;
  });
}

/** @type {any} */
const raw = JSON; // TypeScript does not know rawJSON() yet

export function stringify(value, indent) {
  const write = (_, part) => (typeof part === "bigint" ? raw.rawJSON(String(part)) : part);
  return JSON.stringify(value, write, indent);
}

/** A number as people type it, "1,000" or "1 000", as the API takes it; anything else stays as it is. */
export const plainNumber = (text) => (/^\d{1,3}([, ]\d{3})+$/.test(text) ? text.replace(/[, ]/g, "") : text);

/** The whole number that was typed; anything else stays text, so that the API says what is wrong. */
export function wholeNumber(text) {
  const plain = plainNumber(text.trim());
  if (!/^-?\d+$/.test(plain)) return text;
  const number = Number(plain);
  return Number.isSafeInteger(number) || !raw.rawJSON ? number : BigInt(plain);
}
