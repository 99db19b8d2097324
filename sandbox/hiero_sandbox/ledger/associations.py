"""Transactions about an account and a token: association, dissociation, freeze, KYC."""

from functools import partial

from hiero_sdk_python.hapi.services.token_associate_pb2 import TokenAssociateTransactionBody
from hiero_sdk_python.hapi.services.token_dissociate_pb2 import TokenDissociateTransactionBody
from hiero_sdk_python.hapi.services.token_freeze_account_pb2 import (
    TokenFreezeAccountTransactionBody,
)
from hiero_sdk_python.hapi.services.token_grant_kyc_pb2 import TokenGrantKycTransactionBody
from hiero_sdk_python.hapi.services.token_revoke_kyc_pb2 import TokenRevokeKycTransactionBody
from hiero_sdk_python.hapi.services.token_unfreeze_account_pb2 import (
    TokenUnfreezeAccountTransactionBody,
)

from hiero_sandbox.ledger import accounts, queries, tokens
from hiero_sandbox.ledger.envelopes import Refused, refuse_if, write_id
from hiero_sandbox.ledger.execution import Execution, Handler, entity
from hiero_sandbox.ledger.network_fees import ASSOCIATION, Fee
from hiero_sandbox.ledger.token_transactions import issued
from hiero_sandbox.storage import Connection

Restriction = (
    TokenFreezeAccountTransactionBody
    | TokenUnfreezeAccountTransactionBody
    | TokenGrantKycTransactionBody
    | TokenRevokeKycTransactionBody
)


def check(content: TokenAssociateTransactionBody | TokenDissociateTransactionBody) -> None:
    """Check what a node checks before consensus."""
    entity(content.account, "INVALID_ACCOUNT_ID")
    tokens = [entity(token, "INVALID_TOKEN_ID") for token in content.tokens]
    refuse_if(len(set(tokens)) < len(tokens), "TOKEN_ID_REPEATED_IN_TOKEN_LIST")


def check_restriction(content: Restriction) -> None:
    """Check what a node checks before consensus."""
    entity(content.token, "INVALID_TOKEN_ID")
    entity(content.account, "INVALID_ACCOUNT_ID")


def associate(execution: Execution, content: TokenAssociateTransactionBody) -> None:
    account_id = write_id(content.account)
    execution.require_signature(account_id)
    accounts.require_usable(execution.db, account_id)
    for token in map(write_id, content.tokens):
        tokens.get_usable(execution.db, token)
        if accounts.is_associated(execution.db, account_id, token):
            raise Refused("TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
        accounts.associate(execution.db, account_id, token, execution.now)


def dissociate(execution: Execution, content: TokenDissociateTransactionBody) -> None:
    """End an account's associations with tokens. The account signs, and must hold none of them."""
    db, account_id = execution.db, write_id(content.account)
    execution.require_signature(account_id)
    accounts.require_usable(db, account_id)
    for token in map(write_id, content.tokens):
        found = tokens.get(db, token)
        if found is None:
            raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
        refuse_if(account_id == found.treasury, "ACCOUNT_IS_TREASURY")
        accounts.require_associated(db, account_id, token)
        if not queries.is_deleted(db, token):
            _require_nothing_left(db, account_id, token)
        queries.delete(db, "association", account_id=account_id, token=token)


def _require_nothing_left(db: Connection, account_id: str, token: str) -> None:
    tokens.get_usable(db, token)
    association = accounts.get_association(db, account_id, token)
    refuse_if(association and association["is_frozen"], "ACCOUNT_FROZEN_FOR_TOKEN")
    units = queries.count_units_of(db, account_id, token)
    refuse_if(units, "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    refuse_if(queries.count(db, "nft", owner=account_id, token=token), "ACCOUNT_STILL_OWNS_NFTS")


def restrict(execution: Execution, content: Restriction, *, key: str, **flag: int) -> None:
    """Freeze an account for a token, grant its KYC, or undo that. A key of the token must sign.

    Of an account that is frozen, only that changes.
    """
    db, account_id = execution.db, write_id(content.account)
    token = issued(execution, content.token, key)
    accounts.require_usable(db, account_id)
    association = accounts.get_association(db, account_id, token.token)
    if association is None:
        raise Refused("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    is_thaw = flag == {"is_frozen": 0}
    refuse_if(association["is_frozen"] and not is_thaw, "ACCOUNT_FROZEN_FOR_TOKEN")
    queries.put(db, "association", **dict(association) | flag)


FEE = Fee(ASSOCIATION, listed=ASSOCIATION)
HANDLERS = {
    "tokenAssociate": Handler(
        associate,
        check,
        FEE._replace(has_high_volume=True),
        about="account",
        function="TokenAssociateToAccount",
    ),
    "tokenDissociate": Handler(
        dissociate, check, FEE, about="account", function="TokenDissociateFromAccount"
    ),
    "tokenFreeze": Handler(
        partial(restrict, key="freeze", is_frozen=1),
        check_restriction,
        about="token",
        function="TokenFreezeAccount",
    ),
    "tokenGrantKyc": Handler(
        partial(restrict, key="kyc", is_kyc_granted=1),
        check_restriction,
        about="token",
        function="TokenGrantKycToAccount",
    ),
    "tokenRevokeKyc": Handler(
        partial(restrict, key="kyc", is_kyc_granted=0),
        check_restriction,
        about="token",
        function="TokenRevokeKycFromAccount",
    ),
    "tokenUnfreeze": Handler(
        partial(restrict, key="freeze", is_frozen=0),
        check_restriction,
        about="token",
        function="TokenUnfreezeAccount",
    ),
}
