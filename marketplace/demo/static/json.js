// JSON whose integers stay whole: serial numbers go up to 2^63 - 1, JavaScript's numbers don't.

export function parse(text) {
  return JSON.parse(text, (_, value, context) => {
    const isLarge = typeof value === "number" && Number.isInteger(value) && !Number.isSafeInteger(value);
    return isLarge && /^-?\d+$/.test(context?.source) ? BigInt(context.source) : value;
  });
}

export function stringify(value, indent) {
  const write = (_, part) => (typeof part === "bigint" ? JSON.rawJSON(String(part)) : part);
  return JSON.stringify(value, write, indent);
}

/** The whole number that was typed; anything else stays text, so that the API says what is wrong. */
export function wholeNumber(text) {
  if (!/^-?\d+$/.test(text.trim())) return text;
  const number = Number(text);
  return Number.isSafeInteger(number) || !JSON.rawJSON ? number : BigInt(text.trim());
}
