"""Transactions of a spec, as the sandbox stores them, and schedules."""

from operator import attrgetter
from typing import Any

from google.protobuf.message import Message
from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    KeyList,
    SignaturePair,
    TokenTransferList,
)
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.hapi.services.transaction_record_pb2 import TransactionRecord

from hiero_sandbox.ledger import queries
from hiero_sandbox.ledger.consensus import HANDLERS
from hiero_sandbox.ledger.envelopes import read_transaction_id
from hiero_sandbox.ledger.records import NOBODY, Recorded
from hiero_sandbox.mirror import rows
from hiero_sandbox.mirror.parameters import to_number
from hiero_sandbox.storage import Connection
from marketplace.hedera import times
from marketplace.hedera.ids import numbers
from marketplace.hedera.transactions import make_account_id, make_timestamp, make_token_id
from stress.rest.values import Inexpressible, Row, read_bytes, read_key, since, to_entity, write

NODE_FEE, NETWORK_FEE, SERVICE_FEE = 2, 1, 4  # of a transaction without transfers of its own
HASH = bytes(range(1, 49))
KINDS = {
    field.number: field.name for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
}


def load_schedule(db: Connection, row: Row, entity: Row) -> None:
    created_at, executed_at = int(row["consensus_timestamp"]), row.get("executed_timestamp")
    creator = make_account_id(to_entity(row.get("creator_account_id", 1024)) or "")
    payer = make_account_id(to_entity(row.get("payer_account_id", 1024)) or "")
    body = TransactionBody(transactionID={"accountID": creator})
    creation = body.scheduleCreate
    creation.memo = entity.get("memo", "entity memo")
    creation.payerAccountID.CopyFrom(payer)
    creation.wait_for_expiry = bool(row.get("wait_for_expiry"))
    if key := read_key(entity.get("key")):
        creation.adminKey.CopyFrom(key)
    expires_at = int(row.get("expiration_time") or 0)
    if expires_at:
        seconds, nanos = divmod(expires_at, times.SECOND)
        creation.expiration_time.seconds, creation.expiration_time.nanos = seconds, nanos
    columns = {
        "creation": body.SerializeToString(),
        "identity": b"",
        "signatories": KeyList().SerializeToString(),
        "created_at": created_at,
        "expires_at": 2**63 - 1,
        "state": "deleted" if entity.get("deleted") else "executed" if executed_at else "open",
        "resolved_at": int(executed_at) if executed_at else None,
    }
    write(db, created_at, "schedule", schedule_id=to_entity(row["schedule_id"]), **columns)


def load_signature(db: Connection, row: Row) -> None:
    field = {3: "ed25519", 6: "ECDSA_secp256k1"}.get(row["type"])
    if field is None:
        raise Inexpressible("signature")
    pair = SignaturePair(pubKeyPrefix=bytes(row["public_key_prefix"]))
    setattr(pair, field, bytes(row["signature"]))
    queries.put(
        db,
        "schedule_signature",
        schedule_id=to_entity(row["entity_id"]),
        consensus_at=int(row["consensus_timestamp"]),
        pair=pair.SerializeToString(),
    )


def load(db: Connection, setup: dict[str, Any]) -> None:
    loaded = [_recorded(row) for row in setup.get("transactions", ())]
    loaded += [_recorded(_transfer(row)) for row in setup.get("cryptotransfers", ())]
    by_time = {_moment(each): each for each in loaded}
    for row in setup.get("stakingRewardTransfers", ()):
        moment = int(row["consensus_timestamp"])
        payer = {"payerAccountId": row.get("payer_account_id", 950)}
        stub = _recorded(payer | {"consensus_timestamp": moment})
        record = by_time.setdefault(moment, stub).record
        record.paid_staking_rewards.add(**_amount(row.get("account_id", 1001), row["amount"]))
    for row in setup.get("assessedcustomfees", ()):
        if recorded := by_time.get(int(row["consensus_timestamp"])):
            unit = row.get("token_id")
            recorded.record.assessed_custom_fees.add(
                amount=int(row["amount"]),
                fee_collector_account_id=_account(row["collector_account_id"]),
                effective_payer_account_id=map(
                    _account, row.get("effective_payer_account_ids", ())
                ),
                token_id=unit and make_token_id(to_entity(unit) or ""),
            )
    for moment, recorded in by_time.items():
        queries.put(
            db,
            "transaction_record",
            consensus_at=moment,
            transaction_id=read_transaction_id(recorded.record.transactionID).dashed,
            hash=recorded.record.transactionHash,
            body=recorded.body.SerializeToString(),
            record=recorded.record.SerializeToString(),
        )
        for nft in setup.get("nfts", ()):
            changed = {"token": to_entity(nft["token_id"]), "serial_no": nft["serial_number"]}
            shown = rows.transaction(recorded)
            is_of_token = shown["entity_id"] == changed["token"]
            is_deletion = shown["name"] == "TOKENDELETION" and is_of_token
            # Those that changed it have the time of its version.
            if is_deletion or since(nft, int(nft.get("created_timestamp") or 0)) == moment:
                queries.put(db, "nft_transaction", **changed, consensus_at=moment)


def _moment(recorded: Recorded) -> int:
    moment = recorded.record.consensusTimestamp
    return int(moment.seconds * times.SECOND + moment.nanos)


def _transfer(row: Row) -> Row:
    sender = row.get("senderAccountId", row.get("payerAccountId"))
    amount = row.get("amount", NODE_FEE)
    changes = [
        (sender, -NETWORK_FEE - int(amount)),
        (row.get("recipientAccountId", row.get("nodeAccountId")), int(amount)),
        (row.get("treasuryAccountId"), NETWORK_FEE),
    ]
    transfers = [{"account": each, "amount": amount} for each, amount in changes if each]
    return {"transfers": transfers, "payerAccountId": sender} | row


def _recorded(row: Row) -> Recorded:
    consensus_at, payer = int(row["consensus_timestamp"]), row.get("payerAccountId")
    content = row.get("transaction_hash")
    record = TransactionRecord(
        receipt={"status": _result(int(row.get("result", 22)))},
        transactionHash=read_bytes(content) if content else HASH,
        consensusTimestamp=make_timestamp(consensus_at),
        transactionID={
            "accountID": _account(payer),
            "transactionValidStart": make_timestamp(
                int(row.get("valid_start_timestamp") or consensus_at - 1)
            ),
            "nonce": row.get("nonce", 0),
            "scheduled": bool(row.get("scheduled")),
        },
        transactionFee=row.get("charged_tx_fee", NODE_FEE + NETWORK_FEE + SERVICE_FEE),
        transferList={"accountAmounts": _amounts(_transfers(row, payer))},
        tokenTransferLists=_token_transfers(row),
        high_volume_pricing_multiplier=row.get("high_volume_pricing_multiplier", 1),
    )
    if parent := row.get("parent_consensus_timestamp"):
        record.parent_consensus_timestamp.CopyFrom(make_timestamp(int(parent)))
    body = _body(row)
    if entity := to_entity(row.get("entity_id")):
        _name(body, record, entity)
    return Recorded(body, record)


def _body(row: Row) -> TransactionBody:
    kind = KINDS.get(int(row.get("type", 14)))
    if kind is None:
        raise Inexpressible("type")
    body = TransactionBody(
        nodeAccountID=_account(row.get("nodeAccountId")),
        transactionFee=int(row.get("max_fee", 33)),
        transactionValidDuration={"seconds": int(row.get("valid_duration_seconds", 11))},
        high_volume=bool(row.get("high_volume")),
        **{kind: {}},
    )
    if key := read_key(row.get("batch_key")):
        body.batch_key.CopyFrom(key)
    for limit in row.get("max_custom_fees") or ():
        made = body.max_custom_fees.add(account_id=_account(limit["accountId"]["accountNum"]))
        for fee in limit.get("fees", ()):
            unit = (fee.get("denominatingTokenId") or {}).get("tokenNum")
            made.fees.add(
                amount=int(fee["amount"]),
                denominating_token_id=unit and make_token_id(to_entity(unit) or ""),
            )
    return body


def _name(body: TransactionBody, record: TransactionRecord, entity: str) -> None:
    """Let a transaction be about an entity, or let it have created it."""
    kind = str(body.WhichOneof("data"))
    handler, (_, _, number) = HANDLERS.get(kind), numbers(entity)
    if handler is None:
        return  # the sandbox does not execute it
    if handler.about:
        _set(getattr(getattr(body, kind), handler.about), number)
    elif handler.creates:
        _set(getattr(record.receipt, handler.creates), number)


def _set(id: Message, number: int) -> None:
    setattr(id, f"{id.DESCRIPTOR.name.removesuffix('ID').lower()}Num", number)


def _account(value: Any) -> Message:
    return make_account_id(to_entity(value) or NOBODY)


def _amount(account_id: Any, amount: Any, is_approval: Any = False) -> dict[str, Any]:
    approved = {"is_approval": bool(is_approval)}
    return {"accountID": _account(account_id), "amount": int(amount)} | approved


def _amounts(listed: list[Row]) -> list[AccountAmount]:
    """Changes of balances, sorted by the numbers of their accounts."""
    made = [
        AccountAmount(**_amount(each["account"], each["amount"], each.get("is_approval")))
        for each in listed
    ]
    return sorted(made, key=attrgetter("accountID.accountNum", "amount"))


def _token_transfers(row: Row) -> list[TokenTransferList]:
    units, nfts = row.get("token_transfer_list") or (), row.get("nft_transfer") or ()
    ids = sorted({to_entity(moved["token_id"]) or "" for moved in units}, key=to_number)
    return [
        TokenTransferList(
            token=make_token_id(each),
            transfers=_amounts([moved for moved in units if to_entity(moved["token_id"]) == each]),
            nftTransfers=[_nft(moved) for moved in nfts if to_entity(moved["token_id"]) == each],
        )
        for each in dict.fromkeys([*ids, *(to_entity(moved["token_id"]) or "" for moved in nfts)])
    ]


def _nft(moved: Row) -> dict[str, Any]:
    return {
        "senderAccountID": _account(moved.get("sender_account_id")),
        "receiverAccountID": _account(moved.get("receiver_account_id")),
        "serialNumber": moved["serial_number"],
        "is_approval": bool(moved.get("is_approval")),
    }


def _result(code: int) -> str:
    try:
        return str(ResponseCodeEnum.Name(code))
    except ValueError as error:
        raise Inexpressible("result") from error


def _transfers(row: Row, payer: Any) -> list[Row]:
    listed: list[Row] = row.get("transfers") or []
    if not listed and row.get("charged_tx_fee", 7) and payer:
        listed = [
            {"account": row.get("nodeAccountId") or 3, "amount": NODE_FEE},
            {"account": 98, "amount": NETWORK_FEE},
            {"account": payer, "amount": -NODE_FEE - NETWORK_FEE},
        ]
    return listed
