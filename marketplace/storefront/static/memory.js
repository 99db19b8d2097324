// What the browser remembers of you from page to page. Nothing of it leaves the browser.

const name = (key) => `market-${key}`;

/** What was remembered, or null. Some browsers are set to remember nothing. */
export function recall(key) {
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null;
  }
}

/** The accounts that the connected wallet shares. It signs for the first one. @returns {string[]} */
export const sharedAccounts = () => (recall("wallets") ?? "").split(",").filter(Boolean);

/** Call act() when another tab has changed it. */
export const onChanged = (key, act) => addEventListener("storage", ({ key: changed }) => changed === name(key) && act());

/** Null forgets it. */
export function remember(key, value) {
  try {
    if (value === null) localStorage.removeItem(name(key));
    else localStorage.setItem(name(key), value);
  } catch {
    // the next page begins without it
  }
}
