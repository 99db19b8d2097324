"""Accounts of a spec, and their balances at some times."""

import base64
from collections.abc import Iterable
from typing import Any

from hiero_sandbox.ledger import queries, tokens
from hiero_sandbox.ledger.accounts import Account
from hiero_sandbox.storage import Connection
from marketplace.hedera import times
from stress.rest.values import (
    Inexpressible,
    Row,
    id_of,
    is_current,
    public_key,
    read_key,
    since,
    to_entity,
    write,
)

PUBLIC_KEY = (
    "4a5ad514f0957fa170a676210c9bdbddf3bc9519702cf915fa6767a40463b96f"  # of an account without one
)


def load(db: Connection, setup: dict[str, Any], *, is_list: bool) -> None:
    contracts = [{"memo": "contract memo"} | row for row in setup.get("contracts", ())]
    entities = [
        {"public_key": None} | row
        for row in setup.get("entities", ())
        if row.get("type", "ACCOUNT") in ("ACCOUNT", "CONTRACT")
    ]
    rows = [*setup.get("accounts", ()), *contracts, *entities]
    rows = [row for row in rows if "synthetic treasury" not in row.get("memo", "")]
    rewards = {
        to_entity(row["id"]): {"pending_reward": row["pending_reward"]}
        for row in filter(is_current, setup.get("entityStakes", ()))
    }
    versions: dict[str | None, list[Row]] = {}
    for row in sorted(rows, key=since):
        account_id = id_of(row)
        versions.setdefault(account_id, []).append(row | rewards.get(account_id, {}))
    snapshots = sorted(setup.get("balances", ()), key=lambda row: int(row.get("timestamp", 0)))
    has_snapshot = {to_entity(row["id"]) for row in snapshots}
    for account_id, versions_of in versions.items():
        if not (is_list and account_id in has_snapshot):
            for row in versions_of:
                write(db, since(row), "account", **_account(row, account_id))
        for alias in _aliases(versions_of[-1]):
            if queries.get(db, "alias", alias=alias):
                raise Inexpressible("an alias is of one account")
            write(db, 0, "alias", alias=alias, account_id=account_id)
    for snapshot in snapshots:
        moment, account_id = int(snapshot["timestamp"]), to_entity(snapshot["id"])
        known = [row for row in versions.get(account_id, ()) if since(row) <= moment]
        columns = _account(known[-1] if known else {}, account_id)
        if known or is_list:
            write(db, moment, "account", **columns | {"balance": snapshot["balance"]})
        for held in snapshot.get("tokens", ()):
            _hold(db, moment, account_id, to_entity(held["token_num"]), held["balance"])
    for row in setup.get("tokenBalance", ()):
        account_id, token = to_entity(row["account_id"]), to_entity(row["token_id"])
        _hold(db, int(row["consensus_timestamp"]), account_id, token, row["balance"])
    db.execute("UPDATE clock SET now = ?", (times.now(),))
    for table in ("account", "association", "holding"):
        queries.delete(db, table)  # what the snapshots had
    for account_id, versions_of in versions.items():
        if is_current(versions_of[-1]):
            write(db, times.now(), "account", **_account(versions_of[-1], account_id))


def _hold(db: Connection, moment: int, account_id: Any, token: Any, balance: int) -> None:
    write(db, moment, "holding", account_id=account_id, token=token, balance=balance)
    columns = {"is_automatic": 0, "created_at": 0}
    write(db, moment, "association", account_id=account_id, token=token, **columns)


def _account(row: Row, account_id: str | None) -> Row:
    expires_at = row.get("expiration_timestamp")
    node = row.get("staked_node_id", -1)
    known = read_key(row.get("key")) or public_key(row.get("public_key", PUBLIC_KEY))
    staked_account = to_entity(row.get("staked_account_id") or None)
    is_of_node = node is not None and node != -1
    if is_of_node and staked_account:
        raise Inexpressible("an account stakes to one")
    return Account(
        account_id or "",
        key=known and known.SerializeToString().hex(),
        balance=row.get("balance") or 0,
        automatic_associations=row.get("max_automatic_token_associations") or 0,
        memo=row.get("memo", "entity memo"),
        is_receiver_signature_required=int(bool(row.get("receiver_sig_required"))),
        created_at=int(row.get("created_timestamp") or 0),
        pending_reward=row.get("pending_reward", 0),
        staked_account=staked_account,
        staked_node=node if is_of_node else None,
        declines_reward=int(bool(row.get("decline_reward"))),
        is_deleted=int(bool(row.get("deleted"))),
        renewal_seconds=int(row.get("auto_renew_period") or tokens.LIFE_SECONDS),
        expires_at=int(expires_at) if expires_at else None,
    )._asdict()


def _aliases(row: Row) -> Iterable[bytes]:
    if alias := row.get("alias"):
        yield base64.b32decode(alias + "=" * (-len(alias) % 8))
    if address := row.get("evm_address"):
        yield (
            bytes.fromhex(address.removeprefix("0x"))
            if isinstance(address, str)
            else bytes(address)
        )
