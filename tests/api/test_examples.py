"""Whoever tries the documents' examples, one after the other, is answered 200: beside a fresh sample."""

import re
from contextlib import contextmanager

import pytest
from click.testing import CliRunner

from marketplace import create_app
from marketplace.sandbox import access
from marketplace.sandbox.commands import seed_command
from tests.conftest import settings

pytestmark = pytest.mark.once("the documents are the same")

DOCUMENTS = "/openapi.json", "/sandbox/openapi.json"
METHODS = {"get", "post", "put", "delete", "patch"}


@contextmanager
def seeded(folder):
    """A client of a service as make run starts it, with the sandbox's own token."""
    app = create_app(**settings(folder))
    with app.app_context():
        CliRunner().invoke(seed_command, catch_exceptions=False)
        token = access.kept_token()
    client = app.test_client()
    client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    yield client


def operations(client):
    """Every operation: method, address, parameters and body, as the examples of the document have them."""
    for path in DOCUMENTS:
        document = client.get(path).json
        [server] = document["servers"]
        root = re.sub(r"^https?://[^/]*", "", server["url"])
        for address, item in document["paths"].items():
            for method in item.keys() & METHODS:
                yield method, root + address, item[method]


def call(client, method, address, operation):
    """Call an operation as the API reference fills it in: whatever has an example."""
    given = {"path": {}, "query": {}}
    for parameter in operation.get("parameters", []):
        if "example" in parameter["schema"]:
            given[parameter["in"]][parameter["name"]] = parameter["schema"]["example"]
        else:
            assert not parameter.get("required"), (address, parameter["name"])
    for name, value in given["path"].items():
        address = address.replace(f"{{{name}}}", str(value))
    body = operation.get("requestBody")
    example = body and body["content"]["application/json"]["example"]
    return client.open(address, method=method, query_string=given["query"], json=example)


def test_every_example_is_answered(tmp_path):
    with seeded(tmp_path) as client:
        everything = list(operations(client))
        assert len(everything) > 10
        for _ in ("once", "and again: nobody's example spoils another's"):
            for method, address, operation in everything:
                r = call(client, method, address, operation)
                assert r.status_code == 200, (method, address, r.text)
        for path in ("/v1/orderbook", "/v1/nftslisted/0.0.5001", "/v1/user/0.0.1001/listed"):
            assert client.get(path).json, path
        decoded = client.post("/sandbox/decode", json=body_of(everything, "/sandbox/decode")).json
        assert decoded["approvals"][0]["serialNumbers"] == [7]
        submitted = client.post(
            "/sandbox/transactions", json=body_of(everything, "/sandbox/transactions")
        )
        assert submitted.json["result"] == "TRANSACTION_EXPIRED"


def body_of(everything, wanted):
    [operation] = [operation for _, address, operation in everything if address == wanted]
    return operation["requestBody"]["content"]["application/json"]["example"]
