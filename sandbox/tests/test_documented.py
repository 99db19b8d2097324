"""sandbox/README.md lists the transactions and queries that the sandbox answers, as its code does."""

from pathlib import Path

from hiero_sandbox.application import create_sandbox
from hiero_sandbox.hapi.services import QUERIES
from hiero_sandbox.ledger.consensus import HANDLERS
from hiero_sandbox.ledger.envelopes import TYPES
from hiero_sandbox.ledger.network_fees import BASE, OTHERS


def table(title, unit, rows):
    lines = [f"| {title} | {unit} |", "|---|---|"]
    lines += [f"| `{name}` | {fee} |" for name, fee in sorted(rows)]
    return "\n".join(lines) + "\n"


def test_its_addresses_are_listed():
    document = Path("sandbox/README.md").read_text()
    rules = {rule.rule for rule in create_sandbox().url_map.iter_rules()}
    shown = {rule for rule in rules if not rule.startswith(("/api/v1/", "/proto.", "/com.hedera."))}
    shown = {rule for rule in shown if rule != "/"}
    assert [rule for rule in shown if f"`{rule}" not in document] == []


def test_the_transactions_and_queries_are_listed():
    document = Path("sandbox/README.md").read_text()
    transactions = [(TYPES[kind], f"{BASE.get(kind, OTHERS):f}") for kind in HANDLERS]
    assert table("Transaction", "USD, without extras", transactions) in document
    queries = [(name, f"{query.fee:f}" if query.fee else "free") for name, query in QUERIES.items()]
    assert table("Query", "USD", queries) in document
