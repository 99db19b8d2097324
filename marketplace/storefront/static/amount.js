// Amounts of HBAR as people read them, where no page of the server has them, and numbers as people type them.

const format = new Intl.NumberFormat("en", { maximumFractionDigits: 8 });
const TINYBARS = 100_000_000;

export const hbar = (amount) => `${format.format(amount)} HBAR`;
export const tinybars = (amount) => hbar(Number(amount) / TINYBARS);

/** The number alone, without the unit. */
export const bareTinybars = (amount) => format.format(Number(amount) / TINYBARS);

/** A number as people type it, "1,000" or "1 000", as the API takes it; anything else stays as it is. */
export const plainNumber = (text) => (/^\d{1,3}([, ]\d{3})+$/.test(text) ? text.replace(/[, ]/g, "") : text);

/** The whole number that was typed; anything else stays text, so that the API says what is wrong. */
export function wholeNumber(text) {
  const plain = plainNumber(text.trim());
  if (!/^-?\d+$/.test(plain)) return text;
  const number = Number(plain);
  return Number.isSafeInteger(number) ? number : BigInt(plain);
}
