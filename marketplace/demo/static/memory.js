// What the browser remembers of you from page to page: nothing of it leaves it.

const name = (key) => `market-${key}`;

/** What was remembered, or null: some browsers are told to remember nothing. */
export function recall(key) {
  try {
    return localStorage.getItem(name(key));
  } catch {
    return null;
  }
}

export function remember(key, value) {
  try {
    localStorage.setItem(name(key), value);
  } catch {
    // it is asked again on the next page
  }
}
