"""What an account owns, sold and bought: in all, and by collection."""

from typing import Any

from marketplace.services import read
from marketplace.store.accounts import COUNTS, list_account_collections

MAX_COLLECTIONS = 1000


def summarize(account_id: str) -> dict[str, Any]:
    rows = list_account_collections(read(), account_id, MAX_COLLECTIONS)
    totals: dict[str, Any] = {**rows[0]} if rows else {}
    return {
        "account_id": account_id,
        "floor_value": totals.get("floor_value", 0),
        "collections": rows,
    } | {name: totals.get(f"all_{name}", 0) for name in COUNTS}
