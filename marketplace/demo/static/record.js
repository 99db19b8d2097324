// The records of NFTs that a page only mentions, each read once.

import { api } from "./addresses.js";
import { get } from "./call.js";

const records = new Map();

/** The record of an NFT, or null if there is none. */
export async function readRecord(token, serial) {
  const url = api("/nft/{token}/{serial}", { token, serial });
  if (!records.has(url)) records.set(url, get(url));
  const answer = await records.get(url);
  return answer.ok ? answer.data : null;
}
