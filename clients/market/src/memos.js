// The memos of the market's transactions, as marketplace/market/memos.py writes them.

const MOST_BYTES = 100;
const bytes = (text) => new TextEncoder().encode(text).length;

/** A memo without the market's name; without the token, too, if it would be too long. */
const shorten = (memo, withoutToken) => (bytes(memo) > MOST_BYTES ? withoutToken : memo);

/** @param {string} doing @param {string} tokenId @param {any} serialNo @param {string} price */
const ofOne = (doing, tokenId, serialNo, price) => shorten(`${doing} NFT with ${tokenId} and Serial Number ${serialNo}${price}`, `${doing} NFT with Serial Number ${serialNo}${price}`);
const ofSeveral = (doing, tokenId, price) => shorten(`${doing} NFTs of ${tokenId}${price}`, `${doing} NFTs${price}`);

/** The memos that an order may have. @param {{ kind: string, tokenId?: string, serialNos: any[], price?: bigint | null }} order */
export function memosOf({ kind, tokenId, serialNos, price }) {
  const [one] = serialNos;
  const hbar = ` for ${price} HBAR`;
  switch (kind) {
    case "list":
      return [...(serialNos.length === 1 ? [ofOne("Listing", tokenId, one, hbar)] : []), ofSeveral("Listing", tokenId, `${hbar} each`)];
    case "withdraw":
      return [...(serialNos.length === 1 ? [ofOne("Delisting", tokenId, one, "")] : []), ofSeveral("Delisting", tokenId, "")];
    case "buy":
      return serialNos.length === 1 ? [ofOne("Buying", tokenId, one, hbar)] : [`Buying ${serialNos.length} NFTs${hbar}`];
    case "offer":
      return [shorten(`Offer of ${price} HBAR for ${tokenId} and Serial Number ${one}`, `Offer of ${price} HBAR for Serial Number ${one}`)];
    default:
      return [];
  }
}

/** Whether a memo is one of these, with any market's name or none. @param {string} memo @param {string[]} forms */
export const isMemo = (memo, forms) => forms.some((form) => memo === form || memo.startsWith(`${form} on `));
