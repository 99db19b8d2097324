// IDs of the ledger, and amounts.

export const TINYBARS = 100_000_000n; // in one HBAR

/** @param {unknown} text */
export const isEntity = (text) => typeof text === "string" && /^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)$/.test(text);

/** A whole number as a BigInt; null if it is none. @param {unknown} value */
export function whole(value) {
  if (typeof value === "bigint") return value;
  const isWhole = typeof value === "number" ? Number.isSafeInteger(value) : typeof value === "string" && /^\d{1,19}$/.test(value);
  return isWhole ? BigInt(/** @type {number | string} */ (value)) : null;
}
