"""The mirror node's REST about tokens: what a collection is, and what its NFTs cost when they are sold."""

from flask import Blueprint

from marketplace import times
from marketplace.sandbox import catalogue
from marketplace.sandbox.ledger import queries
from marketplace.sandbox.mirror import parameters
from marketplace.sandbox.mirror.accounts import shown_key
from marketplace.store.database import read

blp = Blueprint("tokens", __name__)


@blp.get("/tokens/<token>")
def show_token(token):
    parameters.require_known()
    parameters.require_id(token, "tokenid")
    collection = catalogue.collection_of(token)
    created = times.to_consensus(catalogue.GENESIS)
    return {
        "admin_key": None,
        "auto_renew_account": None,
        "auto_renew_period": None,
        "created_timestamp": created,
        "custom_fees": {
            "created_timestamp": created,
            "fixed_fees": [],
            "royalty_fees": [_royalty(royalty) for royalty in collection.royalties],
        },
        "decimals": "0",
        "deleted": queries.get_deleted_token(read(), token) is not None,
        "expiry_timestamp": None,
        "fee_schedule_key": None,
        "freeze_default": False,
        "freeze_key": None,
        "initial_supply": "0",
        "kyc_key": None,
        "max_supply": "0",
        "memo": "",
        "metadata": "",
        "metadata_key": None,
        "modified_timestamp": created,
        "name": collection.name,
        "pause_key": None,
        "pause_status": "NOT_APPLICABLE",
        "supply_key": shown_key(queries.TREASURY),
        "supply_type": "INFINITE",
        "symbol": collection.symbol,
        "token_id": token,
        "total_supply": str(queries.count_nfts_in(read(), token)),
        "treasury_account_id": queries.TREASURY,
        "type": "NON_FUNGIBLE_UNIQUE",
        "wipe_key": None,
    }


def _royalty(royalty: catalogue.Royalty) -> dict:
    fallback = royalty.fallback and {"amount": royalty.fallback, "denominating_token_id": None}
    return {
        "all_collectors_are_exempt": False,
        "amount": {"denominator": royalty.denominator, "numerator": royalty.numerator},
        "collector_account_id": royalty.collector,
        "fallback_fee": fallback,
    }
