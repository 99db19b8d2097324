// Trades: their steps, and that none is made twice, whatever the service or the wallet answers.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Market, parse } from "../index.js";
import { serve } from "./service.mjs";

const { marketplace, orders, cases } = parse(readFileSync(new URL("../../../tests/market/tampered.json", import.meta.url), "utf8"));
const bytesOf = (order, isRight = true) => cases.find((one) => one.order === order && one.isRight === isRight).transaction;
const ID = { buy: "0.0.9001@1790000000.000000005", offer: "0.0.1002@1790000000.000000005" };
const idOf = (order) => ID[order.split(" ")[0]] ?? (order === "withdrawOffer" ? ID.offer : "0.0.1001@1790000000.000000005");
const NOW = { "Retry-After": "0" };
const refused = (reason, status = 409) => ({ status, json: { reason, message: `why ${reason}` }, headers: NOW });
const pending = { status: 202, json: { result: "PENDING" }, headers: NOW };
const unsigned = "A".repeat(20);

/** A service that prepares an order. reports: its answers to what is handed in or reported, the last one again. */
function answering(order, { reports = [{ json: { result: "OK" } }], byteArray = bytesOf(order) } = {}) {
  let count = 0;
  return ({ url }) => {
    if (url === "/v1/add") return { json: { result: "OK" } };
    if (url === "/v1/comingsoon") return reports[Math.min(count++, reports.length - 1)];
    const returnTransaction = url.startsWith("/v1/buy/");
    return { json: { byteArray, metadata: { accountToSign: "0.0.1001", returnTransaction, transactionId: idOf(order) } } };
  };
}

const makeStorage = (kept = new Map()) => ({ getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) });
const makeWallet = (order, answers = {}) => {
  const wallet = { asked: 0 };
  const answer = (given) => async (prepared) => {
    wallet.asked += 1;
    return typeof given === "function" ? given(prepared) : given;
  };
  wallet.signAndExecute = answer("signAndExecute" in answers ? answers.signAndExecute : { transactionId: idOf(order) });
  wallet.sign = answer("sign" in answers ? answers.sign : ({ byteArray }) => ({ signedTransaction: byteArray }));
  return wallet;
};
const open = (url, storage) => new Market({ url, token: "x", account: marketplace, retries: 1, storage });
const METHODS = { "list several": "list", "buy several": "buy" };
const act = (market, order, wallet, options) => market[METHODS[order] ?? order](orders[order], wallet, options);
const reported = (asked) => asked.filter(({ url }) => url === "/v1/comingsoon").map(({ body }) => body);

test("what it shows of its calls is without the token", () =>
  serve(answering("list"), async (url, asked) => {
    const shown = [];
    await act(open(url), "list", makeWallet("list"), { progress: ({ exchange }) => exchange && shown.push(exchange) });
    assert.deepEqual(shown.map(({ headers }) => headers), shown.map(() => ({ "Content-Type": "application/json" })));
    assert.deepEqual(shown.map(({ address }) => address), asked.map((one) => url + one.url));
    assert.equal(asked[0].headers.authorization, "Bearer x");
  }));

for (const [what, error, isDeclined] of [
  ["of the wallet link", { kind: "REFUSED" }, true],
  ["with a code", { code: 5000 }, true],
  ["in words", new Error("User rejected"), true],
  ["of the ledger", { kind: "LEDGER", message: "The ledger refused it" }, false],
  ["without a reason", undefined, false],
])
  test(`people read who has refused: an error ${what}`, () =>
    serve(answering("list"), async (url) => {
      const wallet = makeWallet("list", { signAndExecute: () => Promise.reject(error) });
      await assert.rejects(act(open(url), "list", wallet), ({ tell }) => tell.startsWith("You declined") === isDeclined);
    }));

for (const order of Object.keys(orders))
  test(`${order}: all steps in their order`, () =>
    serve(answering(order, { reports: [pending, pending, { json: { result: "OK", offerId: "0.0.8001" } }] }), async (url, asked) => {
      const steps = [], market = open(url, makeStorage());
      const wallet = makeWallet(order);
      const outcome = await act(market, order, wallet, { progress: ({ step, exchange }) => exchange || steps.at(-1) === step || steps.push(step) });
      assert.deepEqual(outcome, { result: "OK", offerId: "0.0.8001" });
      const isReturned = order.startsWith("buy");
      const expected = [...(order.startsWith("list") ? ["add"] : []), "prepare", "check", "sign", ...(isReturned ? ["check", "submit"] : []), "report"];
      assert.deepEqual(steps, expected);
      assert.equal(wallet.asked, 1);
      const [first] = reported(asked);
      if (isReturned) assert.equal(first.signedTransaction, bytesOf(order));
      else assert.equal(first.transactionId, idOf(order));
      if (order === "buy several") assert.deepEqual(first.nfts, orders[order].nfts.map(({ tokenId, serialNo }) => ({ tokenId, serialNo })));
      assert.deepEqual(market.pending(), []);
    }));

for (const order of ["list", "buy", "offer", "withdraw", "accept", "withdrawOffer"])
  test(`${order}: the wallet is not asked for something else than what was ordered`, () =>
    serve(answering(order, { byteArray: bytesOf(order, false) }), async (url, asked) => {
      const wallet = makeWallet(order);
      await assert.rejects(act(open(url), order, wallet), { name: "MarketError", reason: "NOT_AS_ORDERED" });
      assert.deepEqual([wallet.asked, reported(asked)], [0, []]);
    }));

test("a signature map is handed in with what was signed", () =>
  serve(answering("buy"), async (url, asked) => {
    await act(open(url), "buy", makeWallet("buy", { sign: { signatureMap: unsigned } }));
    const [{ signedTransaction, signatureMap }] = reported(asked);
    assert.deepEqual([signedTransaction, signatureMap], [bytesOf("buy"), unsigned]);
  }));

const STRANGE = {
  "nothing": [undefined, "WALLET_INVALID"],
  "text": ["<img src=x>", "WALLET_INVALID"],
  "HTML in its fields": [{ transactionId: "<img src=x>", signatureMap: "<img src=x>" }, "WALLET_INVALID"],
  "another transaction": [{ signedTransaction: bytesOf("buy several") }, "WALLET_INVALID"],
  "no transaction": [{ signedTransaction: unsigned }, "WALLET_INVALID"],
  "an error": [() => Promise.reject(new Error("Boom")), "WALLET_FAILED"],
  "an error that is none": [() => Promise.reject(undefined), "WALLET_FAILED"],
};
for (const [name, [answer, reason]] of Object.entries(STRANGE))
  for (const order of ["buy", "offer"])
    if (order === "buy" || !name.endsWith("transaction"))
      test(`${order}: a wallet that answers ${name} is one error`, () =>
        serve(answering(order), async (url, asked) => {
          await assert.rejects(act(open(url), order, makeWallet(order, { sign: answer, signAndExecute: answer })), { name: "MarketError", reason });
          assert.deepEqual(reported(asked), []);
        }));

test("a refusal of the wallet's user leaves nothing behind", () =>
  serve(answering("offer"), async (url) => {
    const market = open(url, makeStorage());
    for (const error of [{ code: 5000, message: "no" }, { kind: "REFUSED", message: "no" }, new Error("User rejected the request")])
      await assert.rejects(act(market, "offer", makeWallet("offer", { signAndExecute: () => Promise.reject(error) })), { reason: "WALLET_FAILED" });
    assert.deepEqual(market.pending(), []);
  }));

test("an offer that a wallet may have submitted is not made again", () =>
  serve(answering("offer"), async (url, asked) => {
    const market = open(url, makeStorage());
    const lost = makeWallet("offer", { signAndExecute: () => Promise.reject(Object.assign(new Error("No answer"), { kind: "TIMEOUT" })) });
    await assert.rejects(act(market, "offer", lost), { reason: "WALLET_FAILED" });
    const wallet = makeWallet("offer");
    assert.deepEqual(await act(market, "offer", wallet), { result: "OK" });
    assert.equal(wallet.asked, 0);
    assert.deepEqual(reported(asked).map(({ transactionId }) => transactionId), [ID.offer]);
  }));

test("a purchase whose answers are lost is handed in again with the same bytes, also by another page", () =>
  serve(answering("buy", { reports: [null, null, { text: '{"result"' }, { json: { result: "OK" } }] }), async (url, asked) => {
    const storage = makeStorage();
    await assert.rejects(act(open(url, storage), "buy", makeWallet("buy")), { reason: "UNREACHABLE" });
    const [trade] = open(url, storage).pending();
    assert.deepEqual([trade.kind, trade.order], ["buy", orders.buy]);
    assert.deepEqual(await trade.settle(), { result: "OK" });
    assert.deepEqual(new Set(reported(asked).map(({ signedTransaction }) => signedTransaction)), new Set([bytesOf("buy")]));
    assert.deepEqual(open(url, storage).pending(), []);
    assert.equal(asked.filter(({ url: path }) => path.startsWith("/v1/buy/")).length, 1);
  }));

test("the same purchase again settles the first one", () =>
  serve(answering("buy", { reports: [null, null, { json: { result: "OK" } }] }), async (url, asked) => {
    const market = open(url);
    await assert.rejects(act(market, "buy", makeWallet("buy")), { reason: "UNREACHABLE" });
    const wallet = makeWallet("buy");
    await act(market, "buy", wallet);
    assert.deepEqual([wallet.asked, asked.filter(({ url: path }) => path.startsWith("/v1/buy/")).length], [0, 1]);
  }));

for (const reason of ["NOT_LISTED", "PRICE_CHANGED", "TRANSACTION_EXPIRED", "BUYING_PAUSED", "TOO_MANY_FAILED"])
  test(`a purchase that is refused with ${reason} is over`, () =>
    serve(answering("buy", { reports: [refused(reason, { BUYING_PAUSED: 503, TOO_MANY_FAILED: 429 }[reason])] }), async (url) => {
      const market = open(url, makeStorage());
      const error = await act(market, "buy", makeWallet("buy")).catch((thrown) => thrown);
      assert.equal(error.reason, reason);
      assert.notEqual(error.tell, error.message);
      assert.deepEqual(market.pending(), []);
    }));

test("a signal ends the waiting, and the trade is kept", () =>
  serve(answering("list", { reports: [pending] }), async (url) => {
    const market = open(url, makeStorage());
    await assert.rejects(act(market, "list", makeWallet("list"), { signal: AbortSignal.timeout(150) }), { name: "TimeoutError" });
    assert.deepEqual(market.pending().map(({ kind }) => kind), ["list"]);
  }));

test("before the wallet is asked, a signal ends the trade", () =>
  serve(answering("list"), async (url) => {
    const wallet = makeWallet("list"), stopping = new AbortController();
    const progress = ({ step }) => step === "check" && stopping.abort();
    await assert.rejects(act(open(url), "list", wallet, { progress, signal: stopping.signal }), { name: "AbortError" });
    assert.equal(wallet.asked, 0);
  }));

test("a purchase names its price", () =>
  serve(answering("buy"), async (url) => {
    const market = open(url);
    await assert.rejects(market.buy({ ...orders.buy, expectedPrice: undefined }, makeWallet("buy")), { reason: "FIELD_INVALID" });
  }));

test("a storage that is blocked or broken loses nothing while the page is there", () =>
  serve(answering("list", { reports: [null] }), async (url) => {
    assert.deepEqual(open(url, { getItem: () => '[{"kind": "delist", "order": {}, "at": 1}]', setItem: () => {} }).pending(), []);
    const blocked = () => { throw new Error("blocked"); };
    for (const storage of [{ getItem: blocked, setItem: blocked }, { getItem: () => "{half", setItem: blocked }]) {
      const market = open(url, storage);
      await assert.rejects(act(market, "list", makeWallet("list")), { reason: "UNREACHABLE" });
      assert.equal(market.pending().length, 1);
    }
  }));

test("the service names the marketplace's account, if nobody else does", () =>
  serve((request) => (request.url === "/v1/network" ? { json: { accountId: "0.0.666" } } : answering("list")(request)), async (url) => {
    await assert.rejects(new Market({ url, token: "x" }).list(orders.list, makeWallet("list")), { reason: "NOT_AS_ORDERED" });
  }));
