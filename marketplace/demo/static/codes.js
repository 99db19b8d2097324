// The ledger's result codes, in words: those that the demo can lead to.

const WORDS = {
  DUPLICATE_TRANSACTION: "It has been submitted already.",
  INSUFFICIENT_ACCOUNT_BALANCE: "An account in it has less HBAR than it must pay.",
  INSUFFICIENT_PAYER_BALANCE: "Its payer has less HBAR than the network's fee.",
  INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE: "An account in it has less HBAR than its royalties and fixed fees.",
  INVALID_SIGNATURE: "A signature is missing, or not by the key that the account has on the ledger.",
  SENDER_DOES_NOT_OWN_NFT_SERIAL_NO: "The NFT belongs to somebody else by now.",
  SPENDER_DOES_NOT_HAVE_ALLOWANCE: "Its owner no longer lets the marketplace sell it, or has sold it. Nothing was paid.",
  TOKEN_NOT_ASSOCIATED_TO_ACCOUNT: "The buyer's account does not take this token: it must be associated first.",
  TRANSACTION_EXPIRED: "It was submitted too late.",
  INVALID_TRANSACTION_START: "It is not valid yet.",
};

export const reason = (code) => WORDS[code] ?? "";
