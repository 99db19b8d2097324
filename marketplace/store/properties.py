"""The statements about properties of the whole database."""

import secrets

from marketplace.store.connection import Connection

EPOCH = "events_epoch"  # a random word, which changes if the database goes back in time
EXCHANGE_RATE = "exchange_rate"  # JSON of hbar, cents and the date
LAST_SWEEP = "last_sweep"  # when the last sweep that has ended began, as a date
LAST_BACKUP = "last_backup"  # when the last backup began that was completed, as a date
HEARTBEAT = (
    "heartbeat"  # when a watcher last tried to follow a ledger that did not answer, as a date
)
NEWEST_BLOCK = "newest_block"  # the end of the newest block that a watcher has seen, as a date
RULE = "listing_rule"  # the version of the rule by which every stored NFT was judged
SWEEP_RULE = "sweep_rule"  # the version of the rule with which the running sweep began
SIGNER_KEY = "signer_key"  # JSON of market/buying/account_key.py
NETWORK_RESET = (
    "network_reset"  # why the mirror node seems to show another ledger; absent: it does not
)
NODES = "nodes"  # JSON of the accounts of the network's nodes, sorted by number

BALANCE = "balance"  # of the marketplace's account when a watcher last read it, in tinybars
PURCHASES = "purchases"  # without a value: prepared_transactions.lock_purchases() locks its row
VISITORS_SECRET = "visitors_secret"  # signs visitors' tokens, and the console's  # noqa: S105
CONSOLE = "console:"  # and an operator's account: when its session began, or its last one ended, as a date
NODE_ADDRESSES = "node_addresses"  # JSON of the addresses of each of them, by its account


def insert_property(db: Connection, name: str, value: bytes) -> None:
    # The first process to start sets it for all.
    sql = """
        INSERT INTO property (name, value) VALUES (:name, :value)
        ON CONFLICT (name) DO NOTHING
    """
    db.execute(sql, {"name": name, "value": value})


def mark_property(db: Connection, name: str, value: bytes) -> None:
    sql = """
        INSERT INTO property (name, value) VALUES (:name, :value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
    db.execute(sql, {"name": name, "value": value})


def mark_later(db: Connection, name: str, value: bytes) -> bool:
    # A date. Returns whether it is later than the one before.
    sql = """
        INSERT INTO property (name, value) VALUES (:name, :value)
        ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE property.value < excluded.value
    """
    return db.execute(sql, {"name": name, "value": value}).rowcount > 0


def delete_property(db: Connection, name: str) -> None:
    db.execute("DELETE FROM property WHERE name = :name", {"name": name})


def get_property(db: Connection, name: str) -> bytes | None:
    row = db.execute("SELECT value FROM property WHERE name = :name", {"name": name}).fetchone()
    return None if row is None else bytes(row["value"])


def insert_epoch(db: Connection) -> None:
    # The first process to start sets it for all.
    insert_property(db, EPOCH, secrets.token_hex(4).encode())


def mark_epoch(db: Connection) -> None:
    # From now on, earlier cursors are refused.
    mark_property(db, EPOCH, secrets.token_hex(4).encode())
