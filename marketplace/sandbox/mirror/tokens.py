"""The mirror node's tokens: collections, and their custom fees."""

import base64

from flask import Blueprint

from marketplace import times
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import custom_fees, keys, queries, tokens
from marketplace.sandbox.ledger.envelopes import write_id
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document
from marketplace.store.database import read

blp = Blueprint("tokens", __name__)


@blp.get("/tokens/<token>")
def show_token(token: str) -> Document:
    parameters.require_known()
    parameters.require_id(token, "tokenid")
    found = tokens.find(read(), token)
    schedule = custom_fees.schedule_of(read(), token)
    definition, pause_key = found.definition, found.key("pause")
    paused = "PAUSED" if found.is_paused else "UNPAUSED"
    renewal = definition.autoRenewPeriod.seconds
    expiry = definition.expiry.seconds * times.SECOND + definition.expiry.nanos
    fees = {
        "created_timestamp": times.to_consensus(schedule.since),
        "fixed_fees": [_fixed_fee(fee) for fee in schedule.fixed],
    }
    name = "fractional_fees" if found.is_fungible else "royalty_fees"
    fees[name] = [_royalty(royalty) for royalty in schedule.royalties]
    has_renewal = definition.HasField("autoRenewAccount")
    return {f"{key}_key": keys.shown(found.key(key)) for key in tokens.KEYS} | {
        "auto_renew_account": write_id(definition.autoRenewAccount) if has_renewal else None,
        "auto_renew_period": renewal,
        "created_timestamp": times.to_consensus(found.created_at),
        "custom_fees": fees,
        "decimals": str(definition.decimals),
        "deleted": queries.is_deleted(read(), token),
        "expiry_timestamp": expiry or found.created_at + renewal * times.SECOND,
        "freeze_default": definition.freezeDefault,
        "initial_supply": str(definition.initialSupply),
        "max_supply": str(definition.maxSupply),
        "memo": definition.memo,
        "metadata": base64.b64encode(definition.metadata).decode(),
        "modified_timestamp": times.to_consensus(found.modified_at),
        "name": definition.name,
        "pause_status": paused if pause_key else "NOT_APPLICABLE",
        "supply_type": "FINITE" if definition.maxSupply else "INFINITE",
        "symbol": definition.symbol,
        "token_id": token,
        "total_supply": str(tokens.supply(read(), found)),
        "treasury_account_id": found.treasury,
        "type": "FUNGIBLE_COMMON" if found.is_fungible else "NON_FUNGIBLE_UNIQUE",
    }


def _fixed_fee(fee: custom_fees.FixedFee) -> Document:
    return {
        "all_collectors_are_exempt": fee.spares_collectors,
        "amount": fee.amount,
        "collector_account_id": fee.collector,
        "denominating_token_id": fee.token,
    }


def _royalty(royalty: catalogue.Royalty) -> Document:
    fallback = royalty.fallback and {"amount": royalty.fallback, "denominating_token_id": None}
    return {
        "all_collectors_are_exempt": royalty.spares_collectors,
        "amount": {"denominator": royalty.denominator, "numerator": royalty.numerator},
        "collector_account_id": royalty.collector,
        "fallback_fee": fallback,
    }
