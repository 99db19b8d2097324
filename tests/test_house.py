"""The rules of the house, as far as a machine can check them."""

import ast
import json
import re
from collections import defaultdict
from functools import cache

import pytest

from harness.apps import settings
from harness.serving import ROOT, run_program, run_python
from marketplace import create_app
from marketplace.services import services
from tests.source import MODULES

SHARED = sorted(path for folder in ("harness", "stress") for path in (ROOT / folder).rglob("*.py"))
WORDS = {
    "version",
    "errors",
    "text",
    "events",
    "assets",
    "command_line",
    "hedera",
    "wsgi_environ",
    "metrics",
    "settings",
    "services",
}
# The rooms and words that each room may import, besides itself. The factory puts them together.
ALLOWED = {
    "version": set(),
    "errors": {"text"},
    "text": set(),
    "events": {"hedera"},
    "assets": set(),
    "command_line": {"text"},
    "hedera": set(),
    "wsgi_environ": set(),
    "metrics": set(),
    "settings": {"errors", "hedera"},
    "store": WORDS,
    "ledger": WORDS,
    "market": WORDS | {"ledger", "store"},
    "api": WORDS | {"market", "store"},
    "serving": WORDS | {"market", "store"},
    "watcher": WORDS | {"market", "ledger", "store", "api"},
    "hiero_sandbox": set(),
    "sandbox": WORDS | {"market", "store", "ledger", "api", "serving", "watcher", "hiero_sandbox"},
    "cli": WORDS | {"market", "ledger", "store", "watcher", "sandbox"},
    "storefront": WORDS | {"api"},  # what the pages show comes from the API
    "demo": WORDS | {"sandbox", "storefront"},
    "console": WORDS | {"market", "ledger", "store", "api", "storefront"},
    "wsgi": {"create_app", "serving"},
    "__main__": {"create_app", "version"},
}
# Imports that a module must not have, although its room may.
WITHOUT = {
    "store/nfts.py": ("flask",),
    "market/listing_rule.py": ("flask", "marketplace.store", "marketplace.hedera.times"),
    "hedera": ("flask", "requests"),
    "api/schemas.py": ("marketplace.store", "marketplace.market"),
    "api/fields.py": ("marketplace.store", "marketplace.market"),
    "cli": ("flask.request",),
    "watcher": ("flask.request",),
    "market": ("flask.request",),
    "store": ("flask.request",),
}


@cache
def parse(path):
    return ast.parse(path.read_text())


@cache
def imports(path):
    names = []
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return names


def our_imports(path):
    """The rooms and words that a module imports."""
    for name in imports(path):
        package, _, rest = name.partition(".")
        if package == "hiero_sandbox":
            yield package
        elif package == "marketplace" and rest:
            yield rest.partition(".")[0]


# This module imports types of several rooms, but loads none of them.
TYPES_ONLY = "services"


def room_of(path):
    """The room or the word that a module is in: a folder or a file of marketplace/, or the sandbox."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[1]


def test_imports_point_one_way(subtests):
    for path in MODULES:
        room = room_of(path)
        if room in ALLOWED:
            with subtests.test(path.relative_to(ROOT).as_posix()):
                assert set(our_imports(path)) <= ALLOWED[room] | {room}


# What is for tests, load and measurements may import, besides itself and the packages.
PROGRAMS = {
    "harness": set(),
    "stress": {"harness"},
    "benchmarks": {"harness"},
    "tests": {"harness", "stress"},
}


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_import_one_way(program):
    # Without what is installed inside of it, in folders such as .venv and node_modules.
    files = (path for path in (ROOT / program).rglob("*.py") if "lib" not in path.parts)
    for path in files:
        others = {name.partition(".")[0] for name in imports(path)} & PROGRAMS.keys()
        assert others <= PROGRAMS[program] | {program}, path


def test_the_sandboxs_tests_need_the_sandbox_alone(subtests):
    for path in (ROOT / "sandbox/tests").rglob("*.py"):
        with subtests.test(path.name):
            ours = {name.partition(".")[0] for name in imports(path)} & {"marketplace", *PROGRAMS}
            assert not ours


def test_no_test_module_is_imported(subtests):
    """What several need is in a module beside them, or in harness/."""
    for folder in ("tests", "sandbox/tests"):
        for path in (ROOT / folder).rglob("*.py"):
            if "lib" in path.parts or "node_modules" in path.parts:
                continue
            with subtests.test(path.relative_to(ROOT).as_posix()):
                assert not [each for each in imports(path) if re.search(r"tests\..*\btest_", each)]


def name_of(path):
    home = ROOT / "sandbox" if "hiero_sandbox" in path.parts else ROOT
    parts = path.relative_to(home).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def needs_of(node, names):
    """The modules that code imports, also inside functions, and for the checker alone."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        taken = (f"{node.module}.{alias.name}" for alias in node.names)
        yield from (name if name in names else node.module for name in taken)
    else:
        for child in ast.iter_child_nodes(node):
            yield from needs_of(child, names)


@pytest.mark.parametrize("paths", [MODULES, SHARED], ids=["packages", "harness and stress"])
def test_no_modules_import_each_other(paths):
    names = {name_of(path): path for path in paths}
    graph = {name: {*needs_of(parse(path), names)} - {name} for name, path in names.items()}
    while leaves := [name for name, needs in graph.items() if not needs & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert not graph, f"these import each other, or what does: {sorted(graph)}"


def test_every_room_has_its_directions():
    others = {"__init__", "factory", TYPES_ONLY}
    assert {room_of(path) for path in MODULES} == ALLOWED.keys() | others


@pytest.mark.parametrize("place", WITHOUT)
def test_forbidden_imports_of_a_module(place):
    for path in MODULES:
        if f"{path.relative_to(ROOT).as_posix()}/".startswith(f"marketplace/{place}/"):
            for name in imports(path):
                assert not name.startswith(WITHOUT[place]), f"{path}: {name}"


def test_nothing_of_the_package_needs_the_deployments_own_files():
    for path in MODULES:
        assert not {"app", "config", "wsgi"} & {name.partition(".")[0] for name in imports(path)}


def test_only_the_reconciler_writes_what_is_for_sale():
    """tests/store/test_plans.py shows that no other statement does."""
    callers = {
        path.name
        for path in MODULES
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Attribute) and node.attr == "mark_reconciled"
    }
    assert callers == {"reconciler.py"}


def test_the_pages_ask_the_api_alone():
    for path in MODULES:
        if room_of(path) == "demo":
            assert not re.search(r"\.execute\(|\.database\b|\bSELECT\b", path.read_text()), path


def test_only_the_engine_imports_the_sqlite_library():
    """They import sqlite-utils' one: two libraries in a process lose each other's locks."""
    importers = defaultdict(set)
    for path in MODULES:
        for name in imports(path):
            if room_of(path) != "hiero_sandbox" and re.search(r"(^|\.)(py)?sqlite3$", name):
                importers[name].add(path.name)
    engine = {"connection.py", "schema.py", "sqlite.py", "sqlite_files.py"}
    assert importers == {"sqlite_utils.utils.sqlite3": engine}


def test_every_module_says_what_it_is_for(subtests):
    for path in MODULES:
        with subtests.test(path.relative_to(ROOT).as_posix()):
            assert ast.get_docstring(parse(path)), "no module docstring"


def test_no_module_assigns_a_constant_twice(subtests):
    for path in MODULES:
        with subtests.test(path.relative_to(ROOT).as_posix()):
            body = parse(path).body
            assigned = [node for node in body if isinstance(node, ast.Assign)]
            targets = [target for node in assigned for target in node.targets]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            assert len(names) == len({*names}), names


def test_the_application_of_the_clone_takes_overrides(tmp_path):
    options = {"DATABASE_URL": f"sqlite:///{tmp_path}/own.db", "DATA_DIR": str(tmp_path)}
    program = "import json, sys; from app import create_app; create_app(**json.loads(sys.argv[1]))"
    run_python(program, json.dumps(options))
    assert (tmp_path / "own.db").exists()


def test_create_app_needs_no_click():
    assert not any("click" in name for name in imports(ROOT / "marketplace/factory.py"))


def test_every_route_is_in_a_document(tmp_path):
    others = ("README.md", "marketplace/storefront/README.md")
    pages = [*map(ROOT.joinpath, others), *ROOT.glob("docs/*.md")]
    documents = "\n".join(page.read_text() for page in pages)
    ledgers = (ROOT / "sandbox/README.md").read_text()
    app = create_app(**settings(tmp_path))
    for rule in [*app.url_map.iter_rules(), *services(app).sandbox.app.url_map.iter_rules()]:
        if rule.endpoint.endswith("static") or "assets" in rule.rule or rule.rule == "/":
            continue
        if rule.endpoint == "mirror.show_nothing":
            continue
        shown = re.sub("<(int|path|rest):", "<", rule.rule)
        if rule.map is app.url_map:
            assert f"`{shown}`" in documents, rule
        elif rule.endpoint.startswith("mirror."):
            assert f"`{shown.removeprefix('/api/v1')}`" in ledgers, rule
        else:
            assert f"`/sandbox{shown}`" in documents, rule


STRANGE = ["PIL", "pyvips", "_libvips", "requests_hardened", "marketplace.watcher.strangers"]
STRANGE += ["marketplace.watcher.webhooks"]
NEEDLESS = ["hiero_sandbox", "marketplace.sandbox", "marketplace.demo", "hiero_sdk_python", "grpc"]
PROGRAM = """
import json, sys
from marketplace import create_app
options, *without = map(json.loads, sys.argv[1:])
create_app(**options)
print([name for name in sys.modules if name.startswith(tuple(without))])
"""


@pytest.mark.parametrize(
    ("network", "without"), [("sandbox", STRANGE), ("testnet", STRANGE + NEEDLESS)]
)
def test_a_web_process_loads_nothing_that_meets_strangers_or_that_it_never_needs(
    tmp_path, network, without
):
    options = settings(tmp_path) | {"NETWORK": network, "ACCOUNT_ID": "0.0.9001"}
    assert run_python(PROGRAM, *map(json.dumps, [options, *without])) == "[]\n"


def test_the_sandbox_loads_no_module_of_the_marketplace():
    program = (
        "import sys, hiero_sandbox.application, hiero_sandbox.hapi.server; print([*sys.modules])"
    )
    assert "marketplace" not in ast.literal_eval(run_python(program))


def test_the_ledger_loads_no_flask():
    """It is a library of its own: whoever calls it hands the database to it."""
    folder = ROOT / "sandbox/hiero_sandbox/ledger"
    names = ", ".join(f"hiero_sandbox.ledger.{path.stem}" for path in folder.glob("[a-z]*.py"))
    loaded = ast.literal_eval(run_python(f"import sys, {names}; print([*sys.modules])"))
    assert "hiero_sandbox.ledger.consensus" in loaded
    assert not {"flask", "werkzeug", "click", "marketplace", "hiero_sandbox.database"} & {*loaded}


def test_a_watcher_leaves_images_to_processes_of_their_own():
    modules = "marketplace.watcher.enrichment_processes, marketplace.watcher.webhooks"
    program = f"import sys, marketplace.watcher.loop, {modules}; print([*sys.modules])"
    assert not {"PIL", "pyvips"} & {*ast.literal_eval(run_python(program))}


def test_a_reader_of_strangers_loads_only_what_it_needs():
    # It reads the mirror node's messages (HCS) by marshmallow.
    needless = ("PIL", "flask", "werkzeug", "sqlite_utils", "click", "grpc")
    program = (
        "import sys, marketplace.watcher.strangers.reader;"
        f" print([name for name in sys.modules if name.startswith({needless})])"
    )
    assert run_python(program) == "[]\n"


def test_only_the_watcher_imports_what_meets_strangers():
    for path in MODULES:
        if "watcher" not in path.parts:
            assert not any("strangers" in name for name in imports(path)), path


def test_every_file_is_named_by_another():
    """A file that nobody names came by accident, or is left over."""
    if not (ROOT / ".git").exists():
        pytest.skip("a release's archive has no git")
    listed = run_program("git", "ls-files", cwd=ROOT).stdout.split()
    paths = [path for path in map(ROOT.joinpath, listed) if path.is_file()]
    texts = {path: path.read_bytes() for path in paths if path.name != "CHANGELOG.md"}
    found_by_their_place = ("__init__", "__main__", "conftest")
    for path in paths:
        is_hidden = any(part.startswith(".") for part in path.relative_to(ROOT).parts)
        by_place = path.stem in found_by_their_place or path.name.startswith("test_") or is_hidden
        name = path.stem.encode()
        named = by_place or any(name in text for other, text in texts.items() if other != path)
        assert named, path
