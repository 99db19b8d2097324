"""The mirror node's topics, and their messages."""

import base64

from flask import Blueprint, request
from hiero_sdk_python.hapi.services.consensus_submit_message_pb2 import (
    ConsensusMessageChunkInfo,
    ConsensusSubmitMessageTransactionBody,
)
from werkzeug.exceptions import NotFound

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import keys, queries, topics
from hiero_sandbox.ledger.custom_fees import unit_of
from hiero_sandbox.ledger.envelopes import read_transaction_id, write_id
from hiero_sandbox.ledger.topic_messages import HASH_VERSION
from hiero_sandbox.mirror import pages, parameters
from hiero_sandbox.mirror.parameters import Document, Row

IDS = {
    "moment": (parameters.parse_timestamp, "consensus_timestamp"),
    "sequence_no": (parameters.parse_serial_no, "sequencenumber"),
    "topic": (parameters.parse_entity, "topic.id"),
}
blp = Blueprint("topics", __name__)


@blp.get("/topics/<topic>")
@parameters.cached(5)
def show_topic(topic: str) -> Document:
    """Show a topic, with its custom fees."""
    parameters.require_known()
    found = topics.get(read(), topic)
    if found is None:
        raise NotFound("Topic not found")
    definition = found.definition
    renewing = definition.autoRenewAccount
    return {
        "admin_key": keys.shown(found.key("admin")),
        "auto_renew_account": write_id(renewing)
        if definition.autoRenewAccount.accountNum
        else None,
        "auto_renew_period": definition.autoRenewPeriod.seconds,
        "created_timestamp": times.to_consensus(found.created_at),
        "custom_fees": {
            "created_timestamp": times.to_consensus(found.fees_at),
            "fixed_fees": [
                {
                    "amount": fee.fixed_fee.amount,
                    "collector_account_id": write_id(fee.fee_collector_account_id),
                    "denominating_token_id": unit_of(fee.fixed_fee),
                }
                for fee in definition.custom_fees
            ],
        },
        "deleted": bool(found.is_deleted),
        "fee_exempt_key_list": [*map(keys.shown, definition.fee_exempt_key_list)],
        "fee_schedule_key": keys.shown(found.key("fee_schedule")),
        "memo": definition.memo,
        "submit_key": keys.shown(found.key("submit")),
        "timestamp": {"from": times.to_consensus(found.modified_at), "to": None},
        "topic_id": found.topic,
    }


@blp.get("/topics/<topic>/messages")
def list_messages(topic: str) -> Document:
    """List a topic's messages; sequencenumber, timestamp, encoding."""
    rows = map(_document, queries.select(read(), "topic_message", topic=topic))
    columns, filters = {"timestamp": "consensus_timestamp"}, {"sequencenumber": "sequence_number"}
    return pages.page(
        "messages", rows, _encoded, columns, "asc", filters=filters, encoding="base64|utf-?8"
    )


@blp.get("/topics/<topic>/messages/<sequence_no>")
def show_message(topic: str, sequence_no: int) -> Document:
    """Show a message by its number."""
    parameters.require_known()
    return _show(topic=topic, sequence_no=sequence_no)


@blp.get("/topics/messages/<moment>")
def show_message_at(moment: int) -> Document:
    """Show the message of a consensus timestamp."""
    parameters.require_known()
    return _show(consensus_at=moment)


def _show(**columns: object) -> Document:
    row = queries.get(read(), "topic_message", **columns)
    if row is None:
        raise NotFound("Not found")
    return _document(row)


def _document(row: Row) -> Document:
    submission = ConsensusSubmitMessageTransactionBody.FromString(row["submission"])
    is_chunk = submission.HasField("chunkInfo")
    return {
        "chunk_info": _chunk(submission.chunkInfo) if is_chunk else None,
        "consensus_timestamp": times.to_consensus(row["consensus_at"]),
        "message": base64.b64encode(submission.message).decode(),
        "payer_account_id": row["payer"],
        "running_hash": base64.b64encode(row["running_hash"]).decode(),
        "running_hash_version": HASH_VERSION,
        "sequence_number": row["sequence_no"],
        "topic_id": row["topic"],
    }


def _chunk(chunk: ConsensusMessageChunkInfo) -> Document:
    first = read_transaction_id(chunk.initialTransactionID)
    return {
        "initial_transaction_id": {
            "account_id": first.account_id,
            "nonce": chunk.initialTransactionID.nonce,
            "scheduled": chunk.initialTransactionID.scheduled,
            "transaction_valid_start": f"{first.seconds}.{first.nanos:09}",
        },
        "number": chunk.number,
        "total": chunk.total,
    }


def _encoded(document: Row) -> Document:
    """A message in the encoding that the request asks for."""
    if request.args.get("encoding", "base64").lower() != "base64":
        content = base64.b64decode(document["message"])
        return dict(document) | {"message": content.decode(errors="replace")}
    return dict(document)
