"""Reads a page of the ledger's transactions: its rows about NFTs, and the date of its last row."""

import logging
from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from marshmallow import ValidationError

from marketplace.hedera.ids import TransactionId
from marketplace.ledger.answers import moment, read, read_list
from marketplace.ledger.objects import LedgerNftTransfer, Transaction, TransactionType
from marketplace.text import quote


class RowDate(NamedTuple):
    """Of a row that may be unreadable otherwise."""

    consensus_at: Annotated[int, moment("consensus_timestamp")]


class TransactionPage(NamedTuple):
    """A page of the mirror node's transactions after a moment."""

    rows: list[Transaction]
    last_at: int  # consensus timestamp of the last row; the moment itself if there is no row
    is_full: bool  # the next page may have rows already
    # The readable parts of invalid rows. They only show what may have changed.
    odd: tuple[Transaction, ...] = ()


def read_page(document: Mapping[str, Any], after: int, payer: str, length: int) -> TransactionPage:
    """Read a page of at most ``length`` rows. Leave out transfers of HBAR alone, unless ``payer`` paid, or a
    schedule was executed, which may be an offer whose sale failed.

    Raises ValueError if a consensus timestamp is unreadable, or if the rows are out of order.
    """
    rows, odd, last_at = [], [], after
    documents = read_list(document, "transactions")
    for row in documents:
        consensus_at = read(RowDate, row).consensus_at
        if consensus_at <= last_at:
            raise ValueError("its rows are out of order")
        last_at = consensus_at
        if _is_plain(row, payer):
            continue
        try:
            rows.append(read(Transaction, row))
        except ValueError as error:
            moment = quote(row["consensus_timestamp"])
            log = logging.getLogger("marketplace")
            log.warning("The transaction of %s makes no sense: %s", moment, error)
            odd.append(_read_odd(row))
    return TransactionPage(rows, last_at, len(documents) >= length, tuple(odd))


def _is_plain(document: dict[str, Any], payer: str) -> bool:
    """Tell whether a row, as most do, transfers HBAR alone, for somebody else, and is of no schedule."""
    is_transfer = document.get("name") == TransactionType.TRANSFER
    is_of_nfts = bool(document.get("nft_transfers"))
    is_executed = document.get("scheduled") is True
    is_paid = str(document.get("transaction_id")).startswith(f"{payer}-")
    return is_transfer and not is_of_nfts and not is_executed and not is_paid


def _read_odd(document: dict[str, Any]) -> Transaction:
    """Read the fields that make sense. Without a result, it may have succeeded."""
    try:
        return read(Transaction, document)
    except ValueError as error:
        cause = error.__cause__
        valid: Any = cause.valid_data if isinstance(cause, ValidationError) else {}
    is_of_token = bool(valid.get("entity_id"))
    guessed = {
        "name": TransactionType.COLLECTION_UPDATE if is_of_token else TransactionType.APPROVAL,
        "result": "SUCCESS",
        "transaction_id": TransactionId("0.0.0", 0, 0),
    }
    moved = [_read_odd_transfer(nft) for nft in valid.get("nft_transfers", ())]
    found = {name: valid[name] for name in PLAIN if name in valid}
    return Transaction(**guessed | found, nft_transfers=tuple(filter(None, moved)))


PLAIN = ("name", "result", "transaction_id", "consensus_at", "memo", "entity_id")


def _read_odd_transfer(nft: LedgerNftTransfer | dict[str, Any]) -> LedgerNftTransfer | None:
    """The transfer of an NFT; None if it does not name the NFT."""
    if isinstance(nft, dict):
        return LedgerNftTransfer(**nft) if {"token", "serial_no"} <= nft.keys() else None
    return nft
