// List, withdraw and buy an NFT with clients whose types were generated from the two documents: market and sandbox.
import createClient from "openapi-fetch";
import type { components, paths } from "./market";
import type { paths as sandboxPaths } from "./sandbox";

type Nft = components["schemas"]["Nft"];

const [url, token] = process.argv.slice(2) as [string, string];
const headers = { Authorization: `Bearer ${token}` };
const market = createClient<paths>({ baseUrl: url, headers });
const sandbox = createClient<sandboxPaths>({ baseUrl: `${url}/sandbox` });
const nft = { accountId: "0.0.2002", tokenId: "0.0.7007", serialNo: 7 };

/** The answer, or the error's own sentence. */
async function answered<T>(call: Promise<{ data?: T; error?: components["schemas"]["ApiError"] }>): Promise<T> {
  const { data, error } = await call;
  if (data === undefined) throw new Error(error?.message ?? "no answer");
  return data;
}

const path = { tokenId: nft.tokenId, serialNo: nft.serialNo };
const missing = await market.GET("/v1/nft/{tokenId}/{serialNo}", { params: { path } });
if (missing.error?.code !== 404) throw new Error("an NFT that was not added is there");

await answered(market.POST("/v1/add", { body: nft }));
type Prepared = components["schemas"]["PreparedTransaction"];
const wallet = { params: { path: { wallet: "extwallet" } } } as const;

type Report = paths["/v1/comingsoon"]["post"]["requestBody"]["content"]["application/json"];

/** Sign what was prepared, submit it and report it, or hand it in. */
async function complete(prepared: Prepared, report: Report) {
  const accountId = prepared.metadata.accountToSign;
  const signed = await answered(
    sandbox.POST("/sign", { body: { accountId, transaction: prepared.byteArray } }),
  );
  const done = prepared.metadata.returnTransaction
    ? { signedTransaction: signed.transaction }
    : { transactionId: (await answered(sandbox.POST("/transactions", { body: signed }))).transactionId };
  const { result } = await answered(market.POST("/v1/comingsoon", { body: { ...report, ...done } }));
  if (result !== "OK") throw new Error(result);
}

/** Words that a later version may answer. */
const kind: components["schemas"]["Event"]["kind"] = "LATER_KIND";
const reason: components["schemas"]["ApiError"]["reason"] = "LATER_REASON";
void [kind, reason];

/** Calls that are wrong: the compiler refuses this program where the types of one of them let it pass. */
async function wrong() {
  // @ts-expect-error: a serial number is a number
  await market.POST("/v1/add", { body: { ...nft, serialNo: "7" } });
  const { data } = await market.POST("/v1/list/{wallet}", { ...wallet, body: { ...nft, listingPrice: 250 } });
  // @ts-expect-error: there is no such field
  data?.bytes;
  // @ts-expect-error: an array of serial numbers has another name
  await market.POST("/v1/add", { body: { ...nft, serialNo: [7, 8] } });
  // @ts-expect-error: a basket is of NFTs
  await market.POST("/v1/buy/{wallet}", { ...wallet, body: { accountId: nft.accountId, nfts: [7, 8] } });
  // @ts-expect-error: there is no such order
  await market.GET("/v1/orderbook", { params: { query: { sort: "cheapest" } } });
}
void wrong;

const list = () => market.POST("/v1/list/{wallet}", { ...wallet, body: { ...nft, listingPrice: 250 } });
await complete(await answered(list()), nft);
const listed: Nft[] = await answered(market.GET("/v1/orderbook", { params: { query: { limit: 1 } } }));

const query = { sort: "-price", tokenId: nft.tokenId, minPrice: 250, maxPrice: 250 } as const;
const sorted: Nft[] = await answered(market.GET("/v1/orderbook", { params: { query } }));
if (JSON.stringify(sorted) !== JSON.stringify(listed)) throw new Error("by price, another NFT is listed");

const collection: components["schemas"]["CollectionRecord"] = await answered(
  market.GET("/v1/collection/{tokenId}", { params: { path: { tokenId: nft.tokenId } } }),
);
if (collection.listed !== 1 || collection.floorPrice !== 250) throw new Error(JSON.stringify(collection));

await complete(await answered(market.POST("/v1/delist/{wallet}", { ...wallet, body: nft })), nft);
await complete(await answered(list()), nft);
const buyer = { ...nft, accountId: "0.0.2003" };
const asked = { ...wallet, body: { ...buyer, expectedPrice: 250 } };
await complete(await answered(market.POST("/v1/buy/{wallet}", asked)), buyer);
const bought = await answered(market.GET("/v1/nft/{tokenId}/{serialNo}", { params: { path } }));
if (bought.owner.accountId !== buyer.accountId) throw new Error("it was not bought");

// Several at once: the other form of each body.
const { accountId, tokenId } = nft;
const several = { accountId, tokenId, serialNos: [8, 9, 10] };
await answered(market.POST("/v1/add", { body: several }));
const listings = market.POST("/v1/list/{wallet}", { ...wallet, body: { ...several, listingPrice: 30 } });
await complete(await answered(listings), several);
const last = { ...several, serialNos: [10] };
await complete(await answered(market.POST("/v1/delist/{wallet}", { ...wallet, body: last })), last);
const forSale = async () => (await answered(market.GET("/v1/orderbook"))).map((each) => each.serialNo).sort();
if (`${await forSale()}` !== "8,9") throw new Error("not two of three are listed");
const nfts = [8, 9].map((serialNo) => ({ tokenId, serialNo }));
const toBuy = nfts.map((each) => ({ ...each, expectedPrice: 30 }));
const basket = market.POST("/v1/buy/{wallet}", { ...wallet, body: { accountId: buyer.accountId, nfts: toBuy } });
await complete(await answered(basket), { accountId: buyer.accountId, nfts });
if ((await forSale()).length) throw new Error("the basket was not bought");
console.log(JSON.stringify(listed[0]));
