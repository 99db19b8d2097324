"""Whoever tries the documents' examples, one after the other, is answered 200: beside a fresh sample."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.apps import settings
from marketplace import create_app
from marketplace.cli.sandbox import seed_command
from marketplace.sandbox import addresses
from tests.api.documented import call, operations

ROOT = Path(__file__).parents[2]
DOCUMENTS = "/openapi.json", "/sandbox/openapi.json"


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A client of a service as make run starts it, with the sandbox's own token."""
    app = create_app(**settings(tmp_path_factory.mktemp("seeded")))
    with app.app_context():
        CliRunner().invoke(seed_command, catch_exceptions=False)
        token = addresses.kept_token()
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    return client


def test_every_example_is_answered(client):
    everything = [each for path in DOCUMENTS for each in operations(client, path)]
    assert len(everything) > 10
    for _ in ("once", "and again: nobody's example spoils another's"):
        for method, address, operation in everything:
            r = call(client, method, address, operation)
            status = 404 if is_about_an_offer(operation) else 200  # none of the sample has this id
            assert r.status_code == status, (method, address, r.text)
    for path in ("/v1/orderbook", "/v1/nftslisted/0.0.5001", "/v1/user/0.0.1001/listed"):
        assert client.get(path).json, path
    decoded = client.post("/sandbox/decode", json=body_of(everything, "/sandbox/decode")).json
    assert decoded["approvals"][0]["serialNumbers"] == [7]
    submitted = client.post(
        "/sandbox/transactions", json=body_of(everything, "/sandbox/transactions")
    )
    assert submitted.json["result"] == "TRANSACTION_EXPIRED"


def is_about_an_offer(operation):
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    names = {parameter["name"] for parameter in operation.get("parameters", ())}
    return "offerId" in names | {*content.get("example", ())}


def body_of(everything, wanted):
    [operation] = [operation for _, address, operation in everything if address == wanted]
    return operation["requestBody"]["content"]["application/json"]["example"]


def test_the_postman_collection_asks_what_the_document_says(client):
    collection = json.loads((ROOT / "examples/postman.json").read_text())
    documented = {f"{method} {address}" for method, address, _ in operations(client)}
    url = client.get("/openapi.json").json["servers"][0]["url"]
    variables = {each["key"]: each["value"] for each in collection["variable"]}
    assert variables == {"baseUrl": url, "bearerToken": ""}
    token = {"type": "bearer", "bearer": [{"key": "token", "value": "{{bearerToken}}"}]}
    for request in (item["request"] for folder in collection["item"] for item in folder["item"]):
        where, path = request["url"], "/" + "/".join(request["url"]["path"])
        assert where["host"] == ["{{baseUrl}}"]
        assert request["auth"] == (None if path == "/status" else token)
        documented.remove(f"{request['method'].lower()} " + re.sub(r":(\w+)", r"{\1}", path))
        for variable in where["variable"]:
            path = path.replace(f":{variable['key']}", variable["value"])
        query = {each["key"]: each["value"] for each in where["query"] if not each["disabled"]}
        body = request["body"].get("raw")
        headers = {each["key"]: each["value"] for each in request["header"]}
        r = client.open(
            path, method=request["method"], query_string=query, data=body, headers=headers
        )
        is_about_an_offer = "0.0.8001" in f"{path} {body}"
        assert r.status_code == (404 if is_about_an_offer else 200), (path, r.text)
    assert not documented


@pytest.mark.parametrize(("prefix", "mount"), [("", ""), ("/api", ""), ("/api", "/sandbox")])
def test_llms_txt_has_the_form_of_llmstxt_org(tmp_path, prefix, mount):
    """A title, a summary, paragraphs, and lists of links that lead somewhere."""
    client = create_app(**settings(tmp_path), API_PREFIX=prefix).test_client()
    own = mount or prefix
    r = client.get(f"{own}/llms.txt")
    assert r.mimetype == "text/plain"
    title, summary, *others = r.text.rstrip().split("\n\n")
    assert title.startswith("# ")
    assert summary.startswith("> ")
    first = next(n for n, block in enumerate(others) if block.startswith("## "))
    assert not any(block.startswith(("#", "-")) for block in others[:first])
    links = []
    for heading, block in zip(others[first::2], others[first + 1 :: 2], strict=True):
        assert re.fullmatch("## [A-Z][^\n]*", heading)
        for line in block.splitlines():
            links.append(re.fullmatch(r"- \[[^]]+\]\((\S+)\): .+", line)[1])
    addresses = [re.sub(r"^https?://[^/]*", "", link) for link in links]
    assert {client.get(address).status_code for address in addresses[:1]} == {200}
    documented = client.get(f"{own}/openapi.json").json["paths"]
    assert {f"{mount}{path}" for path in documented} == {*addresses[1:]}
