// A collection's story, in its creator's words: its token's memo, or else the description of its first NFT.

import { sandbox, withQuery } from "./addresses.js";
import { get } from "./call.js";

/** { story, source, calls }: a missing or empty story if there is none, and the calls that were made for it. */
export async function readStory(token) {
  const told = await get(sandbox("/api/v1/tokens/{token}", { token }));
  if (!told.ok || told.data.memo) return { story: told.data?.memo, source: "Its memo on the ledger", calls: [told] };
  const first = await get(withQuery(sandbox("/api/v1/tokens/{token}/nfts", { token }), { limit: 1, order: "asc" }));
  const { serial_number: serial, metadata = "" } = first.data?.nfts?.[0] ?? {};
  const [, cid, file] = /^ipfs:\/\/(\w+)\/(\d+\.json)$/.exec(atob(metadata)) ?? [];
  if (!cid) return { calls: [told, first] };
  const read = await get(sandbox("/ipfs/{cid}/{file}", { cid, file }));
  const { description } = read.data ?? {};
  const story = typeof description === "string" ? description : "";
  return { story, source: `From the metadata of #${serial}`, calls: [told, first, read] };
}
