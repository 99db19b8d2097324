"""What a wallet developer does at the sandbox: look inside a transaction, sign, submit, set the scene."""

from marketplace import times
from marketplace.api.blueprint import Blueprint
from marketplace.api.response_schemas import ResultSchema
from marketplace.sandbox import decoding, examples, wallet
from marketplace.sandbox.ledger import accounts, consensus, queries
from marketplace.sandbox.schemas import (
    ChangeAccountSchema,
    DecodedTransactionSchema,
    DecodeTransactionSchema,
    DeleteTokenSchema,
    LagSchema,
    MakeNftOddSchema,
    SignedTransactionSchema,
    SignTransactionSchema,
    SubmitTransactionSchema,
    TransactionReceiptSchema,
    TransferNftSchema,
    UpdateNftSchema,
)
from marketplace.store.database import write

blp = Blueprint(
    "Sandbox", __name__, description="A small Hedera for one's own desk; asks for no token"
)


@blp.post("/decode")
@blp.body(DecodeTransactionSchema)
@blp.response(
    200,
    DecodedTransactionSchema,
    description="What the transaction says",
    example=DecodedTransactionSchema().dump(decoding.decode(examples.PREPARED)),
)
def decode_transaction(transaction):
    """Look inside a transaction

    Signed or not. What a wallet shows before it signs: kind, NFT, owner, spender, memo, fee, validity.
    """
    return decoding.decode(transaction)


@blp.post("/transactions")
@blp.body(SubmitTransactionSchema)
@blp.response(200, TransactionReceiptSchema, description="What the ledger made of it")
def submit_transaction(transaction):
    """Submit a signed transaction

    The bytes of any Hedera SDK, for one node or several, signed with ED25519 or ECDSA keys. The first key
    that signs for an account becomes its key. The answer is 200 whatever the ledger made of it: read
    `result`. A transaction is valid for minutes, so submit one that was prepared just now; the example is
    an old one, and TRANSACTION_EXPIRED.
    """
    return consensus.submit(transaction, times.now())


@blp.post("/sign")
@blp.body(SignTransactionSchema)
@blp.response(200, SignedTransactionSchema, description="The signed transaction")
def sign_transaction(account_id, transaction):
    """Sign with the demo wallet

    For those who have no wallet at hand. The keys are derived from the account id, and worth nothing.
    """
    return {"transaction": wallet.sign(account_id, transaction)}


@blp.post("/transfers")
@blp.body(TransferNftSchema)
@blp.response(200, TransactionReceiptSchema, description="The NFT was moved")
def transfer_nft(token, serial_no, account_id):
    """Move an NFT to another account

    As a sale elsewhere would: its owner is not asked, nothing is paid, and the approval of the serial is
    gone.
    """
    return consensus.hand_over(token, serial_no, account_id, times.now())


@blp.post("/accounts")
@blp.body(ChangeAccountSchema)
@blp.response(200, ResultSchema, description="It is so from now on")
def change_account(account_id, automatic_associations):
    """Change an account

    How many tokens transfers may associate it with. Those that it is associated with stay.
    """
    with write() as db:
        accounts.set_automatic_associations(db, account_id, automatic_associations, times.now())
    return {"result": "OK"}


@blp.post("/deletions")
@blp.body(DeleteTokenSchema)
@blp.response(200, TransactionReceiptSchema, description="What the ledger made of it")
def delete_token(token):
    """Delete a token

    As its issuer may, with all of its NFTs. They stay where they are, deleted; nothing of the token can be
    approved or moved any more.
    """
    return consensus.delete_token(token, times.now())


@blp.post("/updates")
@blp.body(UpdateNftSchema)
@blp.response(200, TransactionReceiptSchema, description="It was updated")
def update_nft(token, serial_no, metadata=None):
    """Update an NFT's metadata

    As its issuer may: a new entry of its history, and its approvals stay. Without `metadata`, to what it was.
    """
    return consensus.update_metadata(token, serial_no, times.now(), metadata)


@blp.post("/oddities")
@blp.body(MakeNftOddSchema)
@blp.response(200, ResultSchema, description="The mirror node answers so from now on")
def make_nft_odd(token, serial_no, kind):
    """Make an NFT odd

    The mirror node answers about it in a way that is rare, and real: to try what a client makes of it.
    """
    consensus.make_odd(token, serial_no, kind)
    return {"result": "OK"}


@blp.post("/oddities/lag")
@blp.body(LagSchema)
@blp.response(200, ResultSchema, description="It is so from now on")
def change_list_lag(seconds):
    """Let the list of transactions lag

    The mirror node's list lacks the newest ones, as a replica's does. All else is up to date.
    """
    with write() as db:
        queries.mark_lag(db, seconds * times.SECOND)
    return {"result": "OK"}
