"""The documents of the sandbox's gateway."""

import json

from hiero_sandbox import catalogue


def test_what_others_minted_with_its_addresses_keeps_the_name_of_their_token():
    """An NFT of a token of one's own was shown as "Sandbox 0.0.7002 #1", as its document said."""
    assert json.loads(catalogue.metadata("0.0.5001", 7))["name"] == "Tides #7"
    document = json.loads(catalogue.metadata("0.0.7002", 1))
    assert "name" not in document
    assert document["image"].endswith("/1.png")
