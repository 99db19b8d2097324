"""What stands in an NFT's metadata pointer on the ledger, and what is stored and shown of it."""

import base64
import io
import json

import pytest
from PIL import Image

from harness.apps import authorized_client, completing, on_testnet
from harness.cast import KEYS
from harness.network import answering, serve, serve_raw
from marketplace.ledger import Deadline
from marketplace.ledger.http import Unfetchable
from marketplace.watcher.strangers.reader import make_resolver
from tests.actions import shown
from tests.ledger.answers import NFT, page

CID = "QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG"
DOCUMENT = json.dumps({"name": "Seven", "image": f"ipfs://{CID}/7.png", "attributes": {"a": 1}})


def encode(pointer):
    return base64.b64encode(pointer.encode()).decode()


def gateway(environ, start_response):
    """It has the document, and the image, of one folder."""
    content = io.BytesIO()
    Image.new("RGB", (8, 8)).save(content, "PNG")
    files = {f"/ipfs/{CID}/7.json": DOCUMENT.encode(), f"/ipfs/{CID}/7.png": content.getvalue()}
    file = files.get(environ["PATH_INFO"])
    start_response("200 OK" if file else "404 Not Found", [])
    return [file or b""]


POINTERS = {
    "a document": DOCUMENT,
    "a document, padded": f" \n{DOCUMENT}\0\0\0",
    "an address": f"ipfs://{CID}/7.json",
    "an address, padded with NULs": f"ipfs://{CID}/7.json".ljust(100, "\0"),
    "an address, padded with spaces": f"ipfs://{CID}/7.json".center(100),
    "an address, padded with both": f"\0 ipfs://{CID}/7.json \0 \0\n",
}


@pytest.mark.parametrize("is_encoded", [True, False])
@pytest.mark.parametrize("pointer", POINTERS.values(), ids=POINTERS)
def test_a_document_in_the_pointer_itself_is_read(tmp_path, pointer, is_encoded):
    answer = answering(page(NFT | {"metadata": encode(pointer) if is_encoded else pointer}))
    with serve_raw(answer) as mirror_url, serve(gateway) as gateway_url:
        client = authorized_client(on_testnet(tmp_path, mirror_url, gateway_url), "read", "write")
        assert client.post("/v1/add", json=KEYS).status_code == 200
        completing(client.application)()
        nft = shown(client)
    assert nft["name"] == "Seven"
    assert nft["stringifiedAttributes"] == '[{"trait_type":"a","value":"1"}]'
    assert nft["originalImageUrl"] == f"{gateway_url}/ipfs/{CID}/7.png"
    assert nft["imageUrl"].endswith(".webp") and "placeholder" not in nft["imageUrl"]


@pytest.mark.parametrize("pointer", ["{", '{"name": }', "{" * 100_000])
def test_a_broken_document_in_the_pointer_is_refused(app, pointer):
    with pytest.raises(Unfetchable, match="the metadata is not JSON"):
        make_resolver(app.config, dict).read_metadata(pointer, Deadline(5))
