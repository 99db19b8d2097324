"""Errors of the sandbox's own addresses. The mirror node's are in mirror/, a node's in hapi/."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

# The words for programs, by status. They never change.
REASONS = {
    400: "REQUEST_NOT_JSON",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    413: "REQUEST_ENTITY_TOO_LARGE",
    415: "CONTENT_TYPE_NOT_JSON",
    421: "BAD_HOST",
    422: "FIELD_INVALID",
    500: "INTERNAL_SERVER_ERROR",
}


class LedgerRefused(Exception):
    """The sandbox does not start: the file is not one of its ledgers."""


class LedgerBusy(Exception):
    """Another process keeps the ledger locked."""

    reason, retry_after = "DATABASE_BUSY", 1

    def __str__(self) -> str:
        return "The database stayed locked by another writer. Nothing was changed; try again"


class LedgerUnusable(Exception):
    """The ledger's file is gone, or its disk is full."""

    reason, retry_after = "DATABASE_UNUSABLE", 60

    def __str__(self) -> str:
        return f"The database cannot be used: {self.args[0]}. Nothing was changed"


class FieldsInvalid(Exception):
    """Fields of a body are wrong. ``wrong`` has a sentence for each, without its name."""

    def __init__(self, wrong: Mapping[str, str]) -> None:
        super().__init__("; ".join(f"{name} {what}" for name, what in wrong.items()))
        self.wrong = wrong


def explain(error: sqlite3.OperationalError) -> LedgerBusy | LedgerUnusable:
    return LedgerBusy() if "locked" in str(error) else LedgerUnusable(str(error))


@contextmanager
def explained() -> Iterator[None]:
    """Raise LedgerBusy or LedgerUnusable in place of SQLite's errors about the file and its disk."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise explain(error) from error


def shown(value: object) -> str:
    """A client's value for a message: JSON in ASCII, cut to 60 characters."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def body(status: int, message: str, reason: str, errors: Any = None) -> dict[str, Any]:
    """The body of every error."""
    content = {
        "code": int(status),
        "status": HTTPStatus(status).phrase,
        "message": message,
        "reason": reason,
    }
    return content if errors is None else content | {"errors": errors}
