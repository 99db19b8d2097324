"""The mirror node's tokens: collections, and their custom fees."""

import base64
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from flask import Blueprint, request
from hiero_sdk_python.hapi.services.custom_fees_pb2 import FixedFee, FractionalFee, RoyaltyFee
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import keys, queries, tokens
from hiero_sandbox.ledger.custom_fees import unit_of
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.mirror import pages, parameters, past
from hiero_sandbox.mirror.parameters import Document

UP_TO = r"((eq|lte?):)?[0-9]{1,10}(\.[0-9]{1,9})?"  # a time of the past

IDS = {"token": (parameters.parse_entity, "tokenid")}
blp = Blueprint("tokens", __name__)


@blp.get("/tokens")
@parameters.cached(10)
def list_tokens() -> Document:
    """List tokens that were created or that somebody holds; account.id, name, publickey, token.id, type."""
    columns, others = {"token.id": "token_id"}, ("account.id", "name", "publickey")
    type = "all|fungible_common|non_fungible_unique"
    page = pages.page("tokens", _asked(), dict, columns, "asc", others, type=type)
    return page | ({"links": {"next": None}} if "name" in request.args else {})


def _asked() -> Iterator[Document]:
    """The tokens with the account, the type, the admin key and the name that are asked for."""
    types = {value.upper() for value in request.args.getlist("type")} - {"ALL"}
    names = [value.removeprefix("eq:").lower() for value in request.args.getlist("name")]
    for token in _tokens_of_account():
        found = tokens.find(read(), token)
        has_name = all(name in found.definition.name.lower() for name in names)
        is_of_key = parameters.is_of_key(found.key("admin"), "publickey")
        if types <= {_type(found)} and has_name and is_of_key:
            yield _summary(found)


def _tokens_of_account() -> list[str]:
    """The tokens that an account is associated with, if one is asked for; otherwise all tokens."""
    if "name" in request.args and "token.id" in request.args:
        message = "token.id and name can not be used together. Use a more specific name instead."
        raise parameters.Invalid(message)
    if "account.id" not in request.args:
        return queries.list_tokens(read())
    if "name" in request.args:
        raise parameters.Invalid("account.id and name cannot be used together")
    named = parameters.number_filter("account.id").named
    if len(named) != 1:
        raise parameters.invalid("account.id")
    rows = queries.list_associations(read(), parameters.to_id(min(named)))
    return [row["token"] for row in rows]


def _type(token: tokens.Token) -> str:
    return "FUNGIBLE_COMMON" if token.is_fungible else "NON_FUNGIBLE_UNIQUE"


def _summary(token: tokens.Token) -> Document:
    definition = token.definition
    return {
        "admin_key": keys.shown(token.key("admin")),
        "decimals": definition.decimals,
        "metadata": base64.b64encode(definition.metadata).decode(),
        "name": definition.name,
        "symbol": definition.symbol,
        "token_id": token.token,
        "type": _type(token),
    }


@blp.get("/tokens/<token>")
@parameters.cached(5)
def show_token(token: str) -> Document:
    """Show a token, with its custom fees; timestamp."""
    parameters.require_known(timestamp=UP_TO)
    parameters.keep_last(past.NAME)
    past.look_back()
    found = tokens.find(read(), token)
    modified_at = max(found.modified_at, queries.get_deleted_at(read(), token))
    definition, paused = found.definition, "PAUSED" if found.is_paused else "UNPAUSED"
    renewal = definition.autoRenewPeriod.seconds
    other_fees = {"royalty_fees": _fees(definition, "royalty_fee", _royalty)}
    if found.is_fungible:
        shown = _fees(definition, "fractional_fee", partial(_fractional, token=token))
        other_fees = {"fractional_fees": shown}
    has_renewal = definition.HasField("autoRenewAccount")
    key_names = {f"{key}_key": keys.shown(found.key(key)) for key in tokens.KEYS}
    return {
        **_summary(found),
        **key_names,
        "auto_renew_account": write_id(definition.autoRenewAccount) if has_renewal else None,
        "auto_renew_period": renewal,
        "created_timestamp": times.to_consensus(found.created_at),
        "custom_fees": {
            "created_timestamp": times.to_consensus(found.fees_at),
            "fixed_fees": _fees(definition, "fixed_fee", _fixed_fee),
            **other_fees,
        },
        "decimals": str(definition.decimals),
        "deleted": queries.is_deleted(read(), token),
        "expiry_timestamp": found.expiry,
        "freeze_default": definition.freezeDefault,
        "initial_supply": str(definition.initialSupply),
        "max_supply": str(definition.maxSupply),
        "memo": definition.memo,
        "modified_timestamp": times.to_consensus(modified_at),
        "pause_status": paused if found.key("pause") else "NOT_APPLICABLE",
        "supply_type": "FINITE" if definition.maxSupply else "INFINITE",
        "total_supply": str(tokens.supply(read(), found)),
        "treasury_account_id": found.treasury,
    }


def _fees(
    definition: TokenCreateTransactionBody, kind: str, show: Callable[[Any], Document]
) -> list[Document]:
    return [
        show(getattr(fee, kind))
        | {
            "all_collectors_are_exempt": fee.all_collectors_are_exempt,
            "collector_account_id": write_id(fee.fee_collector_account_id),
        }
        for fee in definition.custom_fees
        if fee.HasField(kind)
    ]


def _fixed_fee(fee: FixedFee) -> Document:
    return {"amount": fee.amount, "denominating_token_id": unit_of(fee)}


def _fractional(fee: FractionalFee, token: str) -> Document:
    part = fee.fractional_amount
    return {
        "amount": {"denominator": part.denominator, "numerator": part.numerator},
        "denominating_token_id": token,
        "maximum": fee.maximum_amount or None,
        "minimum": fee.minimum_amount,
        "net_of_transfers": fee.net_of_transfers,
    }


def _royalty(royalty: RoyaltyFee) -> Document:
    part = royalty.exchange_value_fraction
    fallback = royalty.fallback_fee if royalty.HasField("fallback_fee") else None
    return {
        "amount": {"denominator": part.denominator, "numerator": part.numerator},
        "fallback_fee": fallback and _fixed_fee(fallback),
    }
