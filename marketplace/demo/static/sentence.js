// What the API says of a field, in people's words.

const NAMES = {
  accountId: "the account",
  expectedPrice: "the price",
  listingPrice: "the price",
  maxPrice: "the highest price",
  minPrice: "the lowest price",
  serialNo: "the serial number",
  tokenId: "the token",
};
const NAMED = new RegExp(`\\b(${Object.keys(NAMES).join("|")})\\b`, "g");

/** "minPrice must be above 0; tokenId is required" as "The lowest price must be above 0; the token is required". */
export function inWords(sentence) {
  const plain = sentence
    .replace(/^\w+ must not be above maxPrice.*/, "The lowest price is above the highest")
    .replace(NAMED, (name) => NAMES[name]);
  return plain.charAt(0).toUpperCase() + plain.slice(1);
}
