// Amounts of HBAR, as people read them, where no page of the server has them.

const format = new Intl.NumberFormat("en", { maximumFractionDigits: 8 });
const TINYBARS = 100_000_000;

export const hbar = (amount) => `${format.format(amount)} HBAR`;
export const tinybars = (amount) => hbar(Number(amount) / TINYBARS);

/** The number alone, without the unit. */
export const bareTinybars = (amount) => format.format(Number(amount) / TINYBARS);
