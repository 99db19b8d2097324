"""Tokens of a spec, who holds them, NFTs, and allowances."""

import base64
from collections.abc import Iterable
from typing import Any

from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee
from hiero_sdk_python.hapi.services.token_create_pb2 import TokenCreateTransactionBody

from hiero_sandbox.ledger import keys, nfts, queries, tokens
from hiero_sandbox.storage import Connection
from marketplace.hedera import times
from marketplace.hedera.transactions import make_account_id, make_token_id
from stress.rest.values import (
    Inexpressible,
    Row,
    is_current,
    public_key,
    read_key,
    since,
    to_entity,
    write,
)


def load_token(db: Connection, row: Row, entity: Row) -> None:
    token, created_at = to_entity(row["token_id"]), int(row.get("created_timestamp") or 0)
    is_fungible = row.get("type", "FUNGIBLE_COMMON") == "FUNGIBLE_COMMON"
    definition = TokenCreateTransactionBody(
        name=row.get("name", "Token name"),
        symbol=row.get("symbol", "YBTJBOAZ"),
        decimals=int(row.get("decimals", 1000)) if is_fungible else 0,
        initialSupply=int(row.get("initial_supply", 1_000_000)) if is_fungible else 0,
        treasury=make_account_id(to_entity(row.get("treasury_account_id", "0.0.98")) or ""),
        freezeDefault=bool(row.get("freeze_default")),
        memo=entity.get("memo", "entity memo"),
        tokenType="FUNGIBLE_COMMON" if is_fungible else "NON_FUNGIBLE_UNIQUE",
        metadata=_metadata(row.get("metadata")),
        adminKey=read_key(entity.get("key")) or public_key(entity.get("public_key")),
        autoRenewPeriod={"seconds": entity.get("auto_renew_period") or 0},
    )
    if renewing := to_entity(entity.get("auto_renew_account_id") or None):
        definition.autoRenewAccount.CopyFrom(make_account_id(renewing))
    for name, (field, _) in tokens.KEYS.items():
        if key := read_key(row.get(f"{name}_key")):
            getattr(definition, field).CopyFrom(key)
    if row.get("pause_status", "NOT_APPLICABLE") != "NOT_APPLICABLE":
        definition.pause_key.MergeFrom(keys.of_bytes(bytes(32)))
    fees_at = created_at
    for schedule in sorted(row.get("custom_fees", ()), key=since):
        fees_at = since(schedule)
        del definition.custom_fees[:]
        definition.custom_fees.extend(_custom_fees(schedule))
        _put_token(db, token, definition, row, created_at, fees_at, since(entity))
    _put_token(db, token, definition, row, created_at, fees_at, since(entity))
    if entity.get("deleted"):
        write(db, 0, "deleted_token", token=token, deleted_at=0)


def _put_token(
    db: Connection, token: Any, definition: Any, row: Row, created: int, fees: int, modified: int
) -> None:
    columns = {
        "definition": definition.SerializeToString(),
        "is_created": 1,
        "is_paused": int(row.get("pause_status") == "PAUSED"),
        "created_at": created,
        "modified_at": max(since(row, created), modified),
        "fees_at": fees,
    }
    write(db, max(fees, since(row, created)), "token", token=token, **columns)


def _metadata(content: Any) -> bytes:
    return content.encode() if isinstance(content, str) else bytes(content or ())


def _custom_fees(schedule: Row) -> Iterable[CustomFee]:
    for name, kind, read in (
        ("fixed_fees", "fixed_fee", _fixed_fee),
        ("fractional_fees", "fractional_fee", _fractional_fee),
        ("royalty_fees", "royalty_fee", _royalty_fee),
    ):
        for fee in schedule.get(name) or ():
            yield CustomFee(
                fee_collector_account_id=make_account_id(
                    to_entity(fee.get("collector_account_id", "0.0.300")) or ""
                ),
                all_collectors_are_exempt=fee.get("all_collectors_are_exempt", False),
                **{kind: read(fee)},
            )


def _fixed_fee(fee: Row) -> Row:
    unit = to_entity(fee.get("denominating_token_id"))
    return {"amount": int(fee["amount"])} | (
        {"denominating_token_id": make_token_id(unit)} if unit else {}
    )


def _part(fee: Row) -> Row:
    return {name: int(fee[name]) for name in ("numerator", "denominator")}


def _fractional_fee(fee: Row) -> Row:
    return {
        "fractional_amount": _part(fee),
        "minimum_amount": int(fee.get("minimum_amount", 0)),
        "maximum_amount": int(fee.get("maximum_amount") or 0),
        "net_of_transfers": fee.get("net_of_transfers", False),
    }


def _royalty_fee(fee: Row) -> Row:
    fallback = fee.get("fallback_fee")
    return {"exchange_value_fraction": _part(fee)} | (
        {"fallback_fee": _fixed_fee(fallback)} if fallback else {}
    )


def load_association(db: Connection, row: Row) -> None:
    account_id, token = to_entity(row["account_id"]), to_entity(row["token_id"])
    found = tokens.get(db, token or "")
    if not row.get("associated", True) or not is_current(row):
        return
    columns = {
        "is_automatic": int(bool(row.get("automatic_association"))),
        "created_at": int(row.get("created_timestamp") or 0),
        "is_frozen": int(row["freeze_status"] == 1),
        "is_kyc_granted": int(row["kyc_status"] != 2),
    }
    for status, key in (("freeze_status", "freezeKey"), ("kyc_status", "kycKey")):
        if row[status] and found and not found.definition.HasField(key):
            getattr(found.definition, key).CopyFrom(keys.of_bytes(bytes(32)))
            tokens.put(db, found)
    write(db, times.now(), "association", account_id=account_id, token=token, **columns)
    if found is None or found.is_fungible or row.get("balance"):
        balance = row.get("balance", 0)
        write(db, times.now(), "holding", account_id=account_id, token=token, balance=balance)


def load_nft(db: Connection, row: Row) -> None:
    if row.get("deleted") and row.get("account_id"):
        raise Inexpressible("a deleted NFT has no owner")
    created_at = int(row.get("created_timestamp") or 0)
    owner = to_entity(row.get("account_id", "0.0.0"))
    changed = nfts.Nft(
        to_entity(row["token_id"]) or "",
        row["serial_number"],
        queries.NOBODY if row.get("deleted") else owner or queries.NOBODY,
        to_entity(row.get("spender")),
        created_at,
        since(row, created_at),
        base64.b64encode(_metadata(row.get("metadata", "\\x"))).decode(),
        to_entity(row.get("delegating_spender")),
    )
    write(db, times.now(), "nft", **changed._asdict())


def load_allowance(db: Connection, row: Row) -> None:
    token = to_entity(row.get("token_id"))
    columns = {
        "owner": to_entity(row.get("owner", 1000)),
        "spender": to_entity(row.get("spender", 2000)),
        "token": token or "",
        "amount": row.get("amount", 0),
        "granted": row.get("amount_granted", 0),
        "approved_at": since(row),
    }
    write(db, times.now(), "allowance", **columns)
