// The listing, step by step: each shows the call it made and opens the next one.

import { api, galleryPage, nftPage, sandbox, wallet } from "./addresses.js";
import { get, post } from "./call.js";
import { card } from "./card.js";
import { element } from "./element.js";
import { onSubmit } from "./form.js";
import { wholeNumber } from "./json.js";
import { offerPurchase } from "./purchase.js";
import { fillSnippets } from "./snippets.js";
import { Step } from "./step.js";
import { showTransaction } from "./transaction.js";

const NAMES = ["add", "prepare", "look", "sign", "submit", "report", "appear", "buy"];
const steps = Object.fromEntries(NAMES.map((name) => [name, new Step(name)]));
const { add, prepare, look, sign, submit, report, appear, buy } = steps;
// What the steps hand on: { accountId, tokenId, serialNo }, the listing, the signed bytes, the receipt.
const listing = {};

/** Start a step over: what came after it is no longer true. */
function restart(step) {
  step.clear();
  for (const name of NAMES.slice(NAMES.indexOf(step.root.id) + 1)) steps[name].lock();
}

const keys = () => listing.keys;
const bold = (text) => element("strong", {}, text);

onSubmit(add.form, async ({ account, token, serial }) => {
  restart(add);
  listing.keys = { accountId: account, tokenId: token, serialNo: wholeNumber(serial) };
  const answer = await post(api("/add"), keys());
  add.show(answer);
  if (!answer.ok) return add.fail(answer.message);
  add.succeed("It is stored: ", bold(`${token} #${serial}`), ".");
  return prepare.open();
});

onSubmit(prepare.form, async ({ price }) => {
  restart(prepare);
  const answer = await post(api("/list/{wallet}", { wallet }), { ...keys(), listingPrice: wholeNumber(price) });
  prepare.show(answer);
  if (!answer.ok) return prepare.fail(answer.message);
  prepare.succeed("The transaction is ready for ", bold(answer.data.metadata.accountToSign), " to sign.");
  return lookInside(answer.data);
});

async function lookInside(prepared) {
  listing.byteArray = prepared.byteArray;
  listing.transactionId = undefined;
  fillSnippets(prepared);
  look.open();
  const answer = await post(sandbox("/decode"), { transaction: prepared.byteArray });
  look.show(answer);
  if (!answer.ok) return look.fail(answer.message);
  showTransaction(document.getElementById("transaction"), answer.data, prepared.byteArray);
  look.succeed("It lets the marketplace spend this one NFT, and nothing else. Nothing is signed yet.");
  return sign.open({ focus: false });
}

const [demoWallet, pasted] = ["demo", "paste"].map((way) => sign.root.querySelector(`[data-way=${way}]`));

onSubmit(demoWallet, async () => {
  restart(sign);
  const answer = await post(sandbox("/sign"), { accountId: keys().accountId, transaction: listing.byteArray });
  sign.show(answer);
  if (!answer.ok) return sign.fail(answer.message);
  return takeSigned(answer.data.transaction, `The demo wallet signed for ${keys().accountId}.`);
});

onSubmit(pasted, async ({ signed }) => {
  restart(sign);
  const transaction = signed.replace(/\s/g, "");
  const answer = await post(sandbox("/decode"), { transaction });
  sign.show(answer);
  if (!answer.ok) return sign.fail(answer.message);
  const count = answer.data.signedBy.length;
  if (!count) return sign.fail("These bytes carry no signature: paste what the wallet returns after signing.");
  return takeSigned(transaction, `These bytes carry ${count === 1 ? "one signature" : `${count} signatures`}.`);
});

function takeSigned(transaction, sentence) {
  listing.signed = transaction;
  listing.transactionId = undefined;
  sign.succeed(sentence);
  submit.open();
  report.open({ focus: false }); // a wallet that submits by itself goes on there
}

onSubmit(submit.form, async () => {
  restart(submit);
  const answer = await post(sandbox("/transactions"), { transaction: listing.signed });
  submit.show(answer);
  report.open({ focus: false });
  if (!answer.ok) return submit.fail(answer.message);
  const { result, transactionId } = answer.data;
  listing.transactionId = transactionId;
  if (result !== "SUCCESS") return submit.fail("The ledger refused it: ", bold(result), ".");
  submit.succeed("The ledger says ", bold(result), ".");
  return report.open();
});

onSubmit(report.form, async () => {
  restart(report);
  const { transactionId } = listing;
  const answer = await post(api("/comingsoon"), transactionId ? { ...keys(), transactionId } : keys());
  report.show(answer);
  if (!answer.ok) return report.fail(answer.message);
  if (answer.status === 202) return report.wait("The ledger does not show it yet: report again in a few seconds.");
  report.succeed("The ledger shows it: it is listed.");
  return showAppeared();
});

async function showAppeared() {
  const { tokenId, serialNo } = keys();
  appear.open();
  const [orderbook, record] = await Promise.all([
    get(`${api("/orderbook")}?limit=1`),
    get(api("/nft/{tokenId}/{serialNo}", { tokenId, serialNo })),
  ]);
  appear.show(orderbook);
  if (!record.ok) return appear.fail(record.message);
  document.getElementById("appeared").replaceChildren(card(record.data, { heading: "h3", eager: true }));
  const page = element("a", { href: nftPage(tokenId, serialNo) }, "its page");
  const gallery = element("a", { href: galleryPage() }, "the gallery");
  appear.succeed("See ", page, ", or ", gallery, ".");
  return buy.open({ focus: false });
}

offerPurchase({
  nft: () => ({ token: keys().tokenId, serialNo: keys().serialNo, seller: keys().accountId }),
  then: (record) => record.ok && !record.data.isForSale && buy.set("done"),
});

add.set("open");
