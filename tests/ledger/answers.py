"""Answers of a mirror node, as bytes."""

import base64
import json

from harness.cast import ALICE, TOKEN

NFT = {
    "account_id": ALICE,
    "created_timestamp": "1700000000.000000001",
    "deleted": False,
    "metadata": base64.b64encode(b"ipfs://Qm/7.json").decode(),
    "modified_timestamp": "1700000000.000000001",
    "serial_number": 7,
    "token_id": TOKEN,
}


def page(*nfts):
    return json.dumps({"nfts": nfts, "links": {"next": None}}).encode()
