"""Reads a page of the ledger's transactions: its rows about NFTs, and the date of its last row."""

import logging
from collections.abc import Sequence
from typing import Any, NamedTuple

from marketplace.errors import shown
from marketplace.ledger import json_reader
from marketplace.ledger.mirror_schemas import Consensus, Transaction

# The types of transactions that change an NFT, its approvals, or its token.
TYPES = (
    "CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE", "CRYPTOTRANSFER", "TOKENAIRDROP", "TOKENBURN",
    "TOKENCLAIMAIRDROP", "TOKENDELETION", "TOKENFEESCHEDULEUPDATE", "TOKENREJECT", "TOKENUPDATE",
    "TOKENUPDATENFTS", "TOKENWIPE",
)  # fmt: skip


class Page(NamedTuple):
    """A page of the mirror node's transactions after a moment."""

    rows: list[Transaction]
    last_at: int  # consensus timestamp of the last row; the moment itself if there is no row
    is_full: bool  # the next page may have rows already


def read_page(documents: Sequence[dict[str, Any]], after: int, payer: str, length: int) -> Page:
    """Read a page of at most ``length`` rows. Leave out transfers of HBAR alone, unless ``payer`` paid.

    Also leaves out rows that make no sense. Raises ValueError if a consensus timestamp makes no sense, or if
    the rows are out of order.
    """
    rows, last_at = [], after
    for document in documents:
        consensus_at = json_reader.read(Consensus, document, "consensus_timestamp")
        if consensus_at <= last_at:
            raise ValueError("its rows are out of order")
        last_at = consensus_at
        if not _is_plain(document, payer) and (row := _read_row(document)):
            rows.append(row)
    return Page(rows, last_at, len(documents) >= length)


def _is_plain(document: dict[str, Any], payer: str) -> bool:
    """Tell whether a row, as most do, transfers HBAR alone, and somebody else paid for it."""
    is_transfer = document.get("name") == "CRYPTOTRANSFER" and not document.get("nft_transfers")
    return is_transfer and not str(document.get("transaction_id")).startswith(f"{payer}-")


def _read_row(document: dict[str, Any]) -> Transaction | None:
    try:
        return json_reader.read(Transaction, document)
    except ValueError as error:
        moment = shown(document["consensus_timestamp"])
        log = logging.getLogger("marketplace")
        log.warning("The transaction of %s makes no sense: %s", moment, error)
        return None
