// The same in a browser: the SDK's web build, which speaks gRPC-web to the service's own port. `npm run browser`
// bundles it for browser.html, which any web server may serve. The sandbox lets pages of any origin call it.
//
//   npm run browser && python3 -m http.server 8090        then open http://127.0.0.1:8090/browser.html
import * as sdk from "@hiero-ledger/sdk";
import { sell } from "./market.mjs";

const form = document.querySelector("form");
const output = document.querySelector("output");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  output.textContent = "";
  const say = (line) => output.append(`${line}\n`);
  const market = form.elements.market.value;
  // The node is where the service is: host and port, without a path.
  const node = new URL(market).host;
  try {
    await sell(sdk, { market, node, token: form.elements.token.value, say });
    say("Done");
  } catch (error) {
    say(error.message);
  }
});
