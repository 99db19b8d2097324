"""The statements of ``flask export``: all rows of a period, in order."""

from marketplace.store.connection import Connection, count
from marketplace.store.events import DATED

# For each kind: its table, its date column, and its order, which has an index.
_FROM = {
    "sales": (
        "event AS sold LEFT JOIN sale ON sale.event_id = sold.id"
        " LEFT JOIN nft ON nft.token = sold.token AND nft.serial_no = sold.serial_no",
        "sold.consensus_at",
        "sold.consensus_at, sold.id",
    ),
    "listings": ("nft", "last_listed_at", "token, serial_no"),
    "events": ("event", DATED, f"{DATED}, id"),
    "nfts": ("nft", None, "token, serial_no"),
}
_COLUMNS = {
    "sales": """
        sold.consensus_at, sold.transaction_id, sold.token, sold.serial_no, nft.name,
        sold.from_account AS seller, sold.to_account AS buyer, sold.price, sale.part_tinybars, sale.royalties,
        sale.network_tinybars, sale.association_tinybars, sale.rate_cents, sale.rate_hbar, sale.way
    """,
    "listings": "token, serial_no, name, owner, listing_price, last_listed_at",
    "events": """
        id, kind, token, serial_no, from_account, to_account, price, previous_price, transaction_id,
        consensus_at, seen_at, offer_id
    """,
    "nfts": """
        token, serial_no, name, owner, is_for_sale, listing_price, last_listed_at, ledger_at, ledger_state,
        file_type, attributes, original_image_url, metadata, missing
    """,
}
# The columns' names.
NAMES = {
    kind: [column.split()[-1].rpartition(".")[2] for column in columns.split(",")]
    for kind, columns in _COLUMNS.items()
}
DATED_KINDS = tuple(kind for kind, (_, date, _) in _FROM.items() if date)


def select(kind: str, since: str | None, until: str | None) -> str:
    """The statement for all rows of a kind. Its parameters are ``since`` and ``until``."""
    return f"SELECT {_COLUMNS[kind]} FROM {_select(kind, since, until)} ORDER BY {_FROM[kind][2]}"


def count_rows(db: Connection, kind: str, since: str | None, until: str | None) -> int:
    sql = f"SELECT COUNT(*) AS n FROM {_select(kind, since, until)}"
    return count(db, sql, {"since": since, "until": until})


def _select(kind: str, since: str | None, until: str | None) -> str:
    table, date, _ = _FROM[kind]
    conditions = {"sales": ["sold.kind = 'SOLD'"], "listings": ["is_listed = 1"]}.get(kind, [])
    if date and since:
        conditions.append(f"{date} >= :since")
    if date and until:
        conditions.append(f"{date} < :until")
    return f"{table} WHERE {' AND '.join(conditions or ['TRUE'])}"
