// The service that is tried, and who trades there. What a row did not use up, the next one is given.
import { AccountId, Hbar, PrivateKey, Transaction, TransactionId, TransferTransaction } from "@hashgraph/sdk";

const SECOND = 1000;

/** A service with the sandbox: {url, tokens}. They take turns: a token may have few purchases open. */
export class Market {
  constructor({ url, tokens }) {
    this.url = url;
    this.tokens = [...tokens];
    this.last = undefined; // the ledger's answer to what was submitted last
  }

  async call(path, body) {
    const token = this.tokens.shift();
    this.tokens.push(token);
    const response = await fetch(this.url + path, {
      method: body ? "POST" : "GET",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${answer.message}`);
    return answer;
  }

  /** Submit what a wallet has signed. Returns {transactionId, result}, as the ledger says it. */
  async submit(bytes) {
    const transaction = Buffer.from(bytes).toString("base64");
    this.last = await this.call("/sandbox/transactions", { transaction });
    return this.last;
  }
}

/** One NFT, its seller and a buyer, whose keys are of one type; one kind of transaction is tried on it. */
export class Trade {
  static count = 0;

  constructor(market, kind, keyType) {
    this.market = market;
    this.kind = kind;
    const number = (Trade.count += 1);
    this.seller = makeAccount(`0.0.${31_000 + number}`, keyType);
    this.buyer = makeAccount(`0.0.${32_000 + number}`, keyType);
    this.nft = { tokenId: "0.0.7207", serialNo: number };
    this.price = 1;
  }

  get signer() {
    return this.kind === "buy" ? this.buyer : this.seller;
  }

  /** Add the NFT, and let the ledger know both keys, unless they are to be unknown. */
  async begin() {
    this.hasBegun = true;
    await this.market.call("/v1/add", { accountId: this.seller.id, ...this.nft });
    if (this.isUnknown) return;
    for (const { id, key } of [this.seller, this.buyer]) {
      const transfer = new TransferTransaction()
        .addHbarTransfer(id, new Hbar(-1))
        .addHbarTransfer("0.0.98", new Hbar(1))
        .setTransactionId(TransactionId.generate(id))
        .setNodeAccountIds([new AccountId(3)])
        .freeze();
      await this.market.submit((await transfer.sign(key)).toBytes());
    }
  }

  /** A transaction to sign that nobody has submitted yet. */
  async prepare() {
    if (!this.prepared || Date.now() > this.prepared.until) {
      if (this.kind !== "list") await this.#list();
      this.prepared = await this.#ask(this.kind);
    }
    this.market.last = undefined;
    return this.prepared;
  }

  async #ask(kind) {
    const { signer, nft } = this;
    if (kind === "list") this.price += 1;
    const path = { list: "/v1/list/extwallet", withdraw: "/v1/delist/extwallet", buy: "/v1/buy/extwallet" };
    const accountId = kind === "list" ? this.seller.id : signer.id;
    const price = kind === "list" ? { listingPrice: this.price } : {};
    const answer = await this.market.call(path[kind], { accountId, ...nft, ...price });
    const bytes = new Uint8Array(Buffer.from(answer.byteArray, "base64"));
    this.lastId = Transaction.fromBytes(bytes).transactionId.toString();
    return { ...answer, signer, bytes, until: Date.now() + 10 * SECOND };
  }

  /** Have it listed: whoever bought it gives it back first. */
  async #list() {
    if (this.isListed) return;
    await this.market.call("/sandbox/transfers", { accountId: this.seller.id, ...this.nft });
    const { bytes } = await this.#ask("list");
    await this.market.submit((await Transaction.fromBytes(bytes).sign(this.seller.key)).toBytes());
    const accountId = this.seller.id;
    await this.market.call("/v1/comingsoon", { accountId, ...this.nft });
    this.isListed = true;
  }

  /** What became of what was submitted: the ledger's code, and whether the order book agrees with a SUCCESS. */
  async settle() {
    const { result, transactionId } = this.market.last;
    this.prepared = undefined;
    if (result !== "SUCCESS") return result;
    this.isListed = this.kind === "list";
    const { tokenId, serialNo } = this.nft;
    const report = (named) =>
      this.market.call("/v1/comingsoon", { accountId: this.signer.id, ...this.nft, ...named });
    const reports = [await report({ transactionId })];
    // What an SDK has given another id is as well reported under ours, or under none.
    if (transactionId !== this.lastId)
      reports.push(await report({ transactionId: this.lastId }), await report({}));
    const nft = await this.market.call(`/v1/nft/${tokenId}/${serialNo}`);
    const owner = this.kind === "buy" ? this.buyer : this.seller;
    const isAsWanted =
      reports.every(({ result }) => result === "OK") &&
      nft.listingPrice === (this.isListed ? this.price : 0) &&
      nft.owner.accountId === owner.id;
    return isAsWanted ? "SUCCESS" : `SUCCESS, but ${JSON.stringify([reports, nft])}`;
  }
}

function makeAccount(id, keyType) {
  const key = keyType === "ECDSA" ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
  return { id, key };
}
