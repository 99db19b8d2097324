// List an NFT, have the sandbox's demo wallet sign it, report it, and follow the events until Ctrl-C.
// With Node.js 22.18 or newer, beside `make run`, in the clone:
//
//     . instance/sandbox.env
//     node examples/client/client.ts "$MARKET" "$TOKEN"

import { setTimeout as sleep } from "node:timers/promises";

const [market, token] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };

async function ask(path: string, body?: object) {
  const method = body ? "POST" : "GET";
  const r = await fetch(new URL(path, market), { method, headers, body: JSON.stringify(body) });
  const json = await r.json();
  if (!r.ok) throw new Error(json.message);
  return { status: r.status, headers: r.headers, json };
}

async function sign(prepared: { byteArray: string; metadata: { accountToSign: string } }): Promise<string> {
  const unsigned = { accountId: prepared.metadata.accountToSign, transaction: prepared.byteArray };
  const signed = (await ask("sandbox/sign", unsigned)).json;
  return (await ask("sandbox/transactions", signed)).json.transactionId;
}

async function listNft(nft: object, price: number) {
  await ask("v1/add", nft);
  const prepared = (await ask("v1/list/extwallet", { ...nft, listingPrice: price })).json;
  const report = { ...nft, transactionId: await sign(prepared) };
  for (let r; (r = await ask("v1/comingsoon", report)).status === 202; ) // not visible yet
    await sleep(1000 * Number(r.headers.get("Retry-After")));
}

async function follow(path: string) {
  for (;;) {
    const { headers, json } = await ask(path);
    for (const event of json) console.log(event.kind, event.token, event.serialNo, event.price);
    path = headers.get("Link")!.match(/<(.*?)>/)![1]!;
    await sleep(json.length ? 0 : 2000);
  }
}

console.log("Events as they happen; Ctrl-C ends this");
const cursor = (await ask("v1/orderbook")).headers.get("X-Events-Cursor");
await listNft({ accountId: "0.0.2002", tokenId: "0.0.7007", serialNo: 8 }, 250);
await follow(`v1/events?after=${cursor}`);
