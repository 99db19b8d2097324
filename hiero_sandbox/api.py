"""The sandbox's API: decode, sign and submit transactions, and move NFTs without any."""

from typing import Any

from hiero_sandbox import decoding, examples, schemas, wallet
from hiero_sandbox.ledger import consensus
from hiero_sandbox.ledger.consensus import Receipt
from marketplace.api.blueprint import Blueprint
from marketplace.hedera import times

blp = Blueprint(
    "Sandbox", __name__, description="A small Hedera on your own machine; asks for no token"
)


@blp.post("/decode")
@blp.body(schemas.DecodeTransactionSchema)
@blp.response(
    200,
    schemas.DecodedTransactionSchema,
    description="What the transaction says",
    example=decoding.decode(examples.PREPARED),
)
def decode_transaction(transaction: bytes) -> dict[str, Any]:
    """Decode a transaction

    Signed or unsigned. A wallet shows this before it signs: type, NFT, owner, spender, memo, fee, validity.
    """
    return decoding.decode(transaction)


@blp.post("/transactions")
@blp.body(schemas.SubmitTransactionSchema)
@blp.response(200, schemas.TransactionReceiptSchema, description="The ledger's result")
def submit_transaction(transaction: bytes) -> dict[str, str]:
    """Submit a signed transaction

    Accepts the bytes of any Hedera SDK, for one node or several, signed with ED25519 or ECDSA keys. The
    first key that signs for an account becomes its key. The status is 200 whatever the `result` is. A
    transaction is valid for minutes: the example is an old one, and its result is TRANSACTION_EXPIRED.
    """
    return _result(consensus.submit(transaction, times.now()))


def _result(receipt: Receipt) -> dict[str, str]:
    return {"transactionId": receipt.transaction_id, "result": receipt.result}


@blp.post("/sign")
@blp.body(schemas.SignTransactionSchema)
@blp.response(200, schemas.SignedTransactionSchema, description="The signed transaction")
def sign_transaction(account_id: str, transaction: bytes) -> dict[str, bytes]:
    """Sign with the demo wallet

    Signs for any account. The keys are derived from the account id, and worth nothing.
    """
    return {"transaction": wallet.sign(account_id, transaction)}


@blp.post("/transfers")
@blp.body(schemas.TransferNftSchema)
@blp.response(200, schemas.TransactionReceiptSchema, description="The NFT was moved")
def transfer_nft(token: str, serial_no: int, account_id: str) -> dict[str, str]:
    """Move an NFT to another account

    Does what a sale on another market would do. The owner does not sign, nothing is paid, and the approval
    of the serial number ends.
    """
    return _result(consensus.hand_over(token, serial_no, account_id, times.now()))


@blp.post("/rewards")
@blp.body(schemas.AddRewardSchema)
@blp.response(200, schemas.PendingRewardSchema, description="What 0.0.800 will pay")
def add_reward(account_id: str, amount: int) -> dict[str, int]:
    """Let an account earn a staking reward

    The account's next transaction, or the next one that changes its HBAR, pays it: the amounts that mirror
    nodes show of that transaction include the reward, and `staking_reward_transfers` names it.
    """
    return {"pendingReward": consensus.add_reward(account_id, amount, times.now())}
