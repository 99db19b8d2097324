// What a market asks of a wallet: the rows of the wallet check, for the page and for the command.
// Each row's run(check) returns what came back, in a sentence, or throws it: Wrong, or Untried.

import { Untried, Wrong, verify } from "./check.js";
import { decodeBase64 } from "../envelope.js";
import { bodyOf, writeTransfer } from "../transaction.js";

const EXECUTE = "hedera_signAndExecuteTransaction", SIGN = "hedera_signTransaction", MESSAGE = "hedera_signMessage";
const PRICE = 5, NEW_PRICE = 7, OFFER = 6, LOW_OFFER = 4; // whole HBAR
const MANY = 20, MEMO_BYTES = 100, EXPIRED_SECONDS = 600;
const NO_USER_SECONDS = 30; // for an answer that needs no user
const STRANGER = "0.0.9876543"; // an account that no session has
const PREFIX = "\x19Hedera Signed Message:\n", TEXT = "I own this account.";

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} title
 * @property {string} asked what the wallet is asked for
 * @property {string} why it matters
 * @property {"refuse" | "close" | "wait"} [step] what the wallet's user does in it; STEPS has the words
 * @property {(check: import("./check.js").Check) => Promise<string>} run
 */

/** What the wallet's user reads before a row. */
export const STEPS = {
  refuse: "Refuse the next request in your wallet.",
  close: "Close your wallet now: quit the app. Ask it, count to five, open it again, and approve the request.",
  wait: "Wait for 30 seconds before you approve the next request.",
};

/** @type {Row[]} */
export const ROWS = [
  {
    id: "list",
    title: "List an NFT",
    asked: `${EXECUTE}: an approval for one NFT.`,
    why: "Without it, the wallet's users can't sell.",
    async run(check) {
      const [nft] = check.nfts(1);
      await check.list(nft, PRICE);
      return `The NFT is for sale at ${PRICE} HBAR.`;
    },
  },
  {
    id: "list-20",
    title: `List ${MANY} NFTs at once`,
    asked: `${EXECUTE}: approvals for ${MANY} NFTs in one transaction.`,
    why: "One signature for a whole collection, instead of twenty.",
    async run(check) {
      await check.list(check.nfts(MANY), PRICE);
      return `${MANY} NFTs are for sale, after one request.`;
    },
  },
  {
    id: "price",
    title: "Change the price",
    asked: `${EXECUTE}: a second approval for an NFT that is for sale.`,
    why: "A wallet that takes it for a repetition keeps the old price.",
    async run(check) {
      const [nft] = check.nfts(1);
      await check.listByDemo(nft, PRICE, check.account);
      await check.list(nft, NEW_PRICE);
      return `The NFT costs ${NEW_PRICE} HBAR instead of ${PRICE}.`;
    },
  },
  {
    id: "withdraw",
    title: "Withdraw a listing",
    asked: `${EXECUTE}: the approval of an NFT that is for sale is deleted.`,
    why: "Without it, an owner can't end a sale.",
    async run(check) {
      const [nft] = check.nfts(1);
      await check.list(nft, PRICE);
      await check.execute("delist", nft);
      await check.expectListed(nft, 0);
      return "The NFT is no longer for sale.";
    },
  },
  {
    id: "buy",
    title: "Buy an NFT",
    asked: `${SIGN}: the purchase, which the wallet signs and does not submit.`,
    why: "The marketplace signs last and pays the network fee. A wallet that submits it gets INVALID_SIGNATURE.",
    async run(check) {
      const [nft] = check.nfts(1);
      await check.listByDemo(nft, PRICE, check.others[0]);
      await check.buy(nft, [nft]);
      return "The marketplace took the signature: the account owns the NFT.";
    },
  },
  {
    id: "literal",
    title: "The body is signed as it is",
    asked: `${SIGN}: a body whose fields are in an unusual, valid order.`,
    why: "A wallet that encodes the body again signs other bytes, and the network refuses them.",
    async run(check) {
      const { byteArray } = writeTransfer({ payer: check.account, memo: "Fields in another order", isReversed: true });
      await check.signAndVerify(bodyOf(byteArray), check.account);
      return "The signature is of these bytes.";
    },
  },
  {
    id: "kept",
    title: "Another's signature is kept",
    asked: `${EXECUTE}: a transfer that another account has signed already.`,
    why: "Swaps and escrows need two signatures: a wallet that replaces the first one makes them fail.",
    async run(check) {
      const [other] = check.others;
      const transfer = writeTransfer({ payer: check.account, memo: "Signed by two", amounts: [[other, -1], [check.account, 1]] });
      await check.submit({ ...transfer, byteArray: await check.signByDemo(other, transfer.byteArray) });
      return "The ledger took both signatures.";
    },
  },
  {
    id: "basket",
    title: "Buy a basket",
    asked: `${SIGN}: two NFTs of two owners in one transaction.`,
    why: "One signature for all: either everything is bought or nothing.",
    async run(check) {
      const bought = [...check.nfts(1), ...check.nfts(1, 1)];
      for (const [i, nft] of bought.entries()) await check.listByDemo(nft, PRICE, check.others[i]);
      await check.buy({ nfts: bought }, bought);
      return "The account owns both NFTs, after one signature.";
    },
  },
  {
    id: "offer",
    title: "Make an offer",
    asked: `${EXECUTE}: a ScheduleCreate of a sale at ${LOW_OFFER} HBAR.`,
    why: "An offer is the bidder's own schedule on the ledger.",
    async run(check) {
      const [nft] = check.nfts(1);
      await check.listByDemo(nft, PRICE, check.others[0]);
      const { offerId } = await check.execute("offer", { ...nft, offerPrice: LOW_OFFER });
      check.offerId = offerId;
      return `The offer is open: ${offerId}.`;
    },
  },
  {
    id: "offer-shown",
    title: "The wallet shows what is in the schedule",
    asked: "You: what did the wallet show before you signed the offer?",
    why: "A user who can't see the NFT and the price inside a schedule signs blindly.",
    async run(check) {
      if (!check.offerId) throw new Untried("No offer was made.");
      const isShown = await check.ask(`Did your wallet show the NFT and the price of ${LOW_OFFER} HBAR before you signed the offer?`);
      if (isShown === null) throw new Untried("Only its user can say.");
      if (!isShown) throw new Wrong("Its user saw no NFT and no price.");
      return "Its user saw the NFT and the price.";
    },
  },
  {
    id: "accept",
    title: "Accept an offer",
    asked: `${EXECUTE}: a ScheduleSign of another's offer.`,
    why: "The sale happens with this signature. A wallet that knows no schedules can't take an offer.",
    async run(check) {
      const [nft] = check.nfts(1);
      const [bidder] = check.others;
      await check.list(nft, PRICE);
      const { offerId } = await check.byDemo("offer", bidder, { ...nft, offerPrice: OFFER });
      await check.execute("acceptoffer", { offerId, expectedPrice: OFFER });
      await check.expectOwner(nft, bidder);
      return `The NFT is sold for ${OFFER} HBAR.`;
    },
  },
  {
    id: "withdraw-offer",
    title: "Withdraw an offer",
    asked: `${EXECUTE}: a ScheduleDelete of the account's own offer.`,
    why: "Without it, an offer stays open until it expires.",
    async run(check) {
      if (!check.offerId) throw new Untried("No offer was made.");
      await check.execute("withdrawoffer", { offerId: check.offerId });
      return "The offer has ended.";
    },
  },
  {
    id: "refuse",
    title: "Its user refuses",
    asked: `${EXECUTE}: an empty transfer, which its user refuses.`,
    why: "With code 5000 a market says “you refused it”, and with any other that something is broken.",
    step: "refuse",
    run: (check) =>
      check.expectRefusal(writeTransfer({ payer: check.account, memo: "To refuse" }), {
        isRight: ({ code }) => code === 5000,
        wanted: "it must answer with code 5000",
      }),
  },
  {
    id: "expired",
    title: "A transaction that has expired",
    asked: `${EXECUTE}: an empty transfer of ten minutes ago.`,
    why: "The market must hear that it failed. A wallet that gives it a new ID signs something else than was asked.",
    run: (check) => check.expectRefusal(writeTransfer({ payer: check.account, memo: "Expired", seconds: Date.now() / 1000 - EXPIRED_SECONDS })),
  },
  {
    id: "account",
    title: "An account that it has not shared",
    asked: `${EXECUTE} with signerAccountId ${STRANGER}.`,
    why: "A page may ask only for the accounts that its user has chosen.",
    run: (check) =>
      check.expectRefusal(writeTransfer({ payer: STRANGER, memo: "Another account" }), { params: { signerAccountId: `${check.chain}:${STRANGER}` } }),
  },
  {
    id: "network",
    title: "A network that it has not shared",
    asked: `${EXECUTE} for another of Hedera's networks.`,
    why: "What is signed for a test network must never be submitted to mainnet.",
    run: (check) => {
      const chain = check.strangeChain();
      const transfer = writeTransfer({ payer: check.account, memo: "Another network" });
      return check.expectRefusal(transfer, { chain, seconds: NO_USER_SECONDS, params: { signerAccountId: `${chain}:${check.account}` } });
    },
  },
  {
    id: "nodes",
    title: "Two nodes in the list",
    asked: `${EXECUTE}: an empty transfer for node 0.0.3, and the same for node 0.0.4, which is not there.`,
    why: "Other markets name several nodes: the wallet signs each copy, and submits one.",
    async run(check) {
      await check.submit(writeTransfer({ payer: check.account, memo: "Two nodes", nodes: ["0.0.3", "0.0.4"] }));
      return "The ledger took one of the copies.";
    },
  },
  {
    id: "memo",
    title: `A memo of ${MEMO_BYTES} bytes in several scripts`,
    asked: `${EXECUTE}: an empty transfer with the longest memo.`,
    why: "A listing's price is in its memo: a wallet that counts letters instead of bytes cuts or refuses it.",
    async run(check) {
      const memo = fillMemo("Größe 価格 🖼 ");
      const { transactionId } = await check.submit(writeTransfer({ payer: check.account, memo }));
      const [{ memo_base64: found }] = await check.findOnLedger(transactionId);
      if (new TextDecoder().decode(decodeBase64(found)) !== memo) throw new Wrong("The ledger has another memo.");
      return "The ledger has the whole memo.";
    },
  },
  {
    id: "message",
    title: "Sign a message",
    asked: `${MESSAGE}: “${TEXT}”.`,
    why: "So a user signs in without a password. The prefix keeps it from being a transaction.",
    async run(check) {
      const map = (await check.request(MESSAGE, { message: TEXT }))?.signatureMap;
      const kind = verify(map, new TextEncoder().encode(`${PREFIX}${TEXT.length}${TEXT}`));
      return `The signature is valid (${kind}), with HIP-820's prefix.`;
    },
  },
  ...["ED25519", "ECDSA"].map((kind) => ({
    id: kind.toLowerCase(),
    title: `An ${kind} key`,
    asked: `${SIGN}: an empty transfer of each account in the session.`,
    why: "Hedera's accounts have keys of both kinds; each has its own field in a SignatureMap.",
    async run(check) {
      const kinds = await check.findKinds();
      if (!kinds.includes(kind)) throw new Untried(`No account of the session has such a key. Connect one, and check again.`);
      return "The signature is valid.";
    },
  })),
  {
    id: "close",
    title: "Closed, and back",
    asked: `${EXECUTE}: an empty transfer, while the wallet is closed.`,
    why: "A phone stops apps in the background: the request must be there when the wallet comes back.",
    step: "close",
    async run(check) {
      await check.submit(writeTransfer({ payer: check.account, memo: "Closed, and back" }));
      return "The request was there when it came back.";
    },
  },
  {
    id: "late",
    title: "An answer after 30 seconds",
    asked: `${EXECUTE}: an empty transfer, approved after 30 seconds.`,
    why: "People read before they sign. A wallet that gives up earlier, or signs another one, loses the trade.",
    step: "wait",
    async run(check) {
      await check.submit(writeTransfer({ payer: check.account, memo: "Half a minute later" }));
      return "The ledger took it.";
    },
  },
];

/** A text of exactly MEMO_BYTES bytes that begins with these words, over and over. */
function fillMemo(words) {
  const length = (text) => new TextEncoder().encode(text).length;
  let memo = "";
  for (const letter of words.repeat(MEMO_BYTES)) {
    if (length(memo + letter) > MEMO_BYTES) break;
    memo += letter;
  }
  return memo + "x".repeat(MEMO_BYTES - length(memo));
}
