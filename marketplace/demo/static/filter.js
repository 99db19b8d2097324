// The filter of a shelf: what the address asks for, and what is wrong with it, field by field.

import { api, withQuery } from "./addresses.js";
import { bareHbar } from "./amount.js";
import { get } from "./call.js";
import { element } from "./element.js";
import { plainNumber } from "./json.js";
import { inWords } from "./sentence.js";

const form = document.getElementById("filter");
// The form's fields by the API's names.
const FIELDS = { tokenId: "collection", accountId: "account", minPrice: "minPrice", maxPrice: "maxPrice" };

const given = [...new URLSearchParams(location.search)].map(([name, value]) => [name, value.trim()]);

/** { collection, account, minPrice, maxPrice, sort } as text, without those that are missing. */
export const wanted = Object.fromEntries(given.filter(([, value]) => value));

/** "from 10 up to 1,500 HBAR", or "". */
export function priceRange({ minPrice, maxPrice }) {
  const parts = [minPrice && `from ${bareHbar(minPrice)}`, maxPrice && `up to ${bareHbar(maxPrice)}`];
  const range = parts.filter(Boolean).join(" ");
  return range && `${range} HBAR`;
}

/** "20 for sale owned by 0.0.1001", or "20 for sale". */
export const forSale = (count, which = "") => `${count} for sale ${which}`.trim();

/** Write the API's errors beneath their fields, and focus the first one. */
export function showWrong(answer) {
  const said = Object.assign({}, ...Object.values(answer.data?.errors ?? {}));
  for (const [name, sentences] of Object.entries(said)) {
    const input = form?.elements[FIELDS[name]];
    if (!input) continue;
    input.setAttribute("aria-invalid", "true");
    document.getElementById(input.getAttribute("aria-describedby")).replaceChildren(...sentences.map((said) => element("span", {}, inWords(`It ${said}`))));
    form.closest("details").open = true;
  }
  form?.querySelector("[aria-invalid]")?.focus({ preventScroll: true });
}

/** Offer the names of collections where an id is asked for. */
async function suggest({ target }) {
  const { data } = await get(withQuery(api("/collections"), { limit: 100 }));
  const names = (data ?? []).map(({ token, name }) => element("option", { value: token, label: name }));
  target.after(element("datalist", { id: "collection-names" }, names));
  target.setAttribute("list", "collection-names");
}
form?.elements.collection?.addEventListener("focus", suggest, { once: true });

// Empty fields stay out of the address, and numbers are written as the API takes them.
form?.addEventListener("formdata", ({ formData }) => {
  for (const [name, value] of [...formData].filter(([name]) => name !== "trait")) {
    if (value.trim()) formData.set(name, plainNumber(value.trim()));
    else formData.delete(name);
  }
});
