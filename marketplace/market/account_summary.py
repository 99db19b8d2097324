"""What an account owns, sold and bought: in all, and by collection."""

from typing import Any

from marketplace.store import accounts
from marketplace.store.database import read

MAX_COLLECTIONS = 1000
COUNTS = ("nfts", "listed", "sales", "sales_volume", "purchases", "purchases_volume")


def summarize(account_id: str) -> dict[str, Any]:
    db = read()
    found: dict[str, dict[str, Any]] = {}

    def of(row: Any) -> dict[str, Any]:
        about = {name: row[name] for name in ("token", "name", "floor_price")}
        return found.setdefault(row["token"], about | dict.fromkeys(COUNTS, 0))

    for held in accounts.list_holdings(db, account_id):
        of(held).update(nfts=held["nfts"], listed=held["listed"])
    for sold in accounts.list_traded(db, "from_account", account_id):
        of(sold).update(sales=sold["number"], sales_volume=sold["volume"])
    for bought in accounts.list_traded(db, "to_account", account_id):
        of(bought).update(purchases=bought["number"], purchases_volume=bought["volume"])
    rows = sorted(found.values(), key=lambda row: (-row["nfts"], row["token"]))
    return {
        "account_id": account_id,
        "floor_value": sum(row["nfts"] * (row["floor_price"] or 0) for row in rows),
        "collections": rows[:MAX_COLLECTIONS],
    } | {name: sum(row[name] for row in rows) for name in COUNTS}
