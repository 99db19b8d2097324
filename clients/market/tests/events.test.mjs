// The feed: its cursor, what it asks, and what it survives.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Market } from "../index.js";
import { serve } from "./service.mjs";

const link = (after) => ({ Link: `</v1/events?after=${after}>; rel="next"` });
const events = (...ids) => ({ json: ids.map((id) => ({ id, kind: "LISTED" })), headers: link(ids.at(-1)) });
const gone = { status: 410, json: { reason: "CURSOR_GONE", message: "gone" } };
const open = (url) => new Market({ url, token: "x", retries: 0 });

async function take(feed, count) {
  const ids = [];
  for await (const { id } of feed) {
    ids.push(id);
    if (ids.length === count) return ids;
  }
  return ids;
}

test("it goes on after its cursor, and keeps it", () =>
  serve(({ url }) => (url.endsWith("after=a-1") ? events("a-2", "a-3") : events("a-4")), async (url, asked) => {
    const feed = open(url).events("a-1", { every: 5, select: { kind: ["LISTED", "SOLD"] } });
    assert.deepEqual(await take(feed, 1), ["a-2"]);
    assert.equal(feed.cursor, "a-2");
    assert.equal(asked[0].url, "/v1/events?kind=LISTED&kind=SOLD&after=a-1");
    assert.deepEqual(await take(open(url).events("a-1", { every: 5 }), 3), ["a-2", "a-3", "a-4"]);
  }));

test("without a cursor it begins now", () =>
  serve(({ url }) => (url.endsWith("after=a-9") ? events("a-10") : events("a-9")), async (url) => {
    assert.deepEqual(await take(open(url).events(undefined, { every: 5 }), 1), ["a-10"]);
  }));

test("while nothing happens, it asks with the ETag", () =>
  serve(({ headers }, count) => {
    if (count > 3) return events("a-2");
    return headers["if-none-match"] ? { status: 304, text: "" } : { json: [], headers: { ETag: '"e"', ...link("a-1") } };
  }, async (url, asked) => {
    assert.deepEqual(await take(open(url).events("a-1", { every: 5 }), 1), ["a-2"]);
    assert.deepEqual(asked.map(({ headers }) => headers["if-none-match"]), [undefined, '"e"', '"e"', '"e"']);
  }));

test("a cursor that is gone is said, or answered by a new one", () =>
  serve(({ url }) => (url.includes("a-1") ? gone : events("b-2")), async (url) => {
    await assert.rejects(take(open(url).events("a-1"), 1), { reason: "CURSOR_GONE", status: 410 });
    const feed = open(url).events("a-1", { every: 5, gone: async () => "b-1" });
    assert.deepEqual(await take(feed, 1), ["b-2"]);
  }));

test("it outlives a busy service, and waits as long as it asks for", () =>
  serve((_, count) => (count === 1 ? { status: 503, text: "busy", headers: { "Retry-After": "1" } } : events("a-2")), async (url, asked) => {
    const feed = open(url).events("a-1", { every: 5, afterFailure: 5 });
    const started = performance.now();
    assert.deepEqual(await take(feed, 1), ["a-2"]);
    assert.ok(performance.now() - started > 950);
    assert.equal(asked.length, 2);
  }));

test("it ends where waiting does not help", () =>
  serve(() => ({ status: 401, json: { reason: "NOT_AUTHENTICATED", message: "no" } }), async (url) => {
    await assert.rejects(take(open(url).events("a-1"), 1), { reason: "NOT_AUTHENTICATED" });
  }));

test("a signal ends it", () =>
  serve(() => ({ json: [], headers: link("a-1") }), async (url) => {
    await assert.rejects(take(open(url).events("a-1", { every: 5, signal: AbortSignal.timeout(40) }), 1), { name: "TimeoutError" });
  }));
