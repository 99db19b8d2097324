// The service that is tried, and who trades there. What a row did not use up, the next one is given.
import { AccountId, Hbar, PrivateKey, PublicKey, Transaction, TransactionId, TransferTransaction } from "@hashgraph/sdk";
import { proto } from "@hiero-ledger/proto";

const SECOND = 1000;

/** A service with the sandbox: {url, token}. */
export class Market {
  constructor({ url, token }) {
    this.url = url;
    this.token = token;
    this.last = undefined; // the answer to what was submitted or handed in last
  }

  async call(path, body) {
    const response = await fetch(this.url + path, {
      method: body ? "POST" : "GET",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.token}` },
      body: body && JSON.stringify(body),
    });
    const answer = await response.json();
    if (response.status === 503) { // a busy machine
      await new Promise((resolve) => setTimeout(resolve, SECOND));
      return this.call(path, body);
    }
    if (!response.ok) throw Object.assign(new Error(`${path}: ${answer.message}`), { answer });
    return answer;
  }

  /** Submit what a wallet has signed. Returns {transactionId, result}, as the ledger says it. */
  async submit(bytes) {
    const transaction = Buffer.from(bytes).toString("base64");
    this.last = await this.call("/sandbox/transactions", { transaction });
    return this.last;
  }
}

/** One kind of transaction, and the NFTs it is tried on: lots, each of a seller and a collection. All keys are of one type. */
export class Trade {
  static lots = 0;
  static serialNos = 0;

  constructor(market, kind, keyType, sizes = [1]) {
    this.market = market;
    this.kind = kind;
    this.lots = sizes.map((size, place) => ({
      seller: makeAccount(`0.0.${31_000 + (Trade.lots += 1)}`, keyType),
      tokenId: `0.0.${7206 + sizes.length - place}`, // in another order than the sellers: SDKs sort by these
      serialNos: Array.from({ length: size }, () => (Trade.serialNos += 1)),
    }));
    this.buyer = makeAccount(`0.0.${32_000 + Trade.lots}`, keyType);
    this.price = 1;
  }

  get accounts() {
    return [...this.lots.map(({ seller }) => seller), this.buyer];
  }

  get signer() {
    return this.isBuyers ? this.buyer : this.lots[0].seller;
  }

  get isBuyers() {
    return ["buy", "offer"].includes(this.kind);
  }

  get nfts() {
    return this.lots.flatMap(({ tokenId, serialNos }) => serialNos.map((serialNo) => ({ tokenId, serialNo })));
  }

  /** The NFTs, as the body of a request names them. */
  get named() {
    const { nfts, lots: [lot] } = this;
    return !this.isBuyers ? nameLot(lot) : nfts.length === 1 ? nfts[0] : { nfts };
  }

  /** Add the NFTs, and let the ledger know all keys, unless they are to be unknown. */
  async begin() {
    this.hasBegun = true;
    for (const lot of this.lots)
      await this.market.call("/v1/add", { accountId: lot.seller.id, ...nameLot(lot) });
    if (this.isUnknown) return;
    for (const { id, key } of this.accounts) {
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
      if (["withdraw", "buy"].includes(this.kind)) await this.#listAll();
      else this.price += 1;
      this.prepared = await this.#ask(this.kind, this.signer, this.named);
    }
    this.market.last = undefined;
    return this.prepared;
  }

  async #ask(kind, signer, named) {
    const call = { withdraw: "delist" }[kind] ?? kind;
    const price = { list: { listingPrice: this.price }, offer: { offerPrice: this.price } }[kind];
    const answer = await this.market.call(`/v1/${call}/extwallet`, { accountId: signer.id, ...named, ...price });
    const bytes = new Uint8Array(Buffer.from(answer.byteArray, "base64"));
    this.lastId = Transaction.fromBytes(bytes).transactionId.toString();
    return { ...answer, signer, bytes, until: Date.now() + 10 * SECOND };
  }

  /**
   * Hand in what a wallet returned: a signed transaction as bytes, or the fields of the request. What the service
   * refuses has the ledger's code, or the service's own reason.
   */
  async handIn(signed) {
    if (this.kind !== "buy") return this.market.submit(complete(signed));
    const transactionId = this.lastId;
    const fields = signed instanceof Uint8Array
      ? { signedTransaction: Buffer.from(signed).toString("base64") }
      : signed;
    try {
      const { result } = await this.market.call("/v1/comingsoon", {
        accountId: this.signer.id, ...this.named, ...fields,
      });
      this.market.last = { result: result === "OK" ? "SUCCESS" : result, transactionId };
    } catch ({ answer, ...error }) {
      if (!answer) throw error;
      this.market.last = { result: answer.errors?.ledger?.result[0] ?? answer.reason, transactionId };
    }
  }

  /** Have all listed: whoever bought them gives them back first. */
  async #listAll() {
    if (this.isListed) return;
    this.price += 1; // at the same price, the purchase before might be handed out again
    for (const lot of this.lots) {
      const { seller, tokenId, serialNos } = lot;
      const accountId = seller.id;
      for (const serialNo of serialNos)
        await this.market.call("/sandbox/transfers", { accountId, tokenId, serialNo });
      const { bytes } = await this.#ask("list", seller, nameLot(lot));
      await this.market.submit((await Transaction.fromBytes(bytes).sign(seller.key)).toBytes());
      await this.market.call("/v1/comingsoon", { accountId, ...nameLot(lot) });
    }
    this.isListed = true;
  }

  /** Whether the market has the offer. */
  async #settleOffer(transactionId) {
    const reported = { accountId: this.signer.id, ...this.named, transactionId };
    const { offerId } = await this.market.call("/v1/comingsoon", reported);
    const { to, price, state } = await this.market.call(`/v1/offers/${offerId}`);
    const isAsWanted = to.accountId === this.signer.id && price === this.price && state === "OPEN";
    return isAsWanted ? "SUCCESS" : `SUCCESS, but ${JSON.stringify([to, price, state])}`;
  }

  /** What became of what was submitted: the ledger's code, and whether the order book agrees with a SUCCESS. */
  async settle() {
    const { result, transactionId } = this.market.last;
    this.prepared = undefined;
    if (result !== "SUCCESS") return result;
    if (this.kind === "offer") return this.#settleOffer(transactionId);
    this.isListed = this.kind === "list";
    const report = (id) =>
      this.market.call("/v1/comingsoon", { accountId: this.signer.id, ...this.named, ...id });
    const reports = [await report({ transactionId })];
    // What an SDK has given another id is as well reported under ours, or under none.
    if (transactionId !== this.lastId)
      reports.push(await report({ transactionId: this.lastId }), await report({}));
    const ids = this.nfts.map(({ tokenId, serialNo }) => `id=${tokenId}:${serialNo}`);
    const nfts = await this.market.call(`/v1/nfts?${ids.join("&")}`);
    const isAsWanted =
      reports.every(({ result }) => result === "OK") &&
      nfts.every(({ listingPrice, owner }) =>
        listingPrice === (this.isListed ? this.price : 0) && owner.accountId === this.signer.id);
    return isAsWanted ? "SUCCESS" : `SUCCESS, but ${JSON.stringify([reports, nfts])}`;
  }
}

/** The signed bytes of what a wallet returned. */
function complete(signed) {
  if (signed instanceof Uint8Array) return signed;
  const [pair] = proto.SignatureMap.decode(Buffer.from(signed.signatureMap, "base64")).sigPair;
  const publicKey = PublicKey.fromBytes(pair.pubKeyPrefix);
  const transaction = Transaction.fromBytes(Buffer.from(signed.signedTransaction, "base64"));
  return transaction.addSignature(publicKey, pair.ed25519 || pair.ECDSASecp256k1).toBytes();
}

function nameLot({ tokenId, serialNos }) {
  const [serialNo, ...others] = serialNos;
  return others.length ? { tokenId, serialNos } : { tokenId, serialNo };
}

function makeAccount(id, keyType) {
  const key = keyType === "ECDSA" ? PrivateKey.generateECDSA() : PrivateKey.generateED25519();
  return { id, key };
}
