"""Rejections: an owner gives tokens back to their treasuries. No custom fees are due.

Source: TokenRejectHandler of https://github.com/hiero-ledger/hiero-consensus-node.
"""

from google.protobuf.message import Message

from marketplace.sandbox.ledger import accounts, nfts, queries, tokens
from marketplace.sandbox.ledger.account_transactions import resolve
from marketplace.sandbox.ledger.envelopes import refuse_if, write_id
from marketplace.sandbox.ledger.execution import Execution, entity

MAX_REJECTIONS = 10


def check(content: Message) -> None:
    """Check what a node checks before consensus."""
    refuse_if(not content.rejections, "EMPTY_TOKEN_REFERENCE_LIST")
    references = {rejection.SerializeToString() for rejection in content.rejections}
    refuse_if(len(references) < len(content.rejections), "TOKEN_REFERENCE_REPEATED")
    for rejection in content.rejections:
        if rejection.HasField("nft"):
            entity(rejection.nft.token_ID, "INVALID_NFT_ID")
            refuse_if(rejection.nft.serial_number < 1, "INVALID_TOKEN_NFT_SERIAL_NUMBER")
        else:
            entity(rejection.fungible_token, "INVALID_TOKEN_ID")


def reject(execution: Execution, content: Message) -> None:
    if not content.HasField("owner"):
        content.owner.CopyFrom(execution.signed.body.transactionID.accountID)
    resolve(execution, content.owner, may_create=False)
    owner = entity(content.owner, "INVALID_OWNER_ID")
    execution.require_signature(owner)
    refuse_if(len(content.rejections) > MAX_REJECTIONS, "TOKEN_REFERENCE_LIST_SIZE_LIMIT_EXCEEDED")
    for rejection in content.rejections:
        _reject(execution, rejection, owner)


def _reject(execution: Execution, rejection: Message, owner: str) -> None:
    db, asked = execution.db, rejection.nft
    is_nft = rejection.HasField("nft")
    token_id = write_id(asked.token_ID if is_nft else rejection.fungible_token)
    nft = nfts.require(nfts.find(db, token_id, asked.serial_number)) if is_nft else None
    treasury = tokens.get_usable(db, token_id).treasury
    refuse_if(treasury == owner, "ACCOUNT_IS_TREASURY")
    if nft:
        refuse_if(nft.owner != owner, "INVALID_OWNER_ID")
        tokens.require_unrestricted(db, token_id, owner, treasury)
        execution.move_nft(nft, treasury)
    else:
        accounts.require_associated(db, owner, token_id)
        amount = queries.count_units_of(db, owner, token_id)
        refuse_if(amount == 0, "INSUFFICIENT_TOKEN_BALANCE")
        execution.move({(owner, token_id): -amount, (treasury, token_id): amount})
