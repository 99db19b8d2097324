"""Clients, documented and generated ones, list, withdraw and buy an NFT in a running sandbox.

Needs the generators: make tools installs them.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from harness.apps import settings
from harness.serving import BIN, ROOT, run_program, serve
from marketplace import create_app

FOLDER = Path(__file__).parent / "clients"
TYPESCRIPT = FOLDER / "typescript"
TOOLS = "node_modules/.bin"
DOCUMENTS = {"market": "/openapi.json", "sandbox": "/sandbox/openapi.json"}

needs_python_generator = pytest.mark.skipif(
    not find_spec("openapi_python_client"),
    reason="needs openapi-python-client (make tools)",
)
needs_generators = pytest.mark.skipif(
    not find_spec("openapi_generator_cli") or not find_spec("datamodel_code_generator"),
    reason="needs openapi-generator-cli and datamodel-code-generator (make tools)",
)
needs_java = pytest.mark.skipif(not shutil.which("java"), reason="needs Java (make tools)")
needs_typescript_generator = pytest.mark.skipif(
    not shutil.which("node") or not (TYPESCRIPT / "node_modules").exists(),
    reason="needs openapi-typescript (make tools, with npm)",
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
    return run_program(*command, cwd=cwd, env=environ, check=True).stdout


def listed_by(folder, *command):
    """What a client prints, that is run beside a sandbox of its own: the NFT it listed."""
    (folder / "service").mkdir()
    with serve(folder / "service", "--workers", "1") as service:
        return json.loads(run(*command, service.url, service.token, cwd=folder))


@pytest.mark.parametrize("language", ["py", pytest.param("ts", marks=needs_typescript_generator)])
def test_the_documented_client_lists_an_nft_and_follows(tmp_path, language):
    """The program of examples/client, until it prints the listing that it made."""
    name = f"client.{language}"
    shutil.copy(ROOT / "examples/client" / name, tmp_path)
    command = [sys.executable, name]
    if language == "ts":
        (tmp_path / "node_modules").symlink_to(TYPESCRIPT / "node_modules")
        shutil.copy(TYPESCRIPT / "package.json", tmp_path)
        settings = json.loads((TYPESCRIPT / "tsconfig.json").read_text())
        (tmp_path / "tsconfig.json").write_text(json.dumps(settings | {"files": ["client.ts"]}))
        run(f"{TOOLS}/tsc", cwd=tmp_path)
        command = ["node", "client.js"]
    with serve(tmp_path, "--workers", "1") as service:
        command += [service.url, service.token]
        client = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
        with client:
            printed = [client.stdout.readline() for _ in range(3)]
            client.send_signal(signal.SIGINT)
    assert client.returncode == (0 if language == "py" else -signal.SIGINT)
    assert printed[0] == "Events as they happen; Ctrl-C ends this\n"
    assert printed[2] == "LISTED 0.0.7007 8 250\n", printed


def test_the_documents_pin_the_generator_of_typescript_clients():
    package = json.loads((TYPESCRIPT / "package.json").read_text())
    versions = package["dependencies"] | package["devDependencies"]
    text = (ROOT / "docs" / "api.md").read_text()
    for name in ("typescript", "openapi-typescript"):
        assert f"--package {name}@{versions[name]} " in text
    assert f"`openapi-fetch` {versions['openapi-fetch']}" in text


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


LATER_WORDS = {
    "Event": {"kind": "LATER_KIND"},
    "OfferRecord": {"state": "LATER_STATE"},
    "Network": {"network": "laternet"},
    "ServiceStatus": {"network": "laternet", "watcher": "later"},
    "ApiError": {"reason": "LATER_REASON"},
}
# Each reads an answer as its client does: of a generated package, a class's name and a record.
READ_LATER = {
    "openapi-python-client": "import market.models; read = lambda name, record:"
    " getattr(market.models, name).from_dict(record).to_dict()",
    "openapi-generator": "import openapi_client; openapi_client.EventsApi.list_events"
    "; read = lambda name, record: getattr(openapi_client, name).from_dict(record).to_dict()",
    "datamodel-codegen": "import market; read = lambda name, record:"
    " getattr(market, name).model_validate(record).model_dump(mode='json')",
}


def generate(tool, document, folder):
    """Generate a Python client of a document into a folder."""
    match tool:
        case "openapi-python-client":
            options = ["--output-path", "market", "--meta", "none", "--config"]
            run(tool, "generate", "--path", document, *options, FOLDER / "python.yml", cwd=folder)
        case "openapi-generator":
            run("openapi-generator-cli", "generate", "-g", "python", "-i", document, cwd=folder)
        case "datamodel-codegen":
            kind = ["--output-model-type", "pydantic_v2.BaseModel", "--formatters", "builtin"]
            run(tool, "--input", document, "--output", "market.py", *kind, cwd=folder)


def make_record(schemas, name):
    """An object of a schema, with the examples of its required fields."""
    record = {}
    for field in schemas[name]["required"]:
        described = schemas[name]["properties"][field]
        refs = [each["$ref"] for each in (described, *described.get("allOf", ())) if "$ref" in each]
        if refs:
            record[field] = make_record(schemas, refs[0].rpartition("/")[2])
        elif "example" in described:
            record[field] = described["example"]
        else:
            record[field] = None if "null" in str(described) else []
    return record


@needs_python_generator
@needs_generators
@needs_java
@pytest.mark.parametrize("tool", READ_LATER)
def test_a_generated_client_reads_words_of_a_later_version(documents, tmp_path, tool):
    """One new kind of event made clients refuse the whole page."""
    schemas = json.loads((documents / "market.json").read_text())["components"]["schemas"]
    records = {name: make_record(schemas, name) | new for name, new in LATER_WORDS.items()}
    generate(tool, documents / "market.json", tmp_path)
    (tmp_path / "records.json").write_text(json.dumps(records))
    program = f"{READ_LATER[tool]}\nimport json\nrecords = json.load(open('records.json'))"
    program += (
        "\nprint(json.dumps({name: read(name, records[name]) for name in records}, default=str))"
    )
    read = json.loads(run(sys.executable, "-c", program, cwd=tmp_path))
    for name, new in LATER_WORDS.items():
        assert read[name] | new == read[name], (name, read[name])


@needs_generators
@needs_java
@pytest.mark.parametrize("language", ["java", "csharp", "typescript-fetch"])
def test_a_client_of_openapi_generator_can_list_the_events(documents, tmp_path, language):
    """A webhook of the same tag took the place of these calls."""
    only = [
        "--global-property",
        "apis,apiDocs=false,apiTests=false",
        "-i",
        documents / "market.json",
    ]
    run("openapi-generator-cli", "generate", "-g", language, *only, "-o", ".", cwd=tmp_path)
    [api] = tmp_path.rglob("EventsApi.*")
    assert re.search("listEvents", api.read_text(), re.IGNORECASE)


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
