"""The document describes all of it: it validates, and the service never answers what it does not say."""

import gzip
import re

import pytest
import schemathesis
from hypothesis import Phase, given, settings
from openapi_spec_validator import validate
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from harness.apps import authorized_client
from harness.apps import settings as folders
from marketplace import create_app
from marketplace.hedera import times
from marketplace.services import write
from marketplace.store import following, properties
from tests.api.documented import operations

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


def document(app, path="/openapi.json"):
    return app.test_client().get(path).json


@pytest.mark.parametrize("path", ["/openapi.json", "/sandbox/openapi.json"])
def test_the_document_is_valid(app, path):
    validate(document(app, path))


def test_every_operation_is_described(app):
    for method, path, operation in operations(app.test_client()):
        assert operation["summary"], path
        assert re.fullmatch("[a-z]+(_[a-z]+)+", operation["operationId"]), path  # verb_noun
        assert "200" in operation["responses"], path
        assert operation["description"], path
        if path.startswith("/v1/"):
            assert operation["security"] == [{"bearerToken": []}], path
            assert {"401", "403", "429"} <= operation["responses"].keys(), path
        if method == "post":
            assert {"404", "422", "503"} <= operation["responses"].keys()
        if "requestBody" in operation:
            assert {"400", "413", "415"} <= operation["responses"].keys()


@pytest.mark.parametrize("path", ["/openapi.json", "/sandbox/openapi.json"])
def test_response_schemas_allow_additional_properties(app, path):
    """A strict client that was generated from it accepts the field of a later version."""
    for name, schema in document(app, path)["components"]["schemas"].items():
        if not name.endswith("Request"):
            assert schema.get("additionalProperties") is not False, name


@pytest.mark.parametrize("path", ["/openapi.json", "/sandbox/openapi.json"])
def test_words_in_answers_are_open_strings(app, path):
    """A client that was generated earlier refused a whole page of events for one kind that was new."""
    for name, schema in document(app, path)["components"]["schemas"].items():
        if not name.endswith("Request"):
            assert not {"enum", "const"} & find_keys(schema), name


def find_keys(described):
    """All keys of a JSON value, however deep."""
    if isinstance(described, dict):
        return described.keys() | set().union(*map(find_keys, described.values()))
    return set().union(*map(find_keys, described)) if isinstance(described, list) else set()


def test_the_webhook_shares_no_tag_operation_or_schema_with_a_path(app):
    described = document(app)
    [webhook] = [each["post"] for each in described["webhooks"].values()]
    of_paths = [each for _, _, each in operations(app.test_client())]
    assert not {*webhook["tags"]} & {tag for each in of_paths for tag in each["tags"]}
    assert webhook["operationId"] not in {each["operationId"] for each in of_paths}
    schema = webhook["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    assert schema not in str(described["paths"]) + str(described["components"]["responses"])
    assert {*webhook["tags"]} <= {tag["name"] for tag in described["tags"]}


def test_every_field_has_a_description_and_an_example(app):
    for name, schema in document(app)["components"]["schemas"].items():
        for field, described in schema.get("properties", {}).items():
            assert "description" in described or "$ref" in described or "allOf" in described, (
                name,
                field,
            )


@pytest.mark.parametrize(
    ("public_url", "script_name", "server"),
    [
        ("https://nft.example.com", "", "https://nft.example.com"),
        ("https://example.com/market", "", "https://example.com/market"),  # a proxy leaves it out
        ("https://example.com/market", "/market", "https://example.com/market"),
        ("https://example.com", "/market", "https://example.com/market"),
        ("https://market", "/market", "https://market/market"),
    ],
)
def test_the_server_is_where_the_service_is_mounted(tmp_path, public_url, script_name, server):
    app = create_app(**folders(tmp_path), PUBLIC_URL=public_url, API_PREFIX="/api")
    ask = {"environ_overrides": {"SCRIPT_NAME": script_name}, "headers": {"Host": "evil"}}
    market = app.test_client().get("/api/openapi.json", **ask).json
    assert market["servers"] == [{"url": server}]
    assert "/api/v1/orderbook" in market["paths"]
    sandbox = app.test_client().get("/sandbox/openapi.json", **ask).json
    assert sandbox["servers"] == [{"url": f"{server}/sandbox"}]
    assert "/decode" in sandbox["paths"]


def test_the_document_follows_the_settings(tmp_path):
    app = create_app(**folders(tmp_path), WALLETS="hashpack,blade")
    paths = document(app)["paths"]
    [wallet] = paths["/v1/list/{wallet}"]["post"]["parameters"]
    assert wallet["schema"]["enum"] == ["hashpack", "blade"]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    app = create_app(**folders(tmp_path_factory.mktemp("served")))
    client = authorized_client(app, "read", "write")
    for serial_no in (7, 8):
        keys = {"accountId": "0.0.1001", "tokenId": "0.0.5005", "serialNo": serial_no}
        client.post("/v1/add", json=keys)
    return app, client.environ_base["HTTP_AUTHORIZATION"]


@pytest.mark.parametrize("mode", list(GenerationMode))
@pytest.mark.parametrize("path", ["/openapi.json", "/sandbox/openapi.json"])
def test_every_answer_to_random_requests_is_described(served, path, mode):
    app, authorization = served
    swept, followed = (times.to_iso(times.now() + wait) for wait in (0, 50 * times.SECOND))
    with app.app_context(), write() as db:  # no maxAge of /status?ready is too short for it
        properties.mark_property(db, properties.LAST_SWEEP, swept.encode())
        following.mark_followed_from(db, followed, followed)
    closed = document(app, path)
    for described in closed["components"]["schemas"].values():
        if "allOf" not in described:  # so that a field that is not described is found
            described.setdefault("additionalProperties", False)
    schema = schemathesis.openapi.from_dict(closed)
    schema.app = app
    for operation in schema.get_all_operations():
        check_operation(operation.ok(), mode, authorization)


def check_operation(operation, mode, authorization):
    if (
        mode is GenerationMode.NEGATIVE
        and not any(operation.iter_parameters())
        and not operation.body
    ):
        return

    @settings(max_examples=6, phases=[Phase.generate])
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case):
        # Its client of WSGI asks for gzip, and reads none.
        headers = {"Authorization": authorization, "Accept-Encoding": "identity"}
        case.call_and_validate(headers=headers, checks=CHECKS)

    check()


def test_the_document_is_compressed_and_conditional(app):
    client = app.test_client()
    plain = client.get("/openapi.json")
    packed = client.get("/openapi.json", headers={"Accept-Encoding": "gzip"})
    assert gzip.decompress(packed.data) == plain.data
    assert len(packed.data) < len(plain.data) / 4
    known = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["ETag"]}
    assert client.get("/openapi.json", headers=known).status_code == 304
