"""Signs transactions with a private key, as a wallet does."""

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList

from hiero_sandbox.ledger.envelopes import open_signed, read_list


def add_signature(key: PrivateKey, content: bytes) -> bytes:
    """Add a key's signature to each transaction of a list. Each must be readable."""
    prefix = bytes(key.public_key().to_bytes_raw())
    field = "ed25519" if key.is_ed25519() else "ECDSA_secp256k1"
    transactions = read_list(content)
    for transaction in transactions:
        signed = open_signed(transaction)
        if all(pair.pubKeyPrefix != prefix for pair in signed.sigMap.sigPair):
            pair = {"pubKeyPrefix": prefix, field: key.sign(signed.bodyBytes)}
            signed.sigMap.sigPair.add(**pair)
        if transaction.signedTransactionBytes:
            transaction.signedTransactionBytes = signed.SerializeToString()
    return bytes(TransactionList(transaction_list=transactions).SerializeToString())
