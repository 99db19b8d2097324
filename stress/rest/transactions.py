"""Transactions of a spec, as the sandbox stores them, and schedules."""

import base64
import json
from typing import Any

from hiero_sdk_python.hapi.services.basic_types_pb2 import KeyList, SignaturePair
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox.database import Connection
from hiero_sandbox.ledger import keys, queries
from hiero_sandbox.ledger.envelopes import TYPES
from hiero_sandbox.mirror.parameters import to_number
from marketplace.hedera import times
from marketplace.hedera.messages import account as account_id_of
from stress.rest.values import Inexpressible, Row, read_bytes, read_key, since, to_entity, write

NODE_FEE, NETWORK_FEE, SERVICE_FEE = 2, 1, 4  # of a transaction without transfers of its own
HASH = bytes(range(1, 49))
KINDS = {
    field.number: TYPES[field.name]
    for field in TransactionBody.DESCRIPTOR.oneofs_by_name["data"].fields
}


def load_schedule(db: Connection, row: Row, entity: Row) -> None:
    created_at, executed_at = int(row["consensus_timestamp"]), row.get("executed_timestamp")
    creator = account_id_of(to_entity(row.get("creator_account_id", 1024)) or "")
    payer = account_id_of(to_entity(row.get("payer_account_id", 1024)) or "")
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
    documents = [_document(row) for row in setup.get("transactions", ())]
    documents += [_document(_transfer(row)) for row in setup.get("cryptotransfers", ())]
    by_time = {document["consensus_timestamp"]: document for document in documents}
    for row in setup.get("stakingRewardTransfers", ()):
        moment = times.to_consensus(int(row["consensus_timestamp"]))
        payer = {"payerAccountId": row.get("payer_account_id", 950)}
        stub = _document(payer | {"consensus_timestamp": row["consensus_timestamp"]})
        reward = {"account": to_entity(row.get("account_id", 1001)), "amount": row["amount"]}
        by_time.setdefault(moment, stub)["staking_reward_transfers"].append(reward)
    for row in setup.get("assessedcustomfees", ()):
        fee = {
            "amount": int(row["amount"]),
            "collector_account_id": to_entity(row["collector_account_id"]),
            "effective_payer_account_ids": [
                to_entity(each) for each in row.get("effective_payer_account_ids", ())
            ],
            "token_id": to_entity(row.get("token_id")),
        }
        document = by_time.get(times.to_consensus(int(row["consensus_timestamp"])), {})
        document.setdefault("assessed_custom_fees", []).append(fee)
    for document in by_time.values():
        moment = times.from_consensus(document["consensus_timestamp"])
        queries.put(
            db,
            "transaction_record",
            consensus_at=moment,
            transaction_id=document["transaction_id"],
            document=json.dumps(document),
            record=b"",
        )
        for nft in setup.get("nfts", ()):
            token, serial_no = to_entity(nft["token_id"]), nft["serial_number"]
            is_deletion = document["name"] == "TOKENDELETION" and document["entity_id"] == token
            if is_deletion or since(nft, int(nft.get("created_timestamp") or 0)) == moment:
                _load_history(db, document, token, serial_no, moment)


def _load_history(
    db: Connection, document: Row, token: str | None, serial_no: int, moment: int
) -> None:
    """Write what a transaction did to an NFT: those that changed it have the time of its version."""
    unmoved = {"is_approval": False, "receiver_account_id": None, "sender_account_id": None}
    moved = [
        {name: nft[name] for name in unmoved}
        for nft in document["nft_transfers"]
        if (nft["token_id"], nft["serial_number"]) == (token, serial_no)
    ]
    entry = {
        "consensus_timestamp": document["consensus_timestamp"],
        "nonce": document["nonce"],
        "transaction_id": document["transaction_id"],
        "type": document["name"],
    } | (moved[0] if moved else unmoved)
    queries.put(
        db,
        "nft_transaction",
        token=token,
        serial_no=serial_no,
        consensus_at=moment,
        document=json.dumps(entry),
    )


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


def _document(row: Row) -> Row:
    consensus_at = int(row["consensus_timestamp"])
    started_at = int(row.get("valid_start_timestamp") or consensus_at - 1)
    start = times.to_consensus(started_at)
    payer, kind = to_entity(row.get("payerAccountId")), int(row.get("type", 14))
    parent, batch_key = row.get("parent_consensus_timestamp"), read_key(row.get("batch_key"))
    content = row.get("transaction_hash")
    return {
        "batch_key": keys.shown(batch_key),
        "bytes": None,
        "charged_tx_fee": row.get("charged_tx_fee", NODE_FEE + NETWORK_FEE + SERVICE_FEE),
        "consensus_timestamp": times.to_consensus(consensus_at),
        "entity_id": to_entity(row.get("entity_id")),
        "high_volume": bool(row.get("high_volume")),
        "high_volume_pricing_multiplier": row.get("high_volume_pricing_multiplier", 1),
        "max_custom_fees": [
            {
                "account_id": to_entity(limit["accountId"]["accountNum"]),
                "amount": int(fee["amount"]),
                "denominating_token_id": to_entity(
                    (fee.get("denominatingTokenId") or {}).get("tokenNum")
                ),
            }
            for limit in row.get("max_custom_fees") or ()
            for fee in limit.get("fees", ())
        ],
        "max_fee": str(row.get("max_fee", 33)),
        "memo_base64": None,
        "name": KINDS.get(kind, "UNKNOWN"),
        "nft_transfers": [
            {
                "is_approval": bool(moved.get("is_approval")),
                "receiver_account_id": to_entity(moved.get("receiver_account_id")),
                "sender_account_id": to_entity(moved.get("sender_account_id")),
                "serial_number": moved["serial_number"],
                "token_id": to_entity(moved["token_id"]),
            }
            for moved in row.get("nft_transfer") or ()
        ],
        "node": to_entity(row.get("nodeAccountId")),
        "nonce": row.get("nonce", 0),
        "parent_consensus_timestamp": times.to_consensus(int(parent)) if parent else None,
        "result": _result(int(row.get("result", 22))),
        "scheduled": bool(row.get("scheduled")),
        "staking_reward_transfers": [],
        "token_transfers": sorted(
            (
                {
                    "account": to_entity(moved["account"]),
                    "amount": moved["amount"],
                    "is_approval": bool(moved.get("is_approval")),
                    "token_id": to_entity(moved["token_id"]),
                }
                for moved in row.get("token_transfer_list") or ()
            ),
            key=lambda moved: [to_number(str(moved[name])) for name in ("token_id", "account")],
        ),
        "transaction_hash": base64.b64encode(read_bytes(content) if content else HASH).decode(),
        "transaction_id": f"{payer}-{start.replace('.', '-')}",
        "transfers": _transfers(row, payer),
        "valid_duration_seconds": str(row.get("valid_duration_seconds", 11)),
        "valid_start_timestamp": start,
    }


def _result(code: int) -> str:
    try:
        return str(ResponseCodeEnum.Name(code))
    except ValueError as error:
        raise Inexpressible("result") from error


def _transfers(row: Row, payer: str | None) -> list[Row]:
    listed = row.get("transfers") or []
    if not listed and row.get("charged_tx_fee", 7) and payer:
        listed = [
            {"account": row.get("nodeAccountId") or 3, "amount": NODE_FEE},
            {"account": 98, "amount": NETWORK_FEE},
            {"account": payer, "amount": -NODE_FEE - NETWORK_FEE},
        ]
    shown = [
        {
            "account": to_entity(each["account"]),
            "amount": int(each["amount"]),
            "is_approval": bool(each.get("is_approval")),
        }
        for each in listed
    ]
    return sorted(shown, key=lambda each: (int(str(each["account"]).split(".")[2]), each["amount"]))
