"""A mirror node that has nothing but topics, with the keys, filters and links of the real one's REST API."""

import base64
import json
from itertools import count
from typing import Any

from werkzeug.wrappers import Request, Response

PAGE = 25  # rows, so that a file takes several pages
PAYER = "0.0.1001"


class Topics:
    """A WSGI application; messages are written with ``submit``."""

    def __init__(self) -> None:
        self.memos: dict[str, str] = {}
        self.rows: list[dict[str, Any]] = []
        self._seconds = count(1_700_000_000)

    def create(self, topic: str, memo: str) -> str:
        self.memos[topic] = memo
        return topic

    def submit(self, topic: str, message: bytes, *, split_at: int | None = None) -> list[str]:
        """Write a message, split as an SDK splits it; returns the consensus timestamp of each part."""
        size = split_at or len(message) or 1
        parts = [message[at : at + size] for at in range(0, len(message), size)] or [b""]
        valid_start = f"{next(self._seconds)}.000000001"
        initial = {
            "account_id": PAYER,
            "nonce": 0,
            "scheduled": False,
            "transaction_valid_start": valid_start,
        }
        timestamps = []
        for number, part in enumerate(parts, 1):
            chunk = {"initial_transaction_id": initial, "number": number, "total": len(parts)}
            timestamps.append(self.write(topic, part, chunk if split_at else None))
        return timestamps

    def write(self, topic: str, content: bytes, chunk_info: dict[str, Any] | None) -> str:
        timestamp = f"{next(self._seconds)}.000000000"
        self.rows.append(
            {
                "chunk_info": chunk_info,
                "consensus_timestamp": timestamp,
                "message": base64.b64encode(content).decode(),
                "payer_account_id": PAYER,
                "running_hash": "AAAA",
                "running_hash_version": 3,
                "sequence_number": sum(row["topic_id"] == topic for row in self.rows) + 1,
                "topic_id": topic,
            }
        )
        return timestamp

    def __call__(self, environ: Any, start_response: Any) -> Any:
        answer = self._answer(Request(environ))
        status = 200 if answer else 404
        body = json.dumps(answer or {"_status": {"messages": [{"message": "Not found"}]}})
        response = Response(body, status, content_type="application/json")
        return response(environ, start_response)

    def _answer(self, request: Request) -> dict[str, Any] | None:
        match request.path.split("/")[3:]:
            case ["topics", "messages", timestamp]:
                rows = [row for row in self.rows if row["consensus_timestamp"] == timestamp]
                return rows[0] if rows else None
            case ["topics", topic, "messages"]:
                return self._list(topic, request)
            case ["topics", topic] if topic in self.memos:
                return {"topic_id": topic, "memo": self.memos[topic]}
        return None

    def _list(self, topic: str, request: Request) -> dict[str, Any]:
        is_newest_first = request.args.get("order") == "desc"
        rows = [row for row in self.rows if row["topic_id"] == topic]
        if since := request.args.get("timestamp"):
            assert since.startswith("gte:")
            rows = [row for row in rows if row["consensus_timestamp"] >= since[4:]]
        if bound := request.args.get("sequencenumber"):
            operator, number = bound.split(":")
            assert operator in ("lt", "gt")
            rows = [
                row
                for row in rows
                if (row["sequence_number"] > int(number)) == (operator == "gt")
                and row["sequence_number"] != int(number)
            ]
        rows.sort(key=lambda row: row["sequence_number"], reverse=is_newest_first)
        page, following = rows[:PAGE], None
        if len(rows) > PAGE:
            operator, order = ("lt", "desc") if is_newest_first else ("gt", "asc")
            last = f"sequencenumber={operator}:{page[-1]['sequence_number']}"
            more = f"&timestamp={since}" if since else ""
            following = f"/api/v1/topics/{topic}/messages?limit={PAGE}&order={order}&{last}{more}"
        return {"messages": page, "links": {"next": following}}
