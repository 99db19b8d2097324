// From nothing to a sold NFT of one's own collection, with the Hedera SDK as it is. Beside `make run`, in this folder:
//
//   . ../../../instance/sandbox.env
//   npm ci && node tutorial.mjs                      @hashgraph/sdk
//   SDK=@hiero-ledger/sdk node tutorial.mjs          the same by its new name
//
// MARKET says where the service is, NODE where its node listens.

const { MARKET, NODE, TOKEN, SDK = "@hashgraph/sdk" } = process.env;
if (!MARKET || !NODE || !TOKEN) {
  console.error("MARKET, NODE or TOKEN is not set. In the clone, while make run serves: . instance/sandbox.env");
  process.exit(1);
}
const {
  AccountCreateTransaction, Client, CustomFixedFee, CustomRoyaltyFee, Hbar, NftId, PrivateKey, TokenAssociateTransaction,
  TokenCreateTransaction, TokenMintTransaction, TokenSupplyType, TokenType, Transaction, TransferTransaction,
} = await import(SDK);

// Ask the service for something; the mirror node is below /sandbox/api/v1.
const call = async (path, body) => {
  const headers = { Authorization: `Bearer ${TOKEN}`, "Content-Type": "application/json" };
  const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
  const response = await fetch(`${MARKET}${path}`, options);
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
  return response.json();
};

// How many HBAR an account has, as the mirror node tells it.
const balance = async (account) => (await call(`/sandbox/api/v1/accounts/${account}`)).balance.balance / 1e8;

// In the sandbox an account that nobody has used has 10,000 HBAR, and takes the first key that signs for it.
const clientOf = (account, key) => Client.forNetwork({ [NODE]: "0.0.3" }).setOperator(account, key);
const operator = `0.0.${100_000 + Math.floor(Math.random() * 900_000)}`;
const client = clientOf(operator, PrivateKey.generateED25519());

// Sign with the operator's key and others, submit, and wait for the receipt.
const execute = async (transaction, ...keys) => {
  transaction.freezeWith(client);
  for (const key of keys) await transaction.sign(key);
  return (await transaction.execute(client)).getReceipt(client);
};

const createAccount = async (key, hbar) => {
  const creation = new AccountCreateTransaction().setKeyWithoutAlias(key.publicKey);
  return (await execute(creation.setInitialBalance(new Hbar(hbar)))).accountId;
};

const artistKey = PrivateKey.generateED25519();
const firstKey = PrivateKey.generateECDSA();
const buyerKey = PrivateKey.generateED25519();
const artist = await createAccount(artistKey, 100);
const first = await createAccount(firstKey, 500);
const buyer = await createAccount(buyerKey, 500);
console.log(`Accounts: ${artist} made it, ${first} buys first, ${buyer} buys last`);

const royalty = new CustomRoyaltyFee()
  .setNumerator(5)
  .setDenominator(100)
  .setFallbackFee(new CustomFixedFee().setHbarAmount(new Hbar(1)))
  .setFeeCollectorAccountId(artist);
const creation = new TokenCreateTransaction()
  .setTokenName("Cats of my own")
  .setTokenSymbol("CAT")
  .setTokenType(TokenType.NonFungibleUnique)
  .setSupplyType(TokenSupplyType.Finite)
  .setMaxSupply(5)
  .setTreasuryAccountId(artist)
  .setAdminKey(artistKey.publicKey)
  .setSupplyKey(artistKey.publicKey)
  .setCustomFees([royalty])
  .setMaxTransactionFee(new Hbar(40));
const { tokenId: token } = await execute(creation, artistKey);
console.log(`Collection ${token}, with a royalty of 5 %`);

const metadata = [1, 2, 3, 4, 5].map((number) => Buffer.from(`ipfs://bafkqacbqfyyc4nzqgayq/${number}.json`));
const minted = await execute(new TokenMintTransaction().setTokenId(token).setMetadata(metadata), artistKey);
console.log(`Minted: [${minted.serials.join(", ")}]`);

for (const [account, key] of [[first, firstKey], [buyer, buyerKey]]) {
  await execute(new TokenAssociateTransaction().setAccountId(account).setTokenIds([token]), key);
}

// The treasury owes no royalties.
const sale = new TransferTransaction()
  .addNftTransfer(new NftId(token, 1), artist, first)
  .addHbarTransfer(first, new Hbar(-100))
  .addHbarTransfer(artist, new Hbar(100));
await execute(sale, artistKey, firstKey);
console.log(`Sold #1 for 100 HBAR: the artist has ${await balance(artist)}`);

// Sign what the marketplace has prepared. A purchase is handed in, because the marketplace signs it last; a listing is
// submitted.
const complete = async (path, account, key, fields) => {
  const body = { accountId: `${account}`, tokenId: `${token}`, serialNo: 1, ...fields };
  const { byteArray, metadata } = await call(path, body);
  const signed = await Transaction.fromBytes(Buffer.from(byteArray, "base64")).sign(key);
  if (metadata.returnTransaction) {
    const signedTransaction = Buffer.from(signed.toBytes()).toString("base64");
    return call("/v1/comingsoon", { ...body, signedTransaction });
  }
  const own = clientOf(account, key);
  await (await signed.execute(own)).getReceipt(own);
  own.close();
};

const waitFor = async (isForSale) => {
  for (let tries = 0; tries < 100; tries++) {
    if ((await call(`/v1/nft/${token}/1`)).isForSale === isForSale) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error(`The order book does not follow: is ${NODE} the node of ${MARKET}?`);
};

await call("/v1/add", { accountId: `${first}`, tokenId: `${token}`, serialNo: 1 });
await complete("/v1/list/extwallet", first, firstKey, { listingPrice: 200 });
await waitFor(true);
console.log("Listed #1 for 200 HBAR");
await complete("/v1/buy/extwallet", buyer, buyerKey);
await waitFor(false);
console.log(`Bought #1: the artist has ${await balance(artist)}, the buyer ${await balance(buyer)}`);

const { transactions } = await call(`/sandbox/api/v1/tokens/${token}/nfts/1/transactions?order=asc`);
console.log(`Its history: ${transactions.map(({ type }) => type).join(", ")}`);
client.close();
