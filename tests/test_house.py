"""The rules of the house, as far as a machine can check them."""

import ast
import re
from pathlib import Path

import pytest

from app import create_app
from tests.conftest import settings

ROOT = Path(__file__).parent.parent
MODULES = [ROOT / "app.py", ROOT / "config.py", *sorted((ROOT / "marketplace").rglob("*.py"))]
# What each room may not import: imports point one way.
FORBIDDEN = {
    "marketplace/ledger": (
        "marketplace.sales",
        "marketplace.queries",
        "marketplace.db",
        "marketplace.sandbox",
    ),
    "marketplace/sales.py": ("marketplace.sandbox", "marketplace.schemas", "flask.request"),
    "marketplace/rule.py": ("flask", "marketplace.db", "marketplace.queries", "marketplace.times"),
    "marketplace/reconciler.py": ("marketplace.sandbox", "marketplace.schemas", "flask.request"),
    "marketplace/demo": (
        "marketplace.sales",
        "marketplace.queries",
        "marketplace.db",
        "marketplace.ledger",
    ),
    "marketplace/transactions.py": (
        "marketplace.db",
        "marketplace.queries",
        "marketplace.ledger",
        "requests",
    ),
    "marketplace/queries.py": ("marketplace", "flask"),
    "marketplace/schemas.py": ("marketplace.queries", "marketplace.db", "marketplace.sales"),
    "marketplace/fields.py": ("marketplace.queries", "marketplace.db", "marketplace.schemas"),
    "marketplace/errors.py": ("marketplace",),
}


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_imports_point_one_way(room):
    for path in MODULES:
        if str(path.relative_to(ROOT)).startswith(room):
            for name in imports(path):
                assert not name.startswith(FORBIDDEN[room]), f"{path}: {name}"


def test_only_the_reconciler_writes_what_is_for_sale():
    writers = {path.name for path in MODULES if "mark_in_line" in path.read_text()}
    assert writers == {"queries.py", "reconciler.py"}
    assert (ROOT / "marketplace/queries.py").read_text().count("SET is_for_sale") == 1


def test_there_is_one_import_of_the_sqlite_library():
    importers = [
        path.name
        for path in MODULES
        if any(re.match(r"(sqlite3|pysqlite3)\b|.*\.sqlite3$", name) for name in imports(path))
    ]
    assert importers == ["db.py"]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_module_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), "no module docstring"


def test_every_route_is_in_the_readme(tmp_path):
    readme = (ROOT / "README.md").read_text()
    app = create_app(**settings(tmp_path))
    for rule in [*app.url_map.iter_rules(), *app.extensions["sandbox"].url_map.iter_rules()]:
        if rule.endpoint.endswith("static") or "assets" in rule.rule or rule.rule == "/":
            continue
        if rule.endpoint == "mirror.show_nothing":
            continue
        prefix = "" if rule in app.url_map._rules else "/sandbox"
        assert f"`{prefix}{rule.rule}`".replace("int:", "") in readme, rule
