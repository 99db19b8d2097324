"""The sandbox's API: decode, sign and submit transactions, and change the ledger without them."""

from typing import Any

from marketplace import times
from marketplace.api.blueprint import Blueprint
from marketplace.api.response_schemas import ResultSchema
from marketplace.sandbox import decoding, examples, wallet
from marketplace.sandbox.ledger import accounts, consensus, queries
from marketplace.sandbox.ledger.consensus import Receipt
from marketplace.sandbox.schemas import (
    ChangeAccountSchema,
    DecodedTransactionSchema,
    DecodeTransactionSchema,
    DeleteTokenSchema,
    InjectFaultSchema,
    LagSchema,
    SignedTransactionSchema,
    SignTransactionSchema,
    SubmitTransactionSchema,
    TransactionReceiptSchema,
    TransferNftSchema,
    UpdateNftSchema,
)
from marketplace.store.database import write

blp = Blueprint(
    "Sandbox", __name__, description="A small Hedera on your own machine; asks for no token"
)


@blp.post("/decode")
@blp.body(DecodeTransactionSchema)
@blp.response(
    200,
    DecodedTransactionSchema,
    description="What the transaction says",
    example=DecodedTransactionSchema().dump(decoding.decode(examples.PREPARED)),
)
def decode_transaction(transaction: bytes) -> dict[str, Any]:
    """Decode a transaction

    Signed or not. A wallet shows this before it signs: type, NFT, owner, spender, memo, fee, validity.
    """
    return decoding.decode(transaction)


@blp.post("/transactions")
@blp.body(SubmitTransactionSchema)
@blp.response(200, TransactionReceiptSchema, description="The ledger's result")
def submit_transaction(transaction: bytes) -> Receipt:
    """Submit a signed transaction

    The bytes of any Hedera SDK, for one node or several, signed with ED25519 or ECDSA keys. The first key
    that signs for an account becomes its key. The answer is 200 for each `result`, SUCCESS or not. A
    transaction is valid for minutes: the example is an old one, and TRANSACTION_EXPIRED.
    """
    return consensus.submit(transaction, times.now())


@blp.post("/sign")
@blp.body(SignTransactionSchema)
@blp.response(200, SignedTransactionSchema, description="The signed transaction")
def sign_transaction(account_id: str, transaction: bytes) -> dict[str, bytes]:
    """Sign with the demo wallet

    Signs for any account. The keys are derived from the account id, and worth nothing.
    """
    return {"transaction": wallet.sign(account_id, transaction)}


@blp.post("/transfers")
@blp.body(TransferNftSchema)
@blp.response(200, TransactionReceiptSchema, description="The NFT was moved")
def transfer_nft(token: str, serial_no: int, account_id: str) -> Receipt:
    """Move an NFT to another account

    As a sale elsewhere would. The owner is not asked, nothing is paid, and the approval of the serial
    number ends.
    """
    return consensus.hand_over(token, serial_no, account_id, times.now())


@blp.post("/accounts")
@blp.body(ChangeAccountSchema)
@blp.response(200, ResultSchema, description="Done")
def change_account(account_id: str, automatic_associations: int) -> dict[str, str]:
    """Change an account

    Set how many tokens transfers may associate it with. Its associations stay.
    """
    with write() as db:
        accounts.set_automatic_associations(db, account_id, automatic_associations, times.now())
    return {"result": "OK"}


@blp.post("/deletions")
@blp.body(DeleteTokenSchema)
@blp.response(200, TransactionReceiptSchema, description="The ledger's result")
def delete_token(token: str) -> Receipt:
    """Delete a token

    As its issuer may, with all of its NFTs. They stay where they are, deleted, and can't be approved or
    moved any more.
    """
    return consensus.delete_token(token, times.now())


@blp.post("/updates")
@blp.body(UpdateNftSchema)
@blp.response(200, TransactionReceiptSchema, description="It was updated")
def update_nft(token: str, serial_no: int, metadata: str | None = None) -> Receipt:
    """Update an NFT's metadata

    As its issuer may. Its history has a new entry, and its approvals stay. Without `metadata` it is updated
    to what it was.
    """
    return consensus.update_metadata(token, serial_no, times.now(), metadata)


@blp.post("/oddities")
@blp.body(InjectFaultSchema)
@blp.response(200, ResultSchema, description="The mirror node answers so from now on")
def inject_fault(token: str, serial_no: int, fault: str) -> dict[str, str]:
    """Inject a fault

    The mirror node answers about the NFT as it rarely does, so that you can test a client.
    """
    with write() as db:
        queries.put(db, "oddity", token=token, serial_no=serial_no, kind=fault)
    return {"result": "OK"}


@blp.post("/oddities/lag")
@blp.body(LagSchema)
@blp.response(200, ResultSchema, description="Done")
def set_lag(seconds: int) -> dict[str, str]:
    """Let the list of transactions lag

    The mirror node's list lacks the newest ones, as a replica's does. All else is up to date.
    """
    with write() as db:
        queries.put(db, "property", name="lag", value=str(seconds * times.SECOND).encode())
    return {"result": "OK"}
