// The service that is tried, and who trades there: each row has a seller, a buyer and an NFT of its own.
import { PrivateKey, Transaction } from "@hashgraph/sdk";

export const KINDS = ["list", "withdraw", "buy"];

/** A service with the sandbox, that this page's rows are about. */
export class Market {
  constructor({ url, token }) {
    this.url = url;
    this.token = token;
    this.results = new Map(); // the ledger's, by what was submitted
  }

  async post(path, body) {
    const response = await fetch(this.url + path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` },
      body: JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${answer.message}`);
    return answer;
  }

  async get(path) {
    const headers = { Authorization: `Bearer ${this.token}` };
    return (await fetch(this.url + path, { headers })).json();
  }

  /** Submit what a wallet has signed: {transactionId, result}, as the ledger says it. */
  async submit(bytes) {
    const transaction = Buffer.from(bytes).toString("base64");
    this.last = await this.post("/sandbox/transactions", { transaction });
    return this.last;
  }
}

/** One row's trade: who owns what, and the three transactions of it. */
export class Trade {
  constructor(market, number) {
    this.market = market;
    this.seller = account(31_000 + number, number % 2 === 0);
    this.buyer = account(32_000 + number, number % 2 === 1);
    this.nft = { tokenId: "0.0.7207", serialNo: number + 1 };
  }

  async begin() {
    await this.market.post("/v1/add", { accountId: this.seller.id, ...this.nft });
  }

  async prepare(kind) {
    if (kind !== "list") await this.#listed();
    const signer = kind === "buy" ? this.buyer : this.seller;
    const address = `/v1/${{ withdraw: "delist" }[kind] ?? kind}/extwallet`;
    const price = kind === "list" ? { listingPrice: 2 } : {};
    const prepared = await this.market.post(address, {
      accountId: signer.id, ...this.nft, ...price,
    });
    this.market.last = undefined;
    return { ...prepared, kind, signer, bytes: Buffer.from(prepared.byteArray, "base64") };
  }

  async #listed() {
    const record = await this.market.get(`/v1/nft/${this.nft.tokenId}/${this.nft.serialNo}`);
    if (record.isForSale) return;
    const { bytes, signer } = await this.prepare("list");
    const transaction = await Transaction.fromBytes(bytes).sign(signer.key);
    await this.market.submit(transaction.toBytes());
    await this.report({ kind: "list", signer });
  }

  /** Report it, and say what the order book makes of it. */
  async report({ kind, signer }) {
    const reported = await this.market.post("/v1/comingsoon", {
      accountId: signer.id, ...this.nft, transactionId: this.market.last.transactionId,
    });
    const record = await this.market.get(`/v1/nft/${this.nft.tokenId}/${this.nft.serialNo}`);
    const owner = kind === "buy" ? this.buyer : this.seller;
    const isAsWanted =
      reported.result === "OK" &&
      record.isForSale === (kind === "list") &&
      record.owner.accountId === owner.id;
    return isAsWanted ? "SUCCESS" : `SUCCESS, but ${JSON.stringify([reported, record])}`;
  }
}

function account(number, isEcdsa) {
  const id = `0.0.${number}`;
  const key = isEcdsa ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
  return { id, key };
}
