// An NFT is listed, withdrawn, listed again and bought, with the Hedera SDK as it is: nothing of it is configured but
// the node's address. Beside `make run`, in this folder:
//
//   . ../../../instance/sandbox.env
//   npm ci && node sell.mjs                          @hashgraph/sdk
//   SDK=@hiero-ledger/sdk node sell.mjs              the same by its new name
//
// MARKET says where the service is, NODE where its node listens: see market.mjs.
import { sell } from "./market.mjs";

const { MARKET, NODE, TOKEN, SDK } = process.env;
if (!MARKET || !NODE || !TOKEN) {
  console.error("MARKET, NODE or TOKEN is not set. In the clone, while make run serves: . instance/sandbox.env");
  process.exit(1);
}
await sell(await import(SDK ?? "@hashgraph/sdk"), {
  market: MARKET,
  node: NODE,
  token: TOKEN,
  say: console.log,
});
