"""What the ledger's result codes mean, in a sentence for whoever submitted a transaction."""

from collections.abc import Mapping

SENTENCES = {
    "DUPLICATE_TRANSACTION": "This transaction was submitted already.",
    "INSUFFICIENT_ACCOUNT_BALANCE": "An account in it has less HBAR than it must pay.",
    "INSUFFICIENT_PAYER_BALANCE": "Its payer has less HBAR than the network fee.",
    "INSUFFICIENT_SENDER_ACCOUNT_BALANCE_FOR_CUSTOM_FEE": (
        "An account in it has less HBAR than its royalties and fixed fees."
    ),
    "INVALID_SIGNATURE": "A signature is missing, or it is not by the account's key on this ledger.",
    "INVALID_TRANSACTION_BODY": "It is not signed at all, or its bytes are not those of a transaction.",
    "INVALID_TRANSACTION_START": "Its valid start is in the future: compare your clock.",
    "SENDER_DOES_NOT_OWN_NFT_SERIAL_NO": "The NFT belongs to another account by now.",
    "SPENDER_DOES_NOT_HAVE_ALLOWANCE": "The NFT's owner does not allow the payer to move it, or has sold it.",
    "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT": "The receiving account must be associated with the token first.",
    "TRANSACTION_EXPIRED": "It was submitted after its valid duration: build a new one.",
    "NOT_SUPPORTED": "The sandbox does not execute this kind of transaction.",
}


def explain(result: str, hints: Mapping[str, str]) -> str:
    """The sentence for a code, and a host's hint; "" for success, and for what the code itself says."""
    return " ".join(filter(None, (SENTENCES.get(result), hints.get(result))))
