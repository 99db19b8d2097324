"""The sandbox's collections, and its gateway with their documents and artwork."""

import json

import pytest

from marketplace.sandbox import catalogue


def test_an_nft_that_others_minted_with_its_addresses_has_its_own_tokens_name():
    """An NFT of a token of one's own was shown as "Sandbox 0.0.7002 #1", as its document said."""
    assert json.loads(catalogue.metadata("0.0.5001", 7))["name"] == "Tides #7"
    document = json.loads(catalogue.metadata("0.0.7002", 1))
    assert "name" not in document
    assert document["image"].endswith("/1.png")


def test_its_metadata_is_hip_412(client):
    cid = catalogue.cid_of("0.0.5001")
    document = client.get(f"/sandbox/ipfs/{cid}/7.json").json
    assert document.keys() == {
        "name",
        "creator",
        "description",
        "image",
        "type",
        "format",
        "attributes",
    }
    assert document["image"] == f"ipfs://{cid}/7.png"
    assert {"trait_type", "value"} == document["attributes"][0].keys()


def test_its_artwork_is_always_the_same(client):
    cid = catalogue.cid_of("0.0.5001")
    first, second = (
        client.get(f"/sandbox/ipfs/{cid}/7.png").data,
        client.get(f"/sandbox/ipfs/{cid}/7.png").data,
    )
    assert first == second
    assert first != client.get(f"/sandbox/ipfs/{cid}/8.png").data


@pytest.mark.parametrize(
    "cid", ["bafkqacbqfyyc4njqga3", "QmNope", "b", "bafkqabdefault", "b" + "a" * 500]
)
def test_its_gateway_has_no_other_content(client, cid):
    assert client.get(f"/sandbox/ipfs/{cid}/1.json").status_code == 404


def test_nobody_who_owns_the_sample_collects():
    collectors = {royalty.collector for sample in catalogue.SAMPLE for royalty in sample.royalties}
    assert collectors == {"0.0.2001", "0.0.2002", "0.0.2003"}
