// HBAR in US dollars, by the ledger's own exchange rate.

import { api } from "./addresses.js";
import { get } from "./call.js";
import { element } from "./element.js";

const format = new Intl.NumberFormat("en", { style: "currency", currency: "USD" });
let asked = null; // the request for the rate, one for each page

/** "about $12.30", as soon as the rate is known; nothing before. */
export function dollars(amount) {
  const shown = element("span", { class: "dollars" });
  asked ??= get(api("/network"));
  asked.then(({ data }) => {
    const rate = data?.exchangeRate;
    if (rate) shown.textContent = `about ${format.format((amount * rate.cents) / rate.hbar / 100)}`;
  });
  return shown;
}
