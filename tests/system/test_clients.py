"""Clients generated from our documents are typed, and list, withdraw and buy an NFT in a running sandbox.

Needs the generators: make clients installs them.
"""

import json
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from marketplace import create_app
from tests.conftest import settings
from tests.serving import BIN, serve

pytestmark = pytest.mark.once("a client sees no engine")

FOLDER = Path(__file__).parent / "clients"
TYPESCRIPT = FOLDER / "typescript"
TOOLS = "node_modules/.bin"
DOCUMENTS = {"market": "/openapi.json", "sandbox": "/sandbox/openapi.json"}

needs_python_generator = pytest.mark.skipif(
    not find_spec("openapi_python_client"),
    reason="needs openapi-python-client (make clients)",
)
needs_typescript_generator = pytest.mark.skipif(
    not shutil.which("node") or not (TYPESCRIPT / "node_modules").exists(),
    reason="needs openapi-typescript (make clients, with npm)",
)


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    """A folder with the documents as files, named after their clients."""
    folder = tmp_path_factory.mktemp("documents")
    client = create_app(**settings(folder)).test_client()
    for name, path in DOCUMENTS.items():
        (folder / f"{name}.json").write_text(client.get(path).text)
    return folder


def run(*command, cwd):
    # The generator of Python clients has its work formatted by ruff.
    environ = os.environ | {"PATH": f"{BIN}:{os.environ['PATH']}"}
    process = subprocess.run(command, cwd=cwd, env=environ, capture_output=True, text=True)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def listed_by(folder, *command):
    """What a client prints, that is run beside a sandbox of its own: the NFT it listed."""
    (folder / "service").mkdir()
    with serve(folder / "service", "--workers", "1") as service:
        token = service.flask("token", "create", "x", "--scope", "read", "--scope", "write").stdout
        return json.loads(run(*command, service.url, token.strip(), cwd=folder))


def assert_listed(record):
    assert record["token"] == "0.0.7007"
    assert record["owner"] == {"accountId": "0.0.2002"}
    assert (record["isForSale"], record["listingPrice"]) == (True, 250)


@needs_python_generator
def test_a_python_client_lists_an_nft(documents, tmp_path):
    for name in DOCUMENTS:
        arguments = ["--path", documents / f"{name}.json", "--output-path", tmp_path / name]
        options = ["--meta", "none", "--config", FOLDER / "python.yml", "--fail-on-warning"]
        run("openapi-python-client", "generate", *arguments, *options, cwd=tmp_path)
    script = shutil.copy(FOLDER / "list_nft.py", tmp_path)
    assert_listed(listed_by(tmp_path, sys.executable, script))


@needs_typescript_generator
def test_a_typescript_client_lists_an_nft(documents, tmp_path):
    """Where the program says that a call is wrong, the types tell so."""
    (tmp_path / "node_modules").symlink_to(TYPESCRIPT / "node_modules")
    for name in ("package.json", "tsconfig.json", "list-nft.ts"):
        shutil.copy(TYPESCRIPT / name, tmp_path)
    for name in DOCUMENTS:
        document = documents / f"{name}.json"
        run(f"{TOOLS}/openapi-typescript", document, "--output", f"{name}.d.ts", cwd=tmp_path)
    run(f"{TOOLS}/tsc", cwd=tmp_path)
    assert_listed(listed_by(tmp_path, "node", "list-nft.js"))
