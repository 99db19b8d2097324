"""The mirror node's schedules."""

import base64

from flask import Blueprint
from hiero_sdk_python.hapi.services.basic_types_pb2 import SignaturePair
from werkzeug.exceptions import NotFound

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.ledger import keys, queries, schedules
from hiero_sandbox.ledger.envelopes import write_id
from hiero_sandbox.mirror import pages, parameters
from hiero_sandbox.mirror.parameters import Document, Row

IDS = {"schedule_id": (parameters.parse_entity, "scheduleid")}
blp = Blueprint("schedules", __name__)


@blp.get("/schedules")
@parameters.cached(2)
def list_schedules() -> Document:
    """List schedules; account.id, schedule.id."""
    documents = [_document(row["schedule_id"]) for row in queries.select(read(), "schedule")]
    columns, filters = {"schedule.id": "schedule_id"}, {"account.id": "creator_account_id"}
    return pages.page("schedules", documents, dict, columns, "asc", filters=filters)


@blp.get("/schedules/<schedule_id>")
def show_schedule(schedule_id: str) -> Document:
    """Show a schedule, with its signatures."""
    parameters.require_known()
    return _document(schedule_id)


def _document(schedule_id: str) -> Document:
    found = schedules.find(read(), schedule_id)
    if found is None:
        raise NotFound("Not found")
    definition, expiry = found.definition, None
    if definition.HasField("expiration_time"):
        given = definition.expiration_time
        expiry = times.to_consensus(given.seconds * times.SECOND + given.nanos)
    rows = queries.select(read(), "schedule_signature", schedule_id=schedule_id)
    signatures = [(row, SignaturePair.FromString(row["pair"])) for row in rows]
    executed_at = found.resolved_at if found.state == "executed" else None
    return {
        "admin_key": keys.shown(definition.adminKey) if definition.HasField("adminKey") else None,
        "consensus_timestamp": times.to_consensus(found.created_at),
        "creator_account_id": write_id(found.creation.transactionID.accountID),
        "deleted": found.state == "deleted",
        "executed_timestamp": times.to_consensus(executed_at) if executed_at else None,
        "expiration_time": expiry,
        "memo": definition.memo,
        "payer_account_id": found.payer,
        "schedule_id": schedule_id,
        "signatures": [
            _signature(row, pair) for row, pair in signatures if pair.WhichOneof("signature")
        ],
        "transaction_body": base64.b64encode(
            definition.scheduledTransactionBody.SerializeToString()
        ).decode(),
        "wait_for_expiry": definition.wait_for_expiry,
    }


def _signature(row: Row, pair: SignaturePair) -> Document:
    kind = str(pair.WhichOneof("signature"))
    return {
        "consensus_timestamp": times.to_consensus(row["consensus_at"]),
        "public_key_prefix": base64.b64encode(pair.pubKeyPrefix).decode(),
        "signature": base64.b64encode(getattr(pair, kind)).decode(),
        "type": kind.upper(),
    }
