// An NFT is listed, withdrawn, listed again and bought, with the Hedera SDK as it is: nothing of it is configured but
// the node's address. Beside `make run`:
//
//   npm ci && node sell.mjs                          @hashgraph/sdk
//   SDK=@hiero-ledger/sdk node sell.mjs              the same by its new name
//
// MARKET, NODE and TOKEN say where the service is, where its node is, and the access token: see market.mjs.
import { sell } from "./market.mjs";

const { MARKET, NODE, TOKEN, SDK } = process.env;
await sell(await import(SDK ?? "@hashgraph/sdk"), {
  market: MARKET ?? "http://127.0.0.1:8000",
  node: NODE ?? "127.0.0.1:50211",
  token: TOKEN,
  say: console.log,
});
