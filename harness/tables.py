"""Writes the documents' tables that the code, or a stored run, already holds: ``make docs``.

Each stands in its page between ``<!-- name: make docs -->`` and ``<!-- end -->``. It then prints how many
words people wrote on each page.
"""

import json
import re
import tempfile
import textwrap
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from harness.apps import settings
from harness.serving import ROOT
from marketplace import create_app, metrics
from marketplace.api.errors import list_reasons
from marketplace.api.metrics import HELP, INFO
from marketplace.api.openapi import find_reasons
from marketplace.cli import export
from marketplace.settings import SETTINGS

LINE = 120  # characters, in a document


def table(headings: str, rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table: the headings are separated by semicolons."""
    columns = headings.split("; ")
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def code(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


@cache
def _openapi() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        app = create_app(**settings(folder))
        return app.test_client().get("/openapi.json").json


def endpoints() -> str:
    document = _openapi()
    return table(
        "Call; What it does; Query parameters (default and maximum)",
        [
            (
                f"{method.upper()} `{path.replace('{', '<').replace('}', '>')}`",
                operation["summary"],
                ", ".join(_parameters(operation)),
            )
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
            if "summary" in operation
        ],
    )


def _parameters(operation: dict[str, Any]) -> Iterable[str]:
    """The names of its query parameters; the limits of a page with their default and maximum."""
    for parameter in operation.get("parameters", ()):
        if parameter.get("in") == "query":
            schema = parameter["schema"]
            limits = (
                f" ({schema['default']}, {schema['maximum']})"
                if parameter["name"] == "limit"
                else ""
            )
            yield f"`{parameter['name']}`{limits}"


def errors() -> str:
    reasons = list_reasons(find_reasons(_openapi()))
    return table("Reason; Status; Calls; Retry; Message for users", reasons)


def settings_table() -> str:
    return table(
        "Setting; Default; Meaning",
        (
            (f"`{name}`", _default(setting.default, setting.in_sandbox), setting.meaning)
            for name, setting in SETTINGS.items()
        ),
    )


def _default(default: str | None, in_sandbox: str | None) -> str:
    usual = {None: "required", "": "none"}.get(default) or _code(default)
    return f"{usual}; in the sandbox {_code(in_sandbox)}" if in_sandbox else usual


def _code(default: str) -> str:
    """A default as the page shows it: the names of other settings without braces."""
    return code([re.sub("[{}]", "", default)])


def counters() -> str:
    return table(
        "Metric; Labels; Meaning",
        [
            (f"`{name}{suffix}`", code(labels), meaning)
            for suffix, family in (("", [metrics.DURATION]), ("_total", metrics.COUNTERS))
            for name, meaning, labels in family
        ],
    )


def gauges() -> str:
    return table(
        "Metric; Meaning",
        [(f"`{name}`", meaning) for name, meaning in [*sorted(HELP.items()), ("info", INFO)]],
    )


def alerts() -> str:
    [group] = yaml.safe_load((ROOT / "examples/alerts.yml").read_text())["groups"]
    return table(
        "Alert; When; For; What to do",
        [
            (
                f"`{rule['alert']}`",
                rule["annotations"]["summary"],
                rule.get("for", "at once"),
                rule["annotations"]["description"],
            )
            for rule in group["rules"]
        ],
    )


def columns_of_sales() -> str:
    return table("Column; Meaning", [(f"`{name}`", text) for name, text in export.MEANINGS.items()])


def benchmarks() -> str:
    """The last stored run: the rows that have a target, and what was measured on."""
    run = json.loads((ROOT / "benchmarks/results.json").read_text())
    about, versions = run["about"], run["about"]["versions"]
    rows = [
        (
            f"{row['group']}: {row['name']}",
            row["ours"],
            row["other"],
            row["shown"],
            f"{'≥' if row['at_least'] else '≤'} {row['target']:g}",
            "met" if row["is_met"] else "**missed**",
        )
        for row in run["rows"]
        if row["target"] is not None
    ]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    headings = "Compared; This service; Other; Ratio; Target; Result"
    measured = (
        f"Run on {about['date'][:10]} at commit {about['commit']}: {run['plan']['nfts']:,} NFTs,"
        f" {about['cores']} cores of an {about['processor']}, {about['system']}; {named}."
    )
    return f"{textwrap.fill(measured, LINE)}\n\n{table(headings, rows)}"


def wallets() -> str:
    """What each call of the wallets' libraries resulted in, in the last recorded run."""
    run = json.loads((ROOT / "tests/system/wallets/results.json").read_text())

    def named(text: str) -> str:
        for name, version in run["versions"].items():
            text = text.replace(f"{{{name}}}", version)
        return text

    parts = [f"Run on {run['date']} with the versions that are named here."]
    for each in run["tables"]:
        parts += [f"### {each['title']}"] if each["title"] else []
        parts += [named(each["about"])] if each["about"] else []
        rows = [
            (
                f'<a id="{row["id"]}"></a>{named(row["call"])}',
                row["list"],
                row["withdraw"],
                row["buy"],
                row["offer"],
            )
            for row in each["rows"]
        ]
        parts.append(table(f"{each['heading']}; list; withdraw; buy; offer", rows))
    return "\n\n".join(parts)


def wallet_check() -> str:
    """What the wallet check found of the official libraries, in the last recorded run."""
    run = json.loads((ROOT / "tests/system/wallets/check.json").read_text())
    names = [*run["rows"][0]["results"]]
    rows = [(row["title"], row["asked"], *row["results"].values()) for row in run["rows"]]
    return f"Run on {run['date']}.\n\n{table('; '.join(['Row', 'Asked', *names]), rows)}"


def peers() -> str:
    """The last stored run of each suite that stress.peers runs."""
    suites = json.loads((ROOT / "stress/peers.json").read_text())
    counts = ("tried", "passed", "skipped", "failed")
    rows = [
        (
            f"`{name}`",
            f"[{suite['repository']}](https://github.com/{suite['repository']})",
            suite["version"],
            suite["date"],
            *(f"{suite[each]:,}" for each in counts),
        )
        for name, suite in suites.items()
    ]
    return table("Suite; Tests of; Version; Run on; Tried; Passed; Skipped; Failed", rows)


# The page of each table
TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "endpoints": ("docs/api.md", endpoints),
    "errors": ("docs/api.md", errors),
    "settings": ("docs/settings.md", settings_table),
    "counters": ("docs/monitoring.md", counters),
    "gauges": ("docs/monitoring.md", gauges),
    "alerts": ("docs/monitoring.md", alerts),
    "sales": ("docs/database.md", columns_of_sales),
    "wallet-check": ("docs/wallets.md", wallet_check),
    "wallets": ("docs/wallets.md", wallets),
    "peers": ("sandbox/README.md", peers),
    "benchmarks": ("docs/performance.md", benchmarks),
}


def write(name: str, text: str) -> str:
    """A page's text with this table as it is now. Raises ValueError if the page has no place for it."""
    begin, end = f"<!-- {name}: make docs -->\n", "\n<!-- end -->"
    before, found, rest = text.partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise ValueError(f"There is no {begin.strip()} ... {end.strip()}")
    _, make = TABLES[name]
    return f"{before}{begin}{make()}{end}{after}"


PAGES = ("README.md", "docs/*.md", "deploy/README.md", "sandbox/README.md", "clients/*/README.md")
NOT_OWN = re.compile(
    r"^<!-- [^\n]*: [^\n]* -->$.*?^<!-- end -->$|^ *```.*?^ *```$", re.DOTALL | re.MULTILINE
)


def own_words(text: str) -> int:
    """The number of a page's words, without generated tables and blocks of code."""
    return len(re.findall(r"\S*\w\S*", NOT_OWN.sub("", text)))


def print_words() -> None:
    counts = {
        path.relative_to(ROOT): own_words(path.read_text())
        for pattern in PAGES
        for path in sorted(ROOT.glob(pattern))
    }
    for page, count in counts.items():
        print(f"{count:7,} {page}")
    print(f"{sum(counts.values()):7,} words in all pages")


def main() -> None:
    for name, (page, _) in TABLES.items():
        path: Path = ROOT / page
        text = path.read_text()
        if (written := write(name, text)) != text:
            path.write_text(written)
            print(f"{page}: {name}")
    print_words()


if __name__ == "__main__":
    main()
