// The calls: what is sent, what comes back, and how each failure is reported.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Market, MarketError, parse, stringify } from "../index.js";
import { serve } from "./service.mjs";

const LARGE = 2n ** 63n - 1n;
const open = (url, options) => new Market({ url, token: "nftm_x", ...options });
const refusal = (reason, status) => ({ status, json: { code: status, status: "", message: `why ${reason}`, reason } });

test("a call goes by its operation's name", () =>
  serve(() => ({ json: [{ token: "0.0.5001" }] }), async (url, asked) => {
    const market = open(url);
    assert.deepEqual(await market.ask("list_orderbook", { sort: "price", trait: ["a:b", "c:d"], tokenId: undefined }), [{ token: "0.0.5001" }]);
    await market.ask("get_nft", { tokenId: "0.0.5001", serialNo: LARGE });
    await market.ask("prepare_listing", { accountId: "0.0.1", tokenId: "0.0.2", serialNo: LARGE, listingPrice: 5 });
    assert.deepEqual(asked.map(({ method, url: path, body }) => [method, path, body]), [
      ["GET", "/v1/orderbook?sort=price&trait=a%3Ab&trait=c%3Ad", undefined],
      ["GET", `/v1/nft/0.0.5001/${LARGE}`, undefined],
      ["POST", "/v1/list/extwallet", { accountId: "0.0.1", tokenId: "0.0.2", serialNo: LARGE, listingPrice: 5 }],
    ]);
    assert.equal(asked[0].headers.authorization, "Bearer nftm_x");
    await assert.rejects(market.ask("get_nft", { tokenId: "0.0.1" }), /get_nft needs serialNo/);
  }));

test("it says that it needs an address", () => assert.throws(() => open(null), { name: "TypeError", message: /needs url/ }));

test("it may be mounted below a prefix", () =>
  serve(() => ({ json: {} }), async (url, asked) => {
    await open(`${url}/market`).ask("show_network");
    assert.equal(asked[0].url, "/market/v1/network");
  }));

test("numbers stay whole", () => {
  const text = '{"a":9223372036854775807,"b":-9223372036854775808,"c":7,"d":1.5,"e":"9223372036854775807","f":"\\"9223372036854775807"}';
  const value = parse(text);
  assert.deepEqual(value, { a: LARGE, b: -(2n ** 63n), c: 7, d: 1.5, e: "9223372036854775807", f: '"9223372036854775807' });
  assert.equal(stringify(value), text);
  assert.equal(stringify(undefined), undefined);
  for (const wrong of ["", "<html>", '{"a": 9223372036854775807', "09223372036854775807", "[9223372036854775807x]"])
    assert.throws(() => parse(wrong), SyntaxError);
});

const failures = {
  "a refusal": [refusal("NFT_NOT_STORED", 404), "NFT_NOT_STORED", 404, 1],
  "a page of a proxy": [{ status: 503, text: "<html>busy</html>" }, "TRY_AGAIN", 503, 2],
  "HTML in place of JSON": [{ text: "<html>hello</html>" }, "ANSWER_INVALID", 200, 2],
  "half a JSON": [{ text: '[{"token": "0.0', cut: true }, "UNREACHABLE", 0, 2],
  "a JSON that ends early": [{ text: '[{"token": "0.0' }, "ANSWER_INVALID", 200, 2],
  "a lost connection": [null, "UNREACHABLE", 0, 2],
  "a limit": [{ ...refusal("LIMIT_EXCEEDED", 429), headers: { "Retry-After": "0" } }, "LIMIT_EXCEEDED", 429, 2],
  "a long limit": [{ ...refusal("LIMIT_EXCEEDED", 429), headers: { "Retry-After": "60" } }, "LIMIT_EXCEEDED", 429, 1],
  "a failure": [refusal("INTERNAL_SERVER_ERROR", 500), "INTERNAL_SERVER_ERROR", 500, 1],
};
for (const [name, [answer, reason, status, times]] of Object.entries(failures))
  test(`${name} is one error`, () =>
    serve(() => answer, async (url, asked) => {
      const error = await open(url, { retries: 1 }).ask("list_orderbook").catch((thrown) => thrown);
      assert.ok(error instanceof MarketError);
      assert.deepEqual([error.reason, error.status, asked.length], [reason, status, times]);
      assert.ok(error.tell.length > 10);
      if (name === "a long limit") assert.equal(error.retryAfter, 60);
    }));

test("a service that is away is one error", async () => {
  const error = await open("http://127.0.0.1:9", { retries: 0 }).ask("show_network").catch((thrown) => thrown);
  assert.deepEqual([error.reason, error.status], ["UNREACHABLE", 0]);
});

test("what succeeds when it is sent again is no error", () =>
  serve((_, count) => (count === 1 ? { ...refusal("TRY_AGAIN", 503), headers: { "Retry-After": "0" } } : { json: [] }), async (url, asked) => {
    assert.deepEqual(await open(url).ask("list_orderbook"), []);
    assert.equal(asked.length, 2);
  }));

test("a signal ends a call, and the waiting before the next one", () =>
  serve(() => ({ ...refusal("TRY_AGAIN", 503), headers: { "Retry-After": "5" } }), async (url) => {
    await assert.rejects(open(url).ask("list_orderbook", {}, { signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
    await assert.rejects(open(url).ask("list_orderbook", {}, { signal: AbortSignal.abort() }), { name: "AbortError" });
  }));

const page = (number, next) => ({ json: [number], headers: next ? { Link: `<${next}>; rel="next"` } : {} });

test("pages follow their links", () =>
  serve(({ url }) => (url.includes("page=2") ? page(2) : page(1, "/v1/orderbook?page=2")), async (url, asked) => {
    const pages = [];
    for await (const one of open(url).pages("list_orderbook", { limit: 1 })) pages.push(...one);
    assert.deepEqual(pages, [1, 2]);
    assert.deepEqual(asked.map((each) => each.url), ["/v1/orderbook?limit=1", "/v1/orderbook?page=2"]);
  }));

test("a link to another host does not get the token", () =>
  serve(() => page(1, "http://127.0.0.2:9/v1/orderbook"), async (url) => {
    const pages = open(url).pages("list_orderbook");
    await pages.next();
    await assert.rejects(pages.next(), { reason: "ANSWER_INVALID" });
  }));
