"""Every way to fail answers in the one shape: {"code", "status", "message", "reason", "errors"?}."""

import logging

import pytest
from werkzeug.exceptions import Forbidden, HTTPException

from harness.cast import KEYS, TOKEN
from harness.engines import move_database
from harness.serving import run_python
from marketplace import errors
from marketplace.api import openapi
from marketplace.api.errors import list_reasons
from marketplace.errors import MarketplaceError, find_kinds
from marketplace.services import services, write
from marketplace.store import sqlite_files
from tests.answers import assert_error
from tests.engines import both_engines


def test_an_unexpected_error_tells_nothing_and_is_logged_once(app, client, caplog):
    @app.get("/broken")
    def broken():
        raise RuntimeError("the password is hunter2")

    with caplog.at_level(logging.ERROR):
        r = client.get("/broken")
    body = assert_error(r, 500, "An unexpected error happened")
    assert "hunter2" not in str(body)
    logged = f"Exception on /broken [GET] (request {r.headers['X-Request-ID']})"
    assert [record.message for record in caplog.records] == [logged]


def test_an_error_class_of_a_host_keeps_its_status(app, client):
    class PaymentRequired(Forbidden):
        code = 402
        description = "Your plan has ended"

    @app.get("/paid")
    def paid():
        raise PaymentRequired

    r = client.get("/paid")
    assert (r.status_code, r.json["reason"]) == (402, "PAYMENT_REQUIRED")
    assert r.json["message"] == PaymentRequired.description


def test_a_status_that_has_no_name_is_answered_in_the_one_shape(app, client):
    """A host's code outside of the registry was a KeyError, and the answer a 500."""

    class ClientClosed(HTTPException):
        code = 499
        description = "You left"

    @app.get("/left")
    def left():
        raise ClientClosed

    r = client.get("/left")
    expected = {
        "code": 499,
        "status": "Unknown Error",
        "message": "You left",
        "reason": "CLIENT_CLOSED",
    }
    assert (r.status_code, r.json) == (499, expected)


def test_the_reference_explains_every_reason(app):
    document = app.test_client().get("/openapi.json").json
    *_, described = document["tags"]
    reasons = list_reasons(openapi.find_reasons(document))
    assert described["name"] == "Errors"
    for each in reasons:
        assert (
            f"**{each.reason}**, {each.status}. For users: {each.tell}." in described["description"]
        )
    assert len(reasons) == len([*find_kinds()])


def test_calls_that_share_errors_are_those_that_the_table_says(app):
    document = app.test_client().get("/openapi.json").json
    for operation, reasons in openapi.find_reasons(document).items():
        method, path = operation.split()
        described = document["paths"][path][method.lower()]
        parameters = {each["in"] for each in described.get("parameters", ())} & {"path", "query"}
        has_body = "requestBody" in described
        is_of = {
            errors.SCOPED: path.startswith("/v1/") or path == "/metrics",
            errors.STATUS: path == "/status",
            errors.PARAMETERS: bool(parameters) or has_body,
            errors.QUERIES: "query" in parameters,
            errors.POSTS: method in ("POST", "DELETE"),
            # To delete an offer has no body, and asks the ledger, too.
            errors.BODIES: has_body or method == "DELETE",
        }
        shared = [kind for kind in find_kinds() if {*kind.calls} & is_of.keys()]
        expected = {kind.word() for kind in shared if any(is_of.get(each) for each in kind.calls)}
        assert reasons & {kind.word() for kind in shared} == expected, operation


def test_the_document_lists_the_reasons_of_each_status(app):
    document = app.test_client().get("/openapi.json").json
    schemas, buy = document["components"]["schemas"], document["paths"]["/v1/buy/{wallet}"]["post"]
    found = set()
    for status, response in buy["responses"].items():
        name = response.get("$ref", "").rpartition("/")[2]
        if not name:
            continue
        content = document["components"]["responses"][name]["content"]["application/json"]
        for reason, example in content["examples"].items():
            assert example["value"]["code"] == int(status)
            found.add(reason)
    assert {"PRICE_CHANGED", "BUYER_BALANCE_TOO_LOW", "BUYING_PAUSED"} <= found
    assert not {"NOT_PREPARED", "TRANSACTION_EXPIRED"} & found
    assert schemas["ApiError"]["properties"]["errors"]["$ref"].endswith("Details")
    assert schemas["LedgerError"]["properties"]["result"]["type"] == "array"


def test_the_reasons_are_those_of_all_errors_that_there_are(app):
    """The application is the sandbox's, so each module is loaded that might have an error of its own."""
    kinds, modules = [MarketplaceError], set()
    while kinds:
        kind = kinds.pop()
        kinds += kind.__subclasses__()
        modules.add(kind.__module__)
    assert {module.rpartition(".")[0] for module in modules} == {"marketplace.errors"}


def test_errors_need_neither_click_nor_flask():
    program = "import sys, marketplace.errors; print({'click', 'flask'} & sys.modules.keys())"
    assert run_python(program) == "set()\n"


def test_the_database_being_locked_is_said(app, client):
    blocker = services(app).database._connect()
    blocker.execute("BEGIN IMMEDIATE")
    services(app).database.connection.execute("PRAGMA busy_timeout = 50")
    try:
        r = client.post("/v1/add", json=KEYS)
        assert_error(r, 503, "stayed locked by another writer")
        assert r.headers["Retry-After"]
    finally:
        blocker.close()
    assert client.post("/v1/add", json=KEYS).status_code == 200


@pytest.mark.parametrize("path", ["/v1/orderbook", f"/v1/nft/{TOKEN}/7", "/status"])
def test_the_database_being_locked_for_reads_is_said(app, client, monkeypatch, path):
    monkeypatch.setattr(sqlite_files, "BUSY_TIMEOUT_SECONDS", 0.05)
    services(app).database.close()
    blocker = services(app).database._connect()
    blocker.execute("PRAGMA locking_mode = EXCLUSIVE")
    blocker.execute("BEGIN EXCLUSIVE")
    try:
        assert_error(client.get(path), 503, "stayed locked by another writer")
    finally:
        blocker.close()
    assert client.get(path).status_code in (200, 404)


def test_a_fault_of_the_sandboxs_database_is_not_blamed_on_the_mirror_node(client, tmp_path):
    away = move_database(tmp_path / "sandbox.db", tmp_path / "away.db")
    r = client.post("/v1/add", json=KEYS)
    assert_error(r, 503, "In the sandbox: The database cannot be used: its file has vanished")
    assert r.headers["Retry-After"] == "60"
    away.rename(tmp_path / "sandbox.db")
    assert client.post("/v1/add", json=KEYS).status_code == 200


def test_a_full_disk_is_said_and_passes(app, client, caplog):
    connection = services(app).database.connection
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    most = connection.execute("PRAGMA max_page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    statuses = []
    while statuses.count(503) < 3 and len(statuses) < 60:
        serial_no = len(statuses) + 1
        r = client.post("/v1/add", json=KEYS | {"serialNo": serial_no})
        statuses.append(r.status_code)
        if r.status_code != 200:
            assert_error(r, 503, "TRY_AGAIN", "database or disk is full")
            assert client.get(f"/v1/nft/{TOKEN}/{serial_no}").status_code == 404
    assert 503 in statuses
    assert "database or disk is full" in caplog.text
    assert set(statuses) <= {200, 503}
    connection.execute(f"PRAGMA max_page_count = {most}")
    assert client.post("/v1/add", json=KEYS).status_code == 200


@both_engines
def test_another_fault_of_the_database_is_ours(app, client):
    with app.app_context(), write() as connection:
        connection.execute("ALTER TABLE nft RENAME COLUMN listed_order TO others")
    assert_error(client.get("/v1/orderbook?offset=1000"), 500, "INTERNAL_SERVER_ERROR")
