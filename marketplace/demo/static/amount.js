// Amounts of HBAR, as people read them.

const format = new Intl.NumberFormat("en", { maximumFractionDigits: 8 });
const TINYBARS = 100_000_000;

export const hbar = (amount) => `${format.format(amount)} HBAR`;

/** Whole HBAR in tinybars. */
export const inTinybars = (amount) => BigInt(amount) * BigInt(TINYBARS);

export const tinybars = (amount) => hbar(Number(amount) / TINYBARS);

/** The number alone, without the unit. */
export const bareHbar = (amount) => format.format(amount);
export const bareTinybars = (amount) => format.format(Number(amount) / TINYBARS);
