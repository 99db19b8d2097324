// The steps of a seller, a buyer and the marketplace, in Node.js and in a browser alike.

// The account that sells for others in the sandbox: MARKETPLACE_ACCOUNT_ID.
const MARKETPLACE = "0.0.9001";

// Take any account: in the sandbox the first key that signs for an account becomes its key.
const someAccount = () => `0.0.${100_000 + Math.floor(Math.random() * 900_000)}`;

export async function sell(sdk, { market, node, token, say }) {
  const { AccountAllowanceApproveTransaction, AccountAllowanceDeleteTransaction, Client } = sdk;
  const { NftId, PrivateKey, TokenId, TokenNftInfoQuery, Transaction } = sdk;

  const call = async (path, body) => {
    const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
    const options = body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers };
    const response = await fetch(`${market}${path}`, options);
    const answer = await response.json();
    if (!response.ok) throw new Error(`${path}: ${answer.message}`);
    return answer;
  };

  // The client of one account: its key signs and pays for whatever is executed.
  const clientOf = (account, key) => Client.forNetwork({ [node]: "0.0.3" }).setOperator(account, key);

  // What the service has prepared: read, and signed by whom it is for.
  const signPrepared = async (path, body, key) => {
    const { byteArray } = await call(path, body);
    const bytes = Uint8Array.from(atob(byteArray), (character) => character.charCodeAt(0));
    return Transaction.fromBytes(bytes).sign(key);
  };

  // A purchase is signed and handed in: the marketplace signs last, and submits it.
  const buy = async (body, key) => {
    const signed = await signPrepared("/v1/buy/extwallet", body, key);
    const signedTransaction = btoa(String.fromCharCode(...signed.toBytes()));
    const { result } = await call("/v1/comingsoon", { ...body, signedTransaction });
    say(`Bought: ${result}`);
  };

  const tell = async (what, response, client) => {
    const { status } = await response.getReceipt(client).catch(({ message }) => {
      throw new Error(`${what}: ${message}. Is ${node} the node of ${market}?`);
    });
    const record = await response.getRecord(client);
    say(`${what}: ${status}, ${record.transactionFee} of fees, ${response.transactionId}`);
  };

  const nft = { tokenId: "0.0.7100", serialNo: 1 + Math.floor(Math.random() * 1e9) };
  const nftId = new NftId(TokenId.fromString(nft.tokenId), nft.serialNo);

  // Nobody reports anything: the service sees by itself what happened on the ledger.
  const orderBookHas = async (isForSale) => {
    for (let tries = 0; tries < 100; tries++) {
      const stored = await call(`/v1/nft/${nft.tokenId}/${nft.serialNo}`);
      if (stored.isForSale === isForSale) return stored;
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    throw new Error(`It is ${isForSale ? "not " : "still "}for sale: is ${node} the node of ${market}?`);
  };

  const seller = someAccount();
  const sellerKey = PrivateKey.generateED25519();
  const sellers = clientOf(seller, sellerKey);
  const buyer = someAccount();
  const buyerKey = PrivateKey.generateECDSA();
  const buyers = clientOf(buyer, buyerKey);

  try {
    const accountId = seller;
    await call("/v1/add", { accountId, ...nft });
    const wanted = { accountId, ...nft, listingPrice: 250 };
    const listing = await signPrepared("/v1/list/extwallet", wanted, sellerKey);
    await tell("Listed", await listing.execute(sellers), sellers);
    say(`In the order book for ${(await orderBookHas(true)).listingPrice} HBAR`);

    const withdrawn = await new AccountAllowanceDeleteTransaction()
      .deleteAllTokenNftAllowances(nftId, seller)
      .execute(sellers);
    await tell("Withdrawn", withdrawn, sellers);
    await orderBookHas(false);
    say("Not in the order book any more");

    // A listing of one's own making: whom it lets spend the NFT, and its memo, are all there is to it.
    const listedAgain = await new AccountAllowanceApproveTransaction()
      .approveTokenNftAllowance(nftId, seller, MARKETPLACE)
      .setTransactionMemo(`Listing NFT with ${nft.tokenId} and Serial Number ${nft.serialNo} for 199 HBAR on my desk`)
      .execute(sellers);
    await tell("Listed again", listedAgain, sellers);
    say(`In the order book for ${(await orderBookHas(true)).listingPrice} HBAR`);

    await buy({ accountId: buyer, ...nft }, buyerKey);
    await orderBookHas(false);

    const [{ accountId: owner }] = await new TokenNftInfoQuery().setNftId(nftId).execute(buyers);
    say(`It belongs to ${owner == buyer ? "the buyer" : owner} now`);
    // The networks answer no balance query any more: the mirror node does.
    for (const [who, account] of [["Seller", seller], ["Buyer", buyer]]) {
      const { balance } = await call(`/sandbox/api/v1/accounts/${account}?transactions=false`);
      say(`${who} has ${balance.balance / 1e8} ℏ`);
    }
  } finally {
    sellers.close();
    buyers.close();
  }
}
