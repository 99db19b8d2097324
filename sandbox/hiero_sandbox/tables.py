"""``python -m hiero_sandbox.tables sandbox/README.md``: write a document's tables, as the code has them.

A table stands between the lines ``<!-- table: transactions -->`` and ``<!-- end -->``: TABLES has the names.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import click
from flask import Flask

from hiero_sandbox import openapi, testing
from hiero_sandbox.application import MIRROR_PATH, create_sandbox
from hiero_sandbox.front_page import EXAMPLES
from hiero_sandbox.hapi.services import QUERIES
from hiero_sandbox.ledger import network_fees as fees
from hiero_sandbox.ledger import topic_messages, topic_transactions
from hiero_sandbox.ledger.consensus import HANDLERS
from hiero_sandbox.ledger.envelopes import TYPES
from hiero_sandbox.ledger.network_fees import Fee

Row = tuple[str, ...]
OWN = ("api.", "control.", "front_page.")  # the blueprints of its own addresses
# What the fees of several types have in common, or what their modules compute.
EXTRAS = (
    ("Each signature after the first", fees.EXTRA),
    (f"Each byte after {fees.INCLUDED_BYTES:,}", fees.BYTE),
    ("Each account of a transfer after two, and each token after one", fees.EXTRA),
    ("A transfer of tokens", fees.TOKEN_TRANSFER),
    ("A transfer of tokens with custom fees", fees.CUSTOM_FEE_TRANSFER),
    ("An association that a transfer makes, beyond `transactionFee`", fees.ASSOCIATION),
    ("An account that a transfer creates, beyond `transactionFee`", fees.ACCOUNT_CREATION),
    ("An airdrop that waits for its receiver", fees.AIRDROP),
    ("A topic with custom fees", topic_transactions.WITH_FEES),
    ("A message to one", topic_messages.WITH_FEES),
    (f"Each byte of another message after {topic_messages.INCLUDED_BYTES}", topic_messages.BYTE),
    (f"Each byte of a file after {fees.STATE_BYTES:,}, in one transaction", fees.STATE_BYTE),
)


def _transactions() -> Iterator[Row]:
    yield "Transaction", "USD", "Extras in USD"
    for kind in sorted(HANDLERS, key=TYPES.__getitem__):
        fee = HANDLERS[kind].fee
        yield f"`{TYPES[kind]}`", _usd(fee.base), "; ".join(_extras(fee))


def _extras(fee: Fee) -> Iterator[str]:
    if fee.listing:
        yield f"{_usd(fee.listing)} if it lists any NFTs or custom fees"
    if fee.listed:
        yield f"{_usd(fee.listed)} for each entry of its list after the first"
    if fee.included_keys is not None:
        after = f" after {fee.included_keys}" if fee.included_keys else ""
        yield f"{_usd(fees.KEY)} for each key{after}"


def _fees() -> Iterator[Row]:
    yield "Extra", "USD"
    yield from ((what, _usd(usd)) for what, usd in EXTRAS)


def _queries() -> Iterator[Row]:
    yield "Query", "USD"
    yield from ((f"`{name}`", _usd(QUERIES[name].fee)) for name in sorted(QUERIES))


def _usd(usd: Decimal) -> str:
    return f"{usd:f}" if usd else "free"


def _mirror() -> Iterator[Row]:
    yield "", "Path", "What it does"
    for method, path, _, summary in _list_addresses(create_sandbox(), "mirror."):
        if not path.endswith("<unknown>"):
            yield method, f"`{path.removeprefix(MIRROR_PATH.removesuffix('/'))}`", summary


def _controls() -> Iterator[Row]:
    yield "", "Path", "Body", "What it does", "Function"
    functions = _list_functions()
    for method, path, view, summary in _list_addresses(create_sandbox(), *OWN):
        example = _example(path) if method == "POST" else None
        described = " ".join([summary, *_rest(view).split()])
        called = ", ".join(f"`{each}`" for each in functions.get((method, path), ()))
        yield method, f"`{path}`", f"`{json.dumps(example)}`" if example else "", described, called


def _example(path: str) -> dict[str, Any] | None:
    """A body for an address, with long texts cut."""
    operation = openapi.document()["paths"].get(path, {}).get("post", {})
    content = operation.get("requestBody", {}).get("content", {})
    example = EXAMPLES.get(path) or content.get("application/json", {}).get("example")
    return example and {name: _cut(value) for name, value in example.items()}


def _cut(value: Any) -> Any:
    return f"{value[:8]}..." if isinstance(value, str) and len(value) > 20 else value


def _list_addresses(app: Flask, *blueprints: str) -> list[tuple[str, str, Any, str]]:
    """Method, path, function and the first line of its docstring, sorted by path."""
    found = []
    for rule in app.url_map.iter_rules():
        if rule.endpoint.startswith(blueprints):
            view = app.view_functions[rule.endpoint]
            summary = (view.__doc__ or "").partition("\n")[0]
            path = re.sub("<(int|path|rest):", "<", rule.rule)
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                found.append((method, path, view, summary))
    return sorted(found, key=lambda each: (each[1], each[0]))


def _rest(view: Any) -> str:
    return (view.__doc__ or "").partition("\n")[2]


def _list_functions() -> dict[tuple[str, str], list[str]]:
    """The functions of testing.Sandbox, by the method and path that they call."""
    found: dict[tuple[str, str], list[str]] = {}
    for name, function in vars(testing.Sandbox).items():
        source = inspect.getsource(function) if callable(function) else ""
        for path, more in re.findall(r'_ask\("(/\w+)"(,?)', source):
            if not name.startswith("_"):
                signature = ", ".join([*inspect.signature(function).parameters][1:])
                key = ("POST" if more else "GET", path)
                found.setdefault(key, []).append(f"{name}({signature})")
    return found


TABLES: dict[str, Callable[[], Iterable[Row]]] = {
    "controls": _controls,
    "fees": _fees,
    "mirror": _mirror,
    "queries": _queries,
    "transactions": _transactions,
}


def make(name: str) -> str:
    """A table in Markdown."""
    heading, *rows = TABLES[name]()
    lines = [heading, ("---",) * len(heading), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines).replace("|  |", "| |")


def rewrite(document: str) -> str:
    """A document with its tables as the code has them."""
    return re.sub(
        "(<!-- table: ([a-z]+) -->\n).*?(?=<!-- end -->)",
        lambda found: f"{found[1]}\n{make(found[2])}\n",
        document,
        flags=re.DOTALL,
    )


@click.command()
@click.argument("paths", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
def main(paths: tuple[Path, ...]) -> None:
    """Write the tables of documents; without any, print all tables."""
    for path in paths:
        path.write_text(rewrite(path.read_text()))
    if not paths:
        click.echo("\n".join(make(name) for name in TABLES))


if __name__ == "__main__":
    main(prog_name="python -m hiero_sandbox.tables")
