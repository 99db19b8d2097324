// The link and wallets of WalletConnect's own libraries, over the relay in the variable RELAY.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, test } from "node:test";
import { wallets } from "../../../sandbox/tests/system/relay/wallets.mjs";
import { ofWalletLink } from "../../market/wallets.js";
import { WalletLink, qrCode } from "../../../marketplace/storefront/static/wallet-link.js";

// Node.js 20 has no WebSocket.
globalThis.WebSocket ??= createRequire(new URL("../../../sandbox/tests/system/relay/wallets.mjs", import.meta.url))("ws");

const relayUrl = process.env.RELAY;
const metadata = { name: "Test", description: "A test", url: "https://test.example", icons: [] };
const ACCOUNT = "hedera:testnet:0.0.1002";
const HTML = "<img src=x onerror=alert(1)>";
const SIGNED = { signatureMap: "AA==" }, EXECUTED = { transactionId: "0.0.1002@1.2" };

// Wallets keep their connections.
after(() => setTimeout(() => process.exit(), 500));

const ANSWERS = {
  hedera_signMessage: () => SIGNED,
  hedera_signTransaction: () => SIGNED,
  hedera_signAndExecuteTransaction: () => EXECUTED,
};
const refuse = (error) => () => {
  throw error;
};

function memory() {
  const kept = new Map();
  return { getItem: (name) => kept.get(name) ?? null, setItem: (name, value) => kept.set(name, value) };
}

const makeLink = (options = {}) => new WalletLink({ relayUrl, metadata, storage: memory(), ...options });

async function paired({ open = wallets["walletkit 1.2.10"], answers = {}, accounts = [ACCOUNT], ...options } = {}) {
  const seen = [];
  const answer = ({ chainId, request }) => {
    seen.push({ chainId, ...request });
    return ({ ...ANSWERS, ...answers })[request.method](request.params);
  };
  const wallet = await open({ relayUrl, accounts, answer });
  const link = makeLink(options);
  await link.connect((uri) => wallet.pair(uri));
  return { link, wallet, seen };
}

for (const [name, open] of Object.entries(wallets))
  test(`${name} signs, and its session outlives a reload`, async () => {
    const storage = memory();
    const { link, seen } = await paired({ open, storage });
    assert.deepEqual(link.account, { chain: "hedera:testnet", accountId: "0.0.1002" });
    assert.equal(link.session.wallet.name, "Test");
    assert.deepEqual(await link.signAndExecute("AAEC"), EXECUTED);
    assert.equal(await link.sign("AwQF"), "AA==");
    assert.equal(await link.signMessage("hello"), "AA==");
    assert.deepEqual(seen.map(({ chainId, method, params }) => [chainId, method, params]), [
      ["hedera:testnet", "hedera_signAndExecuteTransaction", { signerAccountId: ACCOUNT, transactionList: "AAEC" }],
      ["hedera:testnet", "hedera_signTransaction", { signerAccountId: ACCOUNT, transactionBody: "AwQF" }],
      ["hedera:testnet", "hedera_signMessage", { signerAccountId: ACCOUNT, message: "hello" }],
    ]);
    link.relay.close();
    const again = makeLink({ storage });
    assert.equal(await again.sign("AwQF"), "AA==");
  });

test("another of the wallet's accounts signs, also after a reload", async () => {
  const storage = memory(), other = "hedera:testnet:0.0.1003";
  const { link, seen } = await paired({ storage, accounts: [ACCOUNT, other] });
  link.choose("0.0.1003");
  assert.equal(link.account.accountId, "0.0.1003");
  await link.sign("AwQF");
  assert.equal(seen.at(-1).params.signerAccountId, other);
  assert.throws(() => link.choose("0.0.1004"), { kind: "WALLET", message: /does not share the account 0\.0\.1004/ });
  link.relay.close();
  const again = makeLink({ storage });
  assert.equal(again.account.accountId, "0.0.1003");
  again.relay.close();
});

test("it is a wallet of the JavaScript client", async () => {
  const { link, seen } = await paired();
  const wallet = ofWalletLink(link, (byteArray) => `body of ${byteArray}`);
  assert.deepEqual(await wallet.signAndExecute({ byteArray: "AAEC" }), EXECUTED);
  assert.deepEqual(await wallet.sign({ byteArray: "AwQF" }), SIGNED);
  const [executed, signed] = seen.map(({ params }) => params);
  assert.deepEqual([executed.transactionList, signed.transactionBody], ["AAEC", "body of AwQF"]);
});

test("each exchange is reported, with its time and its answer", async () => {
  const { link } = await paired();
  const exchanges = [];
  link.addEventListener("exchange", ({ detail }) => exchanges.push(detail));
  await link.signMessage("hello");
  const [asked, answered] = exchanges;
  assert.deepEqual([asked.method, asked.params.message, asked.result], ["hedera_signMessage", "hello", undefined]);
  assert.equal(answered.id, asked.id);
  assert.deepEqual(answered.result, SIGNED);
  assert.ok(answered.milliseconds >= 0);
});

for (const [what, error, kind, words] of [
  ["a refusal", { code: 5000, message: HTML }, "REFUSED", /declined/],
  ["the ledger's code", { code: 9000, message: "INVALID_SIGNATURE", data: "7" }, "LEDGER", /INVALID_SIGNATURE \(7\)/],
  ["a code of its own", { code: 77, message: "x".repeat(5000) }, "WALLET", /^.{1,400}$/],
  ["an unknown method", { code: 5101, message: "Unsupported methods." }, "WALLET", /Unsupported/],
])
  test(`${what} is an error with a kind and a sentence`, async () => {
    const { link } = await paired({ answers: { hedera_signTransaction: refuse(error) } });
    await assert.rejects(link.sign("AA=="), (thrown) => thrown.kind === kind && words.test(thrown.message));
    assert.deepEqual(await link.signAndExecute("AA=="), EXECUTED);
  });

for (const answer of [null, 7, "yes", [], {}, { signatureMap: 7 }, { transactionId: {} }, { html: HTML }])
  test(`the answer ${JSON.stringify(answer)} is refused`, async () => {
    const answers = { hedera_signTransaction: () => answer, hedera_signAndExecuteTransaction: () => answer };
    const { link } = await paired({ answers });
    for (const asked of [link.sign("AA=="), link.signAndExecute("AA==")])
      await assert.rejects(asked, ({ kind }) => kind === "WALLET");
  });

test("a session for another network is refused, and ended", async () => {
  const open = wallets["walletkit 1.2.10"];
  const wallet = await open({ relayUrl, accounts: ["hedera:mainnet:0.0.1002"], answer: () => SIGNED });
  const ended = new Promise((resolve) => wallet.client.on("session_delete", resolve));
  const link = makeLink();
  await assert.rejects(link.connect((uri) => wallet.pair(uri)), /no account on testnet/);
  assert.equal(link.session, null);
  await ended;
});

test("a wallet that does not answer in time", async () => {
  const { link } = await paired({ answers: { hedera_signMessage: () => new Promise(() => {}) } });
  await assert.rejects(link.request("hedera_signMessage", { message: "x" }, { seconds: 1 }), ({ kind }) => kind === "TIMEOUT");
});

test("waiting for a wallet can be given up", async () => {
  const giving = new AbortController(), link = makeLink();
  await assert.rejects(link.connect(() => giving.abort(), { signal: giving.signal }), ({ kind }) => kind === "ENDED");
});

test("both ends can end the session", async () => {
  const first = await paired();
  const ended = new Promise((resolve) => first.wallet.client.on("session_delete", resolve));
  await first.link.disconnect();
  await ended;
  await assert.rejects(first.link.sign("AA=="), ({ kind }) => kind === "ENDED");
  const { link, wallet } = await paired({ answers: { hedera_signMessage: () => new Promise(() => {}) } });
  const asked = link.signMessage("x");
  const over = assert.rejects(asked, ({ kind }) => kind === "ENDED");
  await wallet.client.disconnect({ topic: link.session.topic, reason: { code: 6000, message: "over" } });
  await over;
  assert.equal(link.session, null);
});

test("other accounts, as the wallet's user chooses", async () => {
  const { link, wallet } = await paired();
  const changed = new Promise((resolve) => link.addEventListener("session", resolve));
  const { namespaces: { hedera } } = wallet.client.session.get(link.session.topic);
  await wallet.client.update({ topic: link.session.topic, namespaces: { hedera: { ...hedera, accounts: ["hedera:testnet:0.0.1003"] } } });
  await changed;
  assert.equal(link.account.accountId, "0.0.1003");
});

test("no relay", async () => {
  const link = makeLink({ relayUrl: "ws://127.0.0.1:9" });
  await assert.rejects(link.connect(() => {}), ({ kind, message }) => kind === "RELAY" && /Can't reach/.test(message));
});

test("two tabs of a browser have one session", async () => {
  const storage = memory(), tabs = new EventTarget();
  globalThis.addEventListener = tabs.addEventListener.bind(tabs);
  const [first, second] = [makeLink({ storage }), makeLink({ storage })];
  const change = () => tabs.dispatchEvent(Object.assign(new Event("storage"), { key: "wallet-link" }));
  const wallet = await wallets["walletkit 1.2.10"]({ relayUrl, accounts: [ACCOUNT], answer: ({ request }) => ANSWERS[request.method]() });
  await first.connect((uri) => wallet.pair(uri));
  change();
  assert.equal(second.account.accountId, "0.0.1002");
  assert.equal(await second.sign("AwQF"), "AA==");
  assert.deepEqual(await first.signAndExecute("AAEC"), EXECUTED);
  await first.disconnect();
  change();
  assert.equal(second.session, null);
});

test("what was stored by others, or not at all", async () => {
  for (const stored of ["{", "[]", "7", "null", '{"session": {"expiresAt": 1}}'])
    assert.equal(makeLink({ storage: { getItem: () => stored, setItem: refuse(new Error("full")) } }).session, null);
});

test("a QR code", () => {
  const { size, path } = qrCode(`wc:${"0".repeat(64)}@2?relay-protocol=irn&symKey=${"0".repeat(64)}`);
  assert.ok(size > 40 && size < 70);
  assert.match(path, /^(M\d+ \d+h1v1h-1z)+$/);
});
