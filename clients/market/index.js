// A client of the NFT Marketplace Service: its calls, its events, and trades that are checked before a wallet signs.

export { MarketError } from "./src/errors.js";
export { explain } from "./src/explain.js";
export { exchange } from "./src/http.js";
export { parse, stringify } from "./src/json.js";
export { Market } from "./src/market.js";
export { verify } from "./src/verify.js";
