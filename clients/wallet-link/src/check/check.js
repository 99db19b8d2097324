// What the rows have in common: the wallet's account, the market, and what the demo wallet does for other accounts.

import { decodeBase64 } from "../envelope.js";
import { bodyOf, writeTransfer } from "../transaction.js";
import { checkSignature } from "./signatures.js";

const SECONDS = 120; // for one answer of the wallet
const REPORTS = 20, PAUSE_MS = 500;
const BUSY = [429, 503], TRIES = 10, BUSY_MS = 2000;
const OTHERS = ["0.0.1004", "0.0.1005", "0.0.1006"]; // accounts that the demo wallet signs for
const TOKENS = ["0.0.7301", "0.0.7302"]; // of the sandbox, which has every NFT
const CHAINS = ["hedera:devnet", "hedera:previewnet", "hedera:testnet", "hedera:mainnet"];

/** What came back is wrong, in a sentence. */
export class Wrong extends Error {}
/** The row was not tried, and why. */
export class Untried extends Error {}

/**
 * @typedef {{ok: boolean, status: number, data: any, message: string}} Answer
 * @typedef {object} Market the service with its sandbox
 * @property {(path: string, body?: unknown) => Promise<Answer>} api a call of /v1
 * @property {(path: string, body?: unknown) => Promise<Answer>} sandbox a call of the sandbox
 * @property {string} wallet as /v1/list/{wallet} names it
 */

export class Check {
  #serialNo = Math.floor(Math.random() * 1e9); // another run takes others
  /** @type {Promise<string[]> | undefined} */ #kinds;
  /** @type {string | undefined} */ offerId; // of the account's own offer

  constructor(link, market, { ask }) {
    Object.assign(this, { link, market, ask });
    const { accountId, chain } = link.account;
    this.account = accountId;
    this.chain = chain;
    this.others = OTHERS.filter((id) => id !== accountId);
  }

  /** NFTs that nobody has: the first account that lists them owns them. */
  nfts(count, collection = 0) {
    return Array.from({ length: count }, () => ({ tokenId: TOKENS[collection], serialNo: (this.#serialNo += 1) }));
  }

  /** Any request to the wallet. */
  request(method, params, { chain, seconds = SECONDS } = {}) {
    return this.link.request(method, params, { chain, seconds });
  }

  /** Have a transaction signed and submitted by the wallet. */
  async submit({ byteArray, transactionId }) {
    const found = (await this.request("hedera_signAndExecuteTransaction", { transactionList: byteArray }))?.transactionId;
    if (typeof found !== "string") throw new Wrong("The answer has no transactionId.");
    if (plain(found) !== plain(transactionId)) throw new Wrong(`It signed another transaction than it was asked to: ${found.slice(0, 60)}.`);
    const rows = await this.findOnLedger(transactionId);
    if (rows.length === 0) throw new Wrong("The wallet says that it has submitted it, but the ledger does not have it.");
    if (rows[0].result !== "SUCCESS") throw new Wrong(`The ledger refused it: ${rows[0].result}.`);
    return { transactionId };
  }

  /** Have the market prepare something, and the wallet sign and submit it. Returns the answer to its report. */
  async execute(kind, order) {
    const body = { accountId: this.account, ...order };
    const { byteArray, metadata } = await this.#call("api", `/${kind}/${this.market.wallet}`, body);
    await this.submit({ byteArray, transactionId: metadata.transactionId });
    return this.#report({ ...about(body), transactionId: metadata.transactionId });
  }

  async list(nft, listingPrice) {
    const order = several(nft);
    await this.#call("api", "/add", { accountId: this.account, ...order });
    await this.execute("list", { ...order, listingPrice });
    await this.expectListed([nft].flat()[0], listingPrice);
  }

  /** Have the wallet sign a purchase, which the market submits. */
  async buy(order, nfts) {
    const body = { accountId: this.account, ...order };
    const { byteArray } = await this.#call("api", `/buy/${this.market.wallet}`, body);
    const map = await this.signAndVerify(bodyOf(byteArray), this.account);
    await this.#report({ ...body, signedTransaction: byteArray, signatureMap: map });
    for (const nft of nfts) await this.expectOwner(nft, this.account);
  }

  /** Have a body signed, and check the signature. */
  async signAndVerify(body, account) {
    const map = await this.#sign(body, account);
    verify(map, decodeBase64(body));
    return map;
  }

  async #sign(body, account) {
    return (await this.request("hedera_signTransaction", { signerAccountId: `${this.chain}:${account}`, transactionBody: body }))?.signatureMap;
  }

  /** The kinds of key of all accounts in the session. */
  findKinds() {
    this.#kinds ??= this.#readKinds();
    return this.#kinds;
  }

  async #readKinds() {
    const kinds = [];
    for (const { accountId, chain } of this.link.session.accounts) {
      if (chain !== this.chain) continue;
      const body = bodyOf(writeTransfer({ payer: accountId, memo: "Which kind of key?" }).byteArray);
      kinds.push(verify(await this.#sign(body, accountId), decodeBase64(body)));
    }
    return kinds;
  }

  /** The wallet must answer with an error, and submit nothing. */
  async expectRefusal(transfer, { chain, seconds, params = {}, isRight = () => true, wanted = "" } = {}) {
    let refusal;
    try {
      await this.request("hedera_signAndExecuteTransaction", { ...params, transactionList: transfer.byteArray }, { chain, seconds });
    } catch (error) {
      if (error.kind === "TIMEOUT") throw new Wrong("It does not answer: the market waits for nothing.");
      refusal = error;
    }
    if ((await this.findOnLedger(transfer.transactionId)).length) throw new Wrong("It signed and submitted it.");
    if (!refusal) throw new Wrong("It answers as if it had submitted it.");
    const code = refusal.code === undefined ? "" : ` Code ${refusal.code}.`;
    if (!isRight(refusal)) throw new Wrong(`${refusal.message}${code} But ${wanted}.`);
    return `${refusal.message}${code}`;
  }

  /** A network that the session does not have. */
  strangeChain() {
    const shared = this.link.session.accounts.map(({ chain }) => chain);
    const found = CHAINS.find((chain) => !shared.includes(chain));
    if (!found) throw new Untried("The session has all networks.");
    return found;
  }

  async expectListed({ tokenId, serialNo }, price) {
    const { isForSale, listingPrice } = await this.#call("api", `/nft/${tokenId}/${serialNo}`);
    if ((isForSale ? listingPrice : 0) !== price) throw new Wrong(`The market has another price: ${listingPrice} HBAR.`);
  }

  async expectOwner({ tokenId, serialNo }, account) {
    const { owner } = await this.#call("api", `/nft/${tokenId}/${serialNo}`);
    if (owner.accountId !== account) throw new Wrong(`${owner.accountId} owns the NFT, not ${account}.`);
  }

  /** The ledger's rows of a transaction; none if it has none. */
  async findOnLedger(transactionId) {
    const [payer] = transactionId.split("@");
    const { transactions } = await this.#call("sandbox", `/api/v1/transactions?account.id=${payer}&order=desc`);
    return transactions.filter(({ transaction_id: found }) => plain(found) === plain(transactionId));
  }

  /** Sign for another account, which has the demo wallet. */
  async signByDemo(accountId, transaction) {
    return (await this.#call("sandbox", "/sign", { accountId, transaction })).transaction;
  }

  async listByDemo(nft, listingPrice, accountId) {
    if (accountId === this.account) return this.list(nft, listingPrice);
    await this.#call("api", "/add", { accountId, ...nft });
    return this.byDemo("list", accountId, { ...nft, listingPrice });
  }

  /** Another account, which has the demo wallet, does something in the market. */
  async byDemo(kind, accountId, order) {
    const { byteArray, metadata } = await this.#call("api", `/${kind}/${this.market.wallet}`, { accountId, ...order });
    await this.#call("sandbox", "/transactions", { transaction: await this.signByDemo(accountId, byteArray) });
    return this.#report({ ...about({ accountId, ...order }), transactionId: metadata.transactionId });
  }

  /** Tell the market until it has seen it. */
  async #report(body) {
    for (let i = 0; i < REPORTS; i += 1) {
      const { ok, data, message } = await this.#send("api", "/comingsoon", body);
      if (!ok) throw new Wrong(`The market does not take it: ${message}`);
      if (data.result === "OK") return data;
      await pause(PAUSE_MS);
    }
    throw new Wrong("The market has not seen it on the ledger.");
  }

  async #call(which, path, body) {
    const { ok, data, message } = await this.#send(which, path, body);
    if (!ok) throw new Error(message);
    return data;
  }

  /** Call the market; while it is busy, try again. */
  async #send(which, path, body) {
    for (let i = 1; ; i += 1) {
      const answer = await this.market[which](path, body);
      if (!BUSY.includes(answer.status) || i === TRIES) return answer;
      await pause(BUSY_MS);
    }
  }
}

const pause = (ms) => new Promise((go) => setTimeout(go, ms));

/** An order as its report names it. */
function about({ accountId, tokenId, serialNo, serialNos, offerId }) {
  return { accountId, ...(offerId ? { offerId } : { tokenId, serialNo, serialNos }) };
}

/** NFTs of one collection as one order. */
function several(nft) {
  if (!Array.isArray(nft)) return nft;
  return { tokenId: nft[0].tokenId, serialNos: nft.map(({ serialNo }) => serialNo) };
}

/** Both forms of a transaction's ID, with or without leading zeros. */
const plain = (id) => id.replace(/^([\d.]+)[@-](\d+)[.-]0*(\d+)$/, "$1@$2.$3");

/** The kind of key of a valid signature. */
export function verify(map, content) {
  if (typeof map !== "string") throw new Wrong("The answer has no signatureMap.");
  try {
    return checkSignature(map, content);
  } catch (error) {
    throw new Wrong(`${error.message}.`);
  }
}
