"""The documents are run: their blocks in a shell beside the service, in a clone where they leave nothing."""

import json
import re
import shutil
from contextlib import contextmanager
from typing import NamedTuple

import jsonschema
import pytest
from werkzeug.test import Client

from harness.serving import BIN, ROOT, Service, environment, reserved_port
from tests.system.documents import LOCAL

PLACES = ("*.md", "docs/*.md", "sandbox/*.md", "deploy/*.md", "examples/*/*.md")
DOCUMENTS = sorted(str(path.relative_to(ROOT)) for place in PLACES for path in ROOT.glob(place))
LANGUAGES = {"console", "sh", "python", "py", "ts", "js", "mjs", "json", "text", "nginx", "yaml"}
# The sh blocks that are not run here: the document, how they begin, and why.
NOT_RUN = {
    ("README.md", "make run"): "the fixture serves as make run does, and make test runs this",
    ("deploy/README.md", ""): "as root, on a machine of its own: see tests/system/test_deploy.py",
    (
        "docs/api.md",
        "openapi-python-client",
    ): "needs the generators: see tests/system/test_clients.py",
    ("docs/performance.md", "make bench"): "takes minutes",
    ("docs/embedding.md", "make wheel"): "tests/system/test_package.py runs them",
    ("docs/embedding.md", ".venv/bin/flask --app 'app:"): "tests/system/test_package.py runs it",
    ("docs/install.md", "python3 -m venv .venv"): "downloads",
    ("docs/operating.md", "systemctl stop"): "needs systemd",
    ("docs/postgresql.md", "runuser -u postgres"): "as root, beside a server",
    ("docs/postgresql.md", ".venv/bin/pip install 'psycopg"): "downloads",
    ("docs/postgresql.md", "/opt/patroni"): "beside a server of PostgreSQL on three machines",
    ("docs/postgresql.md", "pg_dump"): "needs a server of PostgreSQL",
    ("docs/postgresql.md", "createdb"): "needs a server of PostgreSQL",
    ("docs/postgresql.md", "pg_basebackup"): "needs a server of PostgreSQL",
    ("docs/postgresql.md", "deploy/recover-postgresql.sh"): "test_recover_postgresql.py runs it",
    ("sandbox/README.md", "pip install"): "needs a wheel: see tests/system/test_package.py",
    ("sandbox/README.md", "export OPERATOR_ID"): "needs a network: test_conformance.py has one",
    ("sandbox/README.md", "python3 -m venv"): "downloads what the tests have installed",
    ("docs/install.md", "pip install granian"): "downloads; make bench serves so",
    ("docs/install.md", "pip install waitress"): "downloads",
    ("docs/install.md", "pip install uwsgi"): "downloads and compiles",
    ("docs/database.md", "flock instance/"): "asks for statements",
}
SHOWN_URL = "http://127.0.0.1:8000"  # in what is printed; no command has it
MARKER = "--- next command ---"


class Block(NamedTuple):
    document: str
    text: str

    @property
    def is_served(self):
        return "gunicorn" in self.text.splitlines()[-1]

    def reason_not_to_run(self):
        for (document, beginning), reason in NOT_RUN.items():
            if self.document == document and self.text.startswith(beginning):
                return reason
        return None


def read(document):
    return (ROOT / document).read_text()


def blocks(language, *documents):
    return [
        Block(document, text)
        for document in documents or DOCUMENTS
        for text in re.findall(rf"^```{language}\n(.*?)^```$", read(document), re.M | re.S)
    ]


def commands(block):
    """Each command of a console block, with the output that is shown under it."""
    for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
        command = re.match(r"(.*\\\n)*.*\n", part)[0]
        yield command, part.removeprefix(command).strip()


@pytest.fixture(scope="module")
def clone(tmp_path_factory):
    """The service in a copy of the clone, as make run starts it, without the sample."""
    if not shutil.which("curl"):
        pytest.skip("needs curl (apt-get install curl)")
    folder = tmp_path_factory.mktemp("documents") / "clone"
    shutil.copytree(ROOT, folder, symlinks=True, ignore=shutil.ignore_patterns(*LOCAL))
    (folder / ".venv").symlink_to(BIN.parent)
    line = "SAMPLE=no exec .venv/bin/gunicorn -c python:marketplace.sandbox.server wsgi:app"
    with running(line, folder, elsewhere=tmp_path_factory.mktemp("elsewhere")) as service:
        yield service


@contextmanager
def running(line, folder, elsewhere):
    """What a shell serves, on a port of its own, until it is not needed any more."""
    with reserved_port() as port, reserved_port() as node_port:
        environ = environment(PUBLIC_URL=f"http://127.0.0.1:{port}")
        environ |= {"PORT": str(port), "GRPC_PORT": str(node_port)}
        environ |= {"GUNICORN_CMD_ARGS": f"--bind 127.0.0.1:{port}", "TMPDIR": str(elsewhere)}
        del environ["PYTHONPATH"]
        service = Service(folder, port, environ)
        with service.running(["bash", "-c", line], start_new_session=True):
            yield service
    assert "Traceback" not in service.output


@pytest.fixture
def nothing_left(clone):
    """Whatever is done in the clone, there are the same files afterwards."""
    before = files(clone.folder)
    yield
    assert files(clone.folder) == before


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file())
    parts = ((path, path.relative_to(folder).parts) for path in paths)
    return {path: path.stat().st_mtime_ns for path, within in parts if not set(within) & {*LOCAL}}


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize("document", [name for name in DOCUMENTS if blocks("console", name)])
def test_the_console_blocks_print_what_they_show(clone, document):
    steps = [step for block in blocks("console", document) for step in commands(block)]
    script = f"echo; echo '{MARKER}'\n".join(command for command, _ in steps)
    shell = clone.run("bash", "-c", f"exec 2>&1\n{script}", check=False)
    printed = [part.strip() for part in shell.stdout.split(MARKER)]
    assert len(printed) == len(steps), shell.stdout
    for (command, shown), real in zip(steps, printed, strict=True):
        pattern = re.escape(shown.replace(SHOWN_URL, clone.url)).replace(r"\.\.\.", ".*")
        assert re.fullmatch(pattern, real, re.DOTALL), f"$ {command}{real}"


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    "block",
    [block for block in blocks("sh") if not block.reason_not_to_run()],
    ids=lambda block: f"{block.document}: {block.text.splitlines()[0]}",
)
def test_the_sh_blocks_work(clone, block, tmp_path):
    if block.is_served:
        with running(block.text, clone.folder, elsewhere=tmp_path):
            return
    shell = clone.run("bash", "-e", "-c", block.text, check=False)
    assert shell.returncode == 0, shell.stdout + shell.stderr


def test_every_block_is_run_or_in_the_list_of_exceptions():
    for document in DOCUMENTS:
        fences = re.findall(r"^ *```(.*)$", read(document), re.MULTILINE)
        assert set(fences[0::2]) <= LANGUAGES, document
        assert set(fences[1::2]) <= {""}, document
    for document, beginning in NOT_RUN:
        assert any(block.text.startswith(beginning) for block in blocks("sh", document)), beginning


def test_the_commands_go_to_the_readers_port():
    for block in blocks("sh") + blocks("console"):
        shown = "\n".join(re.findall(r"^\$ .*", block.text, re.MULTILINE)) or block.text
        assert block.document == "deploy/README.md" or SHOWN_URL not in shown, shown


# Without the README's program, which the next test runs, and without the program for a sandbox on
# the standard ports: sandbox/tests/system/test_testing.py runs it.
ALONE = [
    block
    for block in blocks("python")
    if block.document != "README.md" and "127.0.0.1:50211" not in block.text
]


@pytest.mark.parametrize("block", ALONE, ids=lambda block: block.document)
def test_the_python_blocks_work(block, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(block.text, {"__name__": "example"})


def test_the_readmes_program_sells_an_nft(clone, tmp_path):
    _, block = blocks("python", "README.md")
    assert len([*filter(None, block.text.splitlines())]) <= 14
    (tmp_path / "sell.py").write_text(block.text)
    shown = re.search(r"sell\.py\n(.*)\n```", read("README.md"))[1]
    line = f". instance/sandbox.env && .venv/bin/python {tmp_path}/sell.py"
    sold = clone.run("bash", "-c", line)
    assert sold.stdout.splitlines() == [shown], sold.stderr
    again = clone.run("bash", "-c", line, check=False)  # the buyer owns it now
    assert "belongs to 0.0.2003" in again.stderr and "Traceback" not in again.stderr


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_the_readmes_program_in_javascript_sells_an_nft(clone):
    [block] = blocks("mjs", "README.md")
    assert len([*filter(None, block.text.splitlines())]) <= 10
    (clone.folder / "sell.mjs").write_text(block.text)
    shown = re.search(r"sell\.mjs\n(.*)\n```", read("README.md"))[1]
    sold = clone.run("bash", "-c", ". instance/sandbox.env && node sell.mjs")
    assert sold.stdout.splitlines() == [shown], sold.stderr
    again = clone.run("bash", "-c", ". instance/sandbox.env && node sell.mjs", check=False)
    assert "NOT_THE_OWNER" in again.stderr
    (clone.folder / "sell.mjs").unlink()


def test_the_shortest_shop_shows_what_is_for_sale(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block, *_ = blocks("python", "docs/embedding.md")
    assert block.text == blocks("python", "README.md")[0].text
    namespace = {"__name__": "example"}
    exec(block.text, namespace)
    host = namespace["shop"].test_client()
    assert host.get("/").text == "Nothing is for sale"
    assert host.get("/market/v1/orderbook").status_code == 401


def test_the_shop_lets_its_own_users_in(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, block, _ = blocks("python", "docs/embedding.md")
    namespace = {}
    exec(block.text, namespace)
    host = Client(namespace["application"])
    assert host.get("/").text == "The shop"
    assert host.get("/market/v1/orderbook").status_code == 401
    assert host.get("/market/v1/orderbook", headers={"X-Shop-User": "alice"}).status_code == 401
    signed = namespace["signer"].sign("alice").decode()
    assert host.get("/market/v1/orderbook", headers={"X-Shop-User": signed}).json == []


def test_the_hosts_own_test_passes(tmp_path):
    *_, block = blocks("python", "docs/embedding.md")
    namespace = {}
    exec(block.text, namespace)
    namespace["test_a_seller_lists_an_nft"](tmp_path)


def test_the_error_shown_is_a_real_one(client):
    text = read("docs/api.md").partition("The answer to `GET /v1/orderbook?limit=21`:")[2]
    shown = re.search(r"```json\n(.*?)```", text, re.DOTALL)[1]
    assert client.get("/v1/orderbook?limit=21").json == json.loads(shown)


def test_the_objects_shown_are_whole(client):
    """Each has all fields of its schema, in order, and no other."""
    document = client.get("/openapi.json").json
    schemas = document["components"]["schemas"]
    shown = re.findall(r"`GET (/v1/\S+)`:\n\n```json\n(.*?)```", read("docs/api.md"), re.DOTALL)
    objects = [(path, json.loads(text)) for path, text in shown if "?" not in path]
    assert len(objects) == 5
    for path, value in objects:
        [name] = {
            re.search("schemas/([A-Za-z]+)", json.dumps(item["get"]["responses"]["200"]))[1]
            for template, item in document["paths"].items()
            if re.fullmatch(re.sub("{[^}]+}", "[^/]+", template), path)
        }
        assert [*value] == [*schemas[name]["properties"]], path
        described = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
        jsonschema.validate(value, described)


def test_the_make_targets_exist():
    text = "\n".join(map(read, DOCUMENTS))
    targets = set(re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE))
    assert {"run", "test", "tools", "format", "bench-check"} <= targets
    for target in targets:
        assert f"\n{target}:" in read("Makefile"), target


@pytest.mark.parametrize("document", DOCUMENTS)
def test_its_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s]+)\)", read(document)):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        path = (ROOT / document).parent / path if path else ROOT / document
        assert path.exists(), target
        assert not heading or heading in headings(path.read_text()), target


def headings(text):
    """The anchors of a document, as they are made of its headings."""
    titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_every_document_is_linked_from_the_readme():
    linked = re.findall(r"\]\(([^)\s#]+)", read("README.md"))
    for document in DOCUMENTS:
        assert document in {"README.md", *linked} or document.startswith("examples/"), document


def test_the_readme_can_be_read_at_once():
    assert len(read("README.md").splitlines()) <= 160


def test_every_path_in_the_maintainers_guide_exists():
    text = read("docs/maintaining.md")
    house = blocks("text", "docs/maintaining.md")[0].text
    names = re.findall(r"`([\w./-]*(?:/|\.[a-z]+)[\w./-]*)`", text)
    names += re.findall(r"(?:^ *|(?<= ))([\w.]+(?:/|\.py|\.sql))(?= |$)", house, re.MULTILINE)
    assert len(names) > 60
    made = read(".gitignore").splitlines()
    for name in names:
        if name.startswith("/") or f"/{name.strip('/')}/" in made:
            continue  # an address; a folder that tests make
        places = (ROOT, ROOT / "marketplace", ROOT / "sandbox", ROOT / "sandbox/hiero_sandbox")
        assert any((place / name).exists() for place in places), name
