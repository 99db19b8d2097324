"""The page at / and the OpenAPI document name every address of hiero-sandbox's own, as its code has them."""

import re

import pytest

from hiero_sandbox.front_page import EXAMPLES


@pytest.fixture
def document(alone):
    return alone.client.get("/openapi.json").json


def own_rules(app):
    """The addresses of a test's controls, and what else is not a node's."""
    return {
        (rule.rule, method.lower())
        for rule in app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
        if rule.endpoint.partition(".")[0] in ("api", "control", "front_page")
    }


def test_the_document_has_all_addresses(alone, document):
    written = {(path, method) for path, item in document["paths"].items() for method in item}
    assert written == own_rules(alone.app)


def test_each_operation_is_described(document):
    operations = [each for item in document["paths"].values() for each in item.values()]
    assert [each for each in operations if not each["summary"]] == []
    ids = [each["operationId"] for each in operations]
    assert len({*ids}) == len(ids)


@pytest.mark.parametrize("path", sorted(EXAMPLES.keys() - {"/sign", "/restore", "/drop"}))
def test_its_examples_are_taken(alone, path):
    assert alone.client.post(path, json=EXAMPLES[path]).status_code == 200


@pytest.mark.parametrize("path", EXAMPLES)
def test_its_examples_name_all_fields(alone, path):
    alone.client.post("/snapshot")
    errors = alone.client.post(path, json={}).json["errors"]["json"]
    assert errors.keys() == EXAMPLES[path].keys()


def test_the_page_shows_version_controls_and_keys(alone):
    answer = alone.client.get("/")
    assert answer.content_type == "text/html; charset=utf-8"
    for shown in ("hiero-sandbox", "POST /fault", "GET /clock", "0.0.1031", "/api/v1"):
        assert shown in answer.text
    assert len(re.findall("0x[0-9a-f]{64}", answer.text)) == 31
