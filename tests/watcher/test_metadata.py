"""Metadata documents as minters really wrote them, and what becomes of each."""

import json
import time

import pytest

from marketplace.ledger.http import Unfetchable
from marketplace.watcher.strangers.content import Content, read_object
from marketplace.watcher.strangers.metadata import describe, read_attributes, stringify

CID = "QmSoJYWXvds2qcPeRGJdirP7YTCYvZv4fo43TadwmbvV8H"


def attributes(value):
    text = stringify(read_attributes(value))
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
        None,
        None,
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
        ({"image": {"size": "x"}}, "image", None),
        ({"image": "https://nft.example/" + "x" * 3000}, "image", None),
        ({"image": "data:," + "x" * 3000}, "image", "data:," + "x" * 3000),
        ({"properties": {"attributes": [{"trait_type": "a", "value": 1}]}}, "attributes",
         '[{"trait_type":"a","value":"1"}]'),
        ({"properties": {"traits": {"a": 1}}}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"properties": 5, "attributes": []}, "attributes", None),
        ({"traits": [{"trait_type": "a", "value": 1}]}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"attributes": {}, "Traits": {"a": 1}}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"properties": [{"key": "a", "value": 1}]}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"properties": '{"a": 1}'}, "attributes", '[{"trait_type":"a","value":"1"}]'),
        ({"properties": {"a": "x", "b": 1.5, "files": [], "c": {}}}, "attributes",
         '[{"trait_type":"a","value":"x"},{"trait_type":"b","value":"1.5"}]'),
        ({"properties": {"a": "x"}, "attributes": [{"name": "b", "value": 1}]}, "attributes",
         '[{"trait_type":"b","value":"1"}]'),
        ({"Name": "wrong", "name": "right", "NAME": "wrong"}, "name", "right"),
        ({"name": "", "Name": "right"}, "name", "right"),
        ({"image": {"description": CID}}, "image", CID),
        ({"image": {"type": "string", "anything": f"ipfs://{CID}/1.png"}}, "image", f"ipfs://{CID}/1.png"),
        ({"image": {"Url": "https://nft.example/1.png"}}, "image", "https://nft.example/1.png"),
        ({"image": [f"ipfs://{CID}"]}, "image", f"ipfs://{CID}"),
        ({"cid": CID}, "image", CID),
        ({"image_url": CID}, "image", CID),
        ({"imageUrl": CID}, "image", CID),
        ({"ImageURL": CID}, "image", CID),
        ({"image": "", "picture": CID}, "image", CID),
        ({"image": "my picture", "imageUrl": CID}, "image", CID),
        ({"image": CID, "Image": "https://nft.example/wrong.png"}, "image", CID),
        ({"files": [{"uri": "ar://x", "type": "video/mp4", "is_default_file": True},
                    {"uri": f"ipfs://{CID}/2.png", "type": "image/png"}]}, "image", f"ipfs://{CID}/2.png"),
        ({"files": [{"uri": f"ipfs://{CID}/1.png", "type": "image/png"},
                    {"uri": f"ipfs://{CID}/2.png", "type": "image/png", "is_default_file": True}]},
         "image", f"ipfs://{CID}/2.png"),
        ({"files": {"url": f"ipfs://{CID}/1.png"}}, "image", f"ipfs://{CID}/1.png"),
        ({"files": [{"uri": f"ipfs://{CID}/1.mp4", "type": "video/mp4"}]}, "image", None),
        ({"image": "DATA:," + "x" * 3000}, "image", "DATA:," + "x" * 3000),
    ],
)  # fmt: skip
def test_fields_of_unexpected_types(document, field, value):
    assert getattr(describe(document), field) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [("Blue", "Blue"), (7, "7"), (1.5, "1.5"), (True, "true"), ({"a": [1]}, '{"a":[1]}')],
)
def test_every_attribute_value_becomes_text(value, text):
    assert attributes([{"trait_type": "a", "value": value}]) == [{"trait_type": "a", "value": text}]


@pytest.mark.parametrize(
    "value",
    [
        [{"trait_type": "a", "value": "b"}],
        [{"Trait_Type": "a", "VALUE": "b"}],
        [{"traitType": "a", "value": "b"}],
        [{"TRAIT TYPE": "a", "value": "b"}],
        [{"name": "a", "value": "b"}],
        [{"Key": "a", "Value": "b"}],
        [{"trait_type": "a", "value": "b", "name": "c", "Value": "d"}],
        [{"a": "b"}],
        {"a": "b"},
        {"a": {"value": "b"}},
        {"0": {"trait_type": "a", "value": "b"}},
        {"trait_type": "a", "value": "b"},
        '[{"trait_type": "a", "value": "b"}]',
        ' {"a": "b"}',
    ],
)
def test_an_attribute_under_other_names(value):
    assert attributes(value) == [{"trait_type": "a", "value": "b"}]


@pytest.mark.parametrize(
    "item", [{"value": "Founder"}, {"trait_type": None, "value": "Founder"}, "Founder"]
)
def test_a_value_without_a_type_gets_a_name_of_ours(item):
    assert attributes([item, {"trait_type": "a", "value": 0}]) == [
        {"trait_type": "Attribute", "value": "Founder"},
        {"trait_type": "a", "value": "0"},
    ]


@pytest.mark.parametrize(
    "value",
    [None, [], {}, "text", 5, [None], [5], [[5]], [{"trait_type": "a"}], "[", [{"value": ""}]],
)
def test_metadata_without_attributes_is_answered_with_null(value):
    assert stringify(read_attributes(value)) is None


def test_ten_thousand_attributes_are_cut():
    many = [{"trait_type": f"t{n}", "value": n} for n in range(10_000)]
    assert len(attributes(many)) == 200


def test_a_hundred_thousand_keys_take_no_time():
    document = {f"k{number}": 1 for number in range(100_000)} | {"name": "A"}
    began = time.process_time()
    assert describe(document).name == "A"  # an exact key counts wherever it stands
    assert time.process_time() - began < 2


def test_comments_do_not_keep_a_reader_busy():
    """Each could be read as a part of the one before: twice the time for each."""
    began = time.process_time()
    with pytest.raises(Unfetchable, match="not JSON"):
        read_object(Content(b"<!---->" * 25 + b"{"))
    assert time.process_time() - began < 2


def test_long_attributes_are_cut():
    long = [{"trait_type": f"t{n}", "value": "é" * 1000} for n in range(200)]
    assert len(stringify(read_attributes(long)).encode()) < 20_000


def test_numbers_too_large_for_text_are_left_out():
    assert attributes([{"trait_type": "a", "value": 10**5000}]) is None


@pytest.mark.parametrize(
    "display_type",
    ["number", "percentage", "boost", "boost_number", "Boost_Percentage", "date", "datetime"],
)
def test_a_number_by_its_display_type_is_not_ranked(display_type):
    level = {"trait_type": "Level", "value": 5, "display_type": display_type}
    described = describe(
        {"attributes": [level, {"trait_type": "a", "value": 1, "display_type": "text"}]}
    )
    assert described.unranked == '["Level"]'
    assert (
        described.attributes
        == '[{"trait_type":"Level","value":"5"},{"trait_type":"a","value":"1"}]'
    )


def described(**document):
    text = describe(document).collection
    return text and json.loads(text)


def test_a_collection_describes_itself_by_the_book():
    assert described(
        description="Cats",
        website="www.cats.example",
        discussion="https://discord.com/invite/cats",
        socials=[{"url": "https://x.com/cats", "label": "Twitter", "info": "Follow"}],
        lightLogo=f"ipfs://{CID}/logo.png",
        darkLogo=f"ipfs://{CID}/dark.png",
        lightBanner=f"ipfs://{CID}/banner.png",
        lightBannerType="image/png",
    ) == {
        "description": "Cats",
        "banner": f"ipfs://{CID}/banner.png",
        "logo": f"ipfs://{CID}/logo.png",
        "links": [
            {"label": "website", "url": "https://www.cats.example"},
            {"label": "discussion", "url": "https://discord.com/invite/cats"},
            {"label": "Twitter", "url": "https://x.com/cats"},
        ],
    }


def test_a_collection_s_odd_values_are_left_out():
    assert described(name="x") is None
    assert described(darkLogo="N/A", Banner={"uri": CID})["banner"] == CID
    many = [{"label": n, "url": f"https://x.example/{n}"} for n in range(100)]
    assert len(described(socials=many)["links"]) == 20
    socials = {
        "x": "x.com/cats",
        "a": "javascript:alert(1)//x.com",
        "b": 5,
        "c": "https://x.example/<b>",
    }
    assert described(socials=socials)["links"] == [{"label": "x", "url": "https://x.com/cats"}]
    assert len(described(description="x" * 9000)["description"]) == 5000
