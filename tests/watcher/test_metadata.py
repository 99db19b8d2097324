"""Metadata documents as minters really wrote them, and what becomes of each."""

import json

import pytest

from marketplace.watcher.strangers.metadata import describe, stringify_attributes

pytestmark = pytest.mark.once("no statement is asked")


def attributes(value):
    text = stringify_attributes(value)
    return text and json.loads(text)


def test_a_document_by_the_book():
    described = describe(
        {
            "name": "Tides #7",
            "image": "ipfs://Qm/7.png",
            "type": "image/png",
            "format": "HIP412@2.0.0",
            "attributes": [{"trait_type": "Palette", "value": "Dusk", "display_type": "text"}],
        }
    )
    assert described == (
        "Tides #7",
        "image/png",
        '[{"trait_type":"Palette","value":"Dusk"}]',
        "ipfs://Qm/7.png",
    )


@pytest.mark.parametrize(
    ("document", "field", "value"),
    [
        ({"NAME": "Loud"}, "name", "Loud"),
        ({"Image": "x"}, "image", "x"),
        ({"name": 42}, "name", "42"),
        ({"name": ["a"]}, "name", '["a"]'),
        ({"name": "  a\0b  "}, "name", "ab"),
        ({"name": "\ud800x"}, "name", "x"),
        ({"name": ""}, "name", None),
        ({"name": "x" * 5000}, "name", "x" * 1000),
        ({"type": "IMAGE/PNG"}, "file_type", "image/png"),
        ({"type": "Profile"}, "file_type", None),
        ({"type": "image/png\r\nX: y"}, "file_type", None),
        ({}, "file_type", None),
        ({"image": {"uri": "x"}}, "image", None),
        ({"image": "https://nft.example/" + "x" * 3000}, "image", None),
        ({"image": "data:," + "x" * 3000}, "image", "data:," + "x" * 3000),
        ({"properties": {"attributes": [{"trait_type": "a", "value": 1}]}}, "attributes",
         '[{"trait_type":"a","value":"1"}]'),
        ({"properties": {"traits": {"a": 1}}}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"properties": 5, "attributes": []}, "attributes", None),
    ],
)  # fmt: skip
def test_odd_fields(document, field, value):
    assert getattr(describe(document), field) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [("Blue", "Blue"), (7, "7"), (1.5, "1.5"), (True, "true"), ({"a": [1]}, '{"a":[1]}')],
)
def test_every_value_becomes_text(value, text):
    assert attributes([{"trait_type": "a", "value": value}]) == [{"trait_type": "a", "value": text}]


@pytest.mark.parametrize(
    "value", [None, [], {}, "text", 5, [None], [5], [{"value": 1}], [{"trait_type": "a"}]]
)
def test_no_attributes_are_none(value):
    assert stringify_attributes(value) is None


def test_ten_thousand_attributes_are_cut():
    many = [{"trait_type": f"t{n}", "value": n} for n in range(10_000)]
    assert len(attributes(many)) == 200


def test_long_attributes_are_cut():
    long = [{"trait_type": f"t{n}", "value": "é" * 1000} for n in range(200)]
    assert len(stringify_attributes(long).encode()) < 20_000


def test_numbers_too_large_for_text_are_left_out():
    assert attributes([{"trait_type": "a", "value": 10**5000}]) is None
