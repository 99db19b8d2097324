"""A replica of the mirror node that lags: it answers from a copy of the ledger, some seconds old."""

import json
import re
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

from marketplace.hedera import times
from marketplace.sandbox.application import create_sandbox

BEHIND_SECONDS = 8  # at most
NFT = re.compile("/api/v1/tokens/([0-9.]+)/nfts/([0-9]+)(/transactions)?")


class Replica:
    def __init__(self, ledger: Path, market: str) -> None:
        self._ledger, self._path = ledger, ledger.with_name("replica.db")
        self._sandbox = create_sandbox(str(self._path), signs_for=market)
        self._copied_at = 0
        self._lock = threading.Lock()

    def show_node(self, port: int) -> None:
        """Show the ledger's node, which is there whatever the replica knows."""
        self._sandbox.config["NODE_PORT"] = port

    def may_answer(self, environ) -> bool:
        """Whether it may answer. The ledger mints an NFT when it is first asked for; a replica must not."""
        return "serialnumber=" not in environ["QUERY_STRING"]

    def answer(self, environ, start_response) -> list[bytes]:
        with self._lock:
            if times.now() - self._copied_at > BEHIND_SECONDS * times.SECOND:
                self._copy()
            if environ["PATH_INFO"].endswith("/blocks"):
                moment = times.to_consensus(self._copied_at)
                start_response("200 OK", [("Content-Type", "application/json")])
                return [
                    json.dumps({"blocks": [{"timestamp": {"from": moment, "to": moment}}]}).encode()
                ]
            if (nft := NFT.fullmatch(environ["PATH_INFO"])) and not self._has(*nft.groups()[:2]):
                start_response("404 Not Found", [("Content-Type", "application/json")])
                return [b'{"_status": {"messages": [{"message": "Not found"}]}}']
            return list(self._sandbox(environ, start_response))

    def _copy(self) -> None:
        self._copied_at = times.now()
        ledger, copy = sqlite3.connect(self._ledger), sqlite3.connect(self._path)
        with closing(ledger), closing(copy):
            ledger.backup(copy)

    def _has(self, token: str, serial_no: str) -> bool:
        sql = "SELECT 1 FROM nft WHERE token = ? AND serial_no = ?"
        with closing(sqlite3.connect(self._path)) as copy:
            return copy.execute(sql, (token, int(serial_no))).fetchone() is not None
