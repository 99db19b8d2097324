// An NFT is listed, withdrawn, listed again and bought, with the Hedera SDK as it is: nothing of it is configured but
// the node's address. Beside `make run`, in this folder:
//
//   export TOKEN=$(cat ../../../instance/sandbox-token) NODE=$(cat ../../../instance/sandbox-node)
//   npm ci && node sell.mjs                          @hashgraph/sdk
//   SDK=@hiero-ledger/sdk node sell.mjs              the same by its new name
//
// MARKET says where the service is, NODE where its node listens: see market.mjs.
import { sell } from "./market.mjs";

const { MARKET, NODE, TOKEN, SDK } = process.env;
await sell(await import(SDK ?? "@hashgraph/sdk"), {
  market: MARKET ?? "http://127.0.0.1:8000",
  node: NODE,
  token: TOKEN,
  say: console.log,
});
