"""``flask export``: sales for the accountant, and listings, events and NFTs, as CSV or JSON."""

import csv
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any, TextIO

import click

from marketplace.cli.command import Group
from marketplace.command_line import echo
from marketplace.hedera import times
from marketplace.hedera.hbar import to_hbar
from marketplace.services import services
from marketplace.store import disks, exports

Row = dict[str, Any]

# The beginning of a formula: OWASP's list of CSV injection, with full-width signs. Strangers write the names.
# With semicolons as separators, as in half of Europe, it finds cells and lines inside of a quoted cell, too.
FORMULA = re.compile(
    r"""\A(?=[\t\r\n])|(\A|[;\t\r\n])(?=[\s"'\x00-\x1f]*[=+@\uff1d\uff0b\uff0d\uff20-])"""
)
BOM = "\ufeff"
# Columns of a sale: those of its event, and amounts in HBAR.
OF_EVENT = (
    "consensus_at", "transaction_id", "token", "serial_no", "name", "seller", "buyer", "price",
)  # fmt: skip
AMOUNTS = ("part", "network_fee", "association_fee")
# What the columns of a sale mean: docs/database.md has them as a table.
MEANINGS = {
    "consensus_at": "The time of the sale",
    "transaction_id": "The transaction of `ACCOUNT_ID`",
    "token": "The collection",
    "serial_no": "The NFT's serial number",
    "name": "The NFT's name now",
    "seller": "The owner before the sale",
    "buyer": "The owner after the sale",
    "price": "What the buyer paid, in HBAR",
    "part": "The marketplace's part of the price, in HBAR",
    "royalties": "HBAR by receiver (`0.0.2001:12.5`), paid from the seller's proceeds",
    "network_fee": (
        "What the network charged `ACCOUNT_ID`, in HBAR. For an offer, only the fee of its schedule: the"
        " buyer paid the rest"
    ),
    "association_fee": "What `ACCOUNT_ID` paid to associate the buyer with the token, in HBAR",
    "hbar_us_cents": (
        "US cents for one HBAR, by the last rate that the watcher had read. Empty for sales before version"
        " 0.4"
    ),
    "way": "`single`, `basket` or `offer`",
}

cli = Group("export", help="Write sales, listings, events or NFTs as CSV or JSON.")


def moment(value: str) -> str:
    parsed = times.read_moment(value)
    if parsed is None:
        raise click.BadParameter(f"{value!r} is not like 2026-10-01 or 2026-10-01T12:34:56Z")
    return parsed


def ignore(row: Row) -> None:
    """Add up nothing."""


class Totals:
    """The sums of exported sales."""

    def __init__(self) -> None:
        self.sales = self.pending = self.unrated = 0
        self.price = self.royalties = self.cents = Decimal(0)
        self.amounts = dict.fromkeys(AMOUNTS, Decimal(0))

    def add(self, row: Row) -> None:
        self.sales += 1
        self.price += row["price"]
        self.royalties += sum(Decimal(str(each["amount"])) for each in row["royalties"] or ())
        for name in AMOUNTS:
            self.amounts[name] += row[name] or 0
        self.pending += row["way"] is None
        self.unrated += row["hbar_us_cents"] is None
        self.cents += row["price"] * (row["hbar_us_cents"] or 0)

    def describe(self) -> Iterator[str]:
        yield f"Sales              {self.sales:,}"
        dollars = f"{self.cents / 100:,.2f} US dollars at the time of each sale"
        yield f"Prices             {self.price:,f} HBAR, {dollars}"
        yield f"Marketplace's part {self.amounts['part']:,f} HBAR"
        yield f"Royalties          {self.royalties:,f} HBAR"
        yield f"Network fees paid  {self.amounts['network_fee']:,f} HBAR"
        yield f"Associations paid  {self.amounts['association_fee']:,f} HBAR"
        if self.pending:
            yield f"Without costs      {self.pending:,}: not looked up yet, or not on the ledger"
        if self.unrated:
            yield f"Without a rate     {self.unrated:,}: no exchange rate is known"


def _describe_sale(row: Row) -> Row:
    """A sale with amounts in HBAR, in the order of the columns."""
    rate, paid = row["rate_cents"], row["royalties"] and json.loads(row["royalties"])
    royalties = paid and [
        {"account_id": each["collector"], "amount": to_hbar(each["tinybars"])} for each in paid
    ]
    return {name: row[name] for name in OF_EVENT} | {
        "part": _to_hbar(row["part_tinybars"]),
        "royalties": royalties,
        "network_fee": _to_hbar(row["network_tinybars"]),
        "association_fee": _to_hbar(row["association_tinybars"]),
        "hbar_us_cents": None if rate is None else round(Decimal(rate) / row["rate_hbar"], 4),
        "way": row["way"],
    }


def _to_hbar(tinybars: int | None) -> Decimal | None:
    return None if tinybars is None else to_hbar(tinybars)


def _options(kind: str) -> Callable[[Callable[..., None]], click.Command]:
    """The command for a kind of rows, with its options."""

    def make(function: Callable[..., None]) -> click.Command:
        if kind in exports.DATED_KINDS:
            dated: dict[str, Any] = {"type": moment, "metavar": "DATE"}
            function = click.option("--to", "until", help="Before this date, in UTC.", **dated)(
                function
            )
            function = click.option("--from", "since", help="From this date on, in UTC.", **dated)(
                function
            )
        function = click.option(
            "-o",
            "--output",
            "path",
            type=click.Path(path_type=Path, dir_okay=False),
            help="Write to this file, not to standard output.",
        )(function)
        function = click.option(
            "--bom",
            is_flag=True,
            help="Begin the CSV with a byte order mark, without which Excel misreads names.",
        )(function)
        function = click.option(
            "--csv/--json", "is_csv", default=True, help="The format. CSV is the default."
        )(function)
        return cli.command(kind)(function)

    return make


@_options("sales")
def sales_command(**options: Any) -> None:
    """Write the sales of a period, with their royalties and fees.

    Amounts are in HBAR; hbar_us_cents is the price of one HBAR at the time of the sale. The command prints
    the sums to standard error.
    """
    totals = Totals()
    _export("sales", _describe_sale, totals.add, **options)
    for line in totals.describe():
        echo(line, err=True)


@_options("listings")
def listings_command(**options: Any) -> None:
    """Write the NFTs that are for sale. --from and --to select by the date of the listing."""
    _export("listings", **options)


@_options("events")
def events_command(**options: Any) -> None:
    """Write the events of a period."""
    _export("events", **options)


@_options("nfts")
def nfts_command(**options: Any) -> None:
    """Write all stored NFTs."""
    _export("nfts", **options)


def _export(
    kind: str,
    describe: Callable[[Row], Row] = dict,
    note: Callable[[Row], None] = ignore,
    *,
    is_csv: bool,
    bom: bool,
    path: Path | None,
    since: str | None = None,
    until: str | None = None,
) -> None:
    """Write all rows of a kind, one by one: it takes no more memory for a million."""
    own, parameters = services().database, {"since": since, "until": until}
    is_shown = sys.stderr.isatty()
    length = exports.count_rows(own.connection, kind, since, until) if is_shown else None
    rows = own.stream(exports.select(kind, since, until), parameters)
    bar = click.progressbar(rows, length, kind, hidden=not is_shown, file=sys.stderr)
    with _open(path) as file, bar as shown:
        described = _describe_all(shown, describe, note)
        if is_csv:
            file.write(BOM if bom else "")
            write_csv(file, describe(dict.fromkeys(exports.NAMES[kind])), described)
        else:
            _write_json(file, described)


def _describe_all(
    rows: Iterable[Row], describe: Callable[[Row], Row], note: Callable[[Row], None]
) -> Iterator[Row]:
    for row in rows:
        described = describe(row)
        note(described)
        yield described


@contextmanager
def _open(path: Path | None) -> Iterator[TextIO]:
    """Standard output, a pipe or a device; or a file that appears complete or not at all."""
    if path is None:
        yield sys.stdout
        sys.stdout.flush()
    elif path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
    else:
        with _replace(path.resolve()) as file:
            yield file


@contextmanager
def _replace(path: Path) -> Iterator[TextIO]:
    """A new file, which replaces that of the path, with its mode and its owner, once it is complete."""
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with partial.open("x", encoding="utf-8", newline="") as file:
        try:
            yield file
            file.flush()
            disks.sync(file.fileno(), path.parent)
            if path.exists():
                disks.copy_owner(path, partial)
            os.replace(partial, path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise


def write_csv(file: TextIO, names: Iterable[str], rows: Iterable[Row]) -> None:
    writer = csv.writer(file)
    writer.writerow(names)
    for row in rows:
        writer.writerow([_write_cell(value) for value in row.values()])


def _write_cell(value: object) -> object:
    if isinstance(value, list):
        return " ".join(f"{each['account_id']}:{each['amount']:f}" for each in value)
    if isinstance(value, Decimal):
        return f"{value:f}"
    return FORMULA.sub(r"\1'", value) if isinstance(value, str) else value


def _write_json(file: TextIO, rows: Iterable[Row]) -> None:
    """Write one array, an object in each line."""
    encode = partial(json.dumps, ensure_ascii=False, default=float)
    separator = "["
    for row in rows:
        file.write(f"{separator}\n{encode(row)}")
        separator = ","
    file.write("[]\n" if separator == "[" else "\n]\n")
