"""The mirror node's tokens: collections, and their custom fees."""

from flask import Blueprint

from marketplace import times
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import accounts, custom_fees, keys, queries
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.parameters import Document
from marketplace.store.database import read

RENEWAL_SECONDS = 7_776_000

ABSENT_KEYS = ("admin", "fee_schedule", "freeze", "kyc", "metadata", "pause", "wipe")

blp = Blueprint("tokens", __name__)


@blp.get("/tokens/<token>")
def show_token(token: str) -> Document:
    parameters.require_known()
    parameters.require_id(token, "tokenid")
    collection = catalogue.collection_of(token)
    schedule = custom_fees.schedule_of(read(), token)
    created = times.to_consensus(catalogue.GENESIS)
    is_fungible = queries.is_fungible(read(), token)
    return {f"{name}_key": None for name in ABSENT_KEYS} | {
        "auto_renew_account": None,
        "auto_renew_period": RENEWAL_SECONDS,
        "created_timestamp": created,
        "custom_fees": {
            "created_timestamp": times.to_consensus(schedule.since),
            "fixed_fees": [_fixed_fee(fee) for fee in schedule.fixed],
            "royalty_fees": [_royalty(royalty) for royalty in schedule.royalties],
        },
        "decimals": "0",
        "deleted": queries.is_deleted(read(), token),
        "expiry_timestamp": catalogue.GENESIS + RENEWAL_SECONDS * times.SECOND,
        "freeze_default": False,
        "initial_supply": "0",
        "max_supply": "0",
        "memo": "",
        "metadata": "",
        "modified_timestamp": created,
        "name": collection.name,
        "pause_status": "NOT_APPLICABLE",
        "supply_key": keys.shown(accounts.key(read(), queries.TREASURY)),
        "supply_type": "INFINITE",
        "symbol": collection.symbol,
        "token_id": token,
        "total_supply": str(queries.count_nfts(read(), token)),
        "treasury_account_id": queries.TREASURY,
        "type": "FUNGIBLE_COMMON" if is_fungible else "NON_FUNGIBLE_UNIQUE",
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
