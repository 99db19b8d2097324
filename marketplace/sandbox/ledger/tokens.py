"""Transactions about a token: association and dissociation of accounts, minting.

All tokens have one treasury, queries.TREASURY. Its key is the supply key of each.
"""

import base64

from google.protobuf.message import Message

from marketplace.ids import MAX_INT64
from marketplace.sandbox.ledger import accounts, history, nfts, queries
from marketplace.sandbox.ledger.accounts import Refused
from marketplace.sandbox.ledger.execution import Execution, NftTransfer, entity
from marketplace.sandbox.ledger.nfts import Nft

MAX_MINTED = 10  # in one transaction
METADATA_BYTES = 100


def check_associations(content: Message) -> None:
    """Check what a node checks before consensus."""
    entity(content.account, "INVALID_ACCOUNT_ID")
    tokens = [entity(token, "INVALID_TOKEN_ID") for token in content.tokens]
    if len(set(tokens)) < len(tokens):
        raise Refused("TOKEN_ID_REPEATED_IN_TOKEN_LIST")


def check_mint(content: Message) -> None:
    """Check what a node checks before consensus."""
    entity(content.token, "INVALID_TOKEN_ID")
    if content.amount and content.metadata:
        raise Refused("INVALID_TRANSACTION_BODY")


def associate(execution: Execution, content: Message) -> None:
    account_id = entity(content.account, "INVALID_ACCOUNT_ID")
    execution.require_signature(account_id)
    for token in (entity(token, "INVALID_TOKEN_ID") for token in content.tokens):
        if queries.is_deleted(execution.db, token):
            raise Refused("TOKEN_WAS_DELETED")
        if accounts.is_associated(execution.db, account_id, token):
            raise Refused("TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
        accounts.associate(execution.db, account_id, token, execution.now)


def dissociate(execution: Execution, content: Message) -> None:
    db, account_id = execution.db, entity(content.account, "INVALID_ACCOUNT_ID")
    execution.require_signature(account_id)
    for token in (entity(token, "INVALID_TOKEN_ID") for token in content.tokens):
        if account_id == queries.TREASURY:
            raise Refused("ACCOUNT_IS_TREASURY")
        if not accounts.is_associated(db, account_id, token):
            raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
        if not queries.is_deleted(db, token) and queries.count_nfts_of(db, account_id, token):
            raise Refused("ACCOUNT_STILL_OWNS_NFTS")
        queries.delete_association(db, account_id, token)


def mint(execution: Execution, content: Message) -> None:
    """Mint NFTs to the treasury, numbered from the token's highest serial number on."""
    db, now = execution.db, execution.now
    token = entity(content.token, "INVALID_TOKEN_ID")
    execution.require_signature(queries.TREASURY)
    if queries.is_deleted(db, token):
        raise Refused("TOKEN_WAS_DELETED")
    if not content.metadata:
        raise Refused("INVALID_TOKEN_MINT_METADATA")
    if len(content.metadata) > MAX_MINTED:
        raise Refused("BATCH_SIZE_LIMIT_EXCEEDED")
    if any(len(metadata) > METADATA_BYTES for metadata in content.metadata):
        raise Refused("METADATA_TOO_LONG")
    highest = queries.get_highest_serial_no(db, token)
    if highest + len(content.metadata) > MAX_INT64:
        raise Refused("SERIAL_NUMBER_LIMIT_REACHED")
    accounts.associate(db, queries.TREASURY, token, now)
    for serial_no, metadata in enumerate(content.metadata, start=highest + 1):
        encoded = base64.b64encode(metadata).decode()
        nft = Nft(token, serial_no, created_at=now, modified_at=now, metadata=encoded)
        nfts.put(db, nft)
        minted = NftTransfer(token, serial_no, "", queries.TREASURY)
        history.write_nft_transaction(db, execution.id, now, "TOKENMINT", minted)
        execution.effects.nft_transfers.append(minted)
