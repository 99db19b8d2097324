from harness.apps import authorized_client, settings
from harness.cast import ALICE, TOKEN
from marketplace import create_app
from tests.answers import assert_error

URL = "/v1/nft"


def get(client, token=TOKEN, serial_no=7):
    return client.get(f"{URL}/{token}/{serial_no}")


def test_it_works(client, nft):
    r = get(client)

    assert r.status_code == 200
    image_url = r.json["imageUrl"]
    attributes = r.json["stringifiedAttributes"]
    expected = {
        "token": TOKEN,
        "serialNo": 7,
        "name": f"Sandbox {TOKEN} #7",
        "fileType": "image/png",
        "isForSale": False,
        "stringifiedAttributes": attributes,
        "imageUrl": image_url,
        "originalImageUrl": "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4nzqgayq/7.png",
        "listingPrice": 0,
        "lastListedDate": None,
        "owner": {"accountId": ALICE},
    }
    assert r.json == expected
    assert list(r.json) == list(expected), "the contract's order of fields"
    assert image_url.startswith("http://127.0.0.1:8000/media/")
    assert attributes.startswith('[{"trait_type":"')


def test_its_image_can_be_fetched(client, nft):
    path = get(client).json["imageUrl"].removeprefix("http://127.0.0.1:8000")

    with client.get(path) as r:
        assert r.status_code == 200
        assert r.mimetype == "image/webp"
        assert r.data[8:12] == b"WEBP"
        assert r.cache_control.max_age == 86_400


def test_its_addresses_follow_the_service_to_another_one(tmp_path, client, nft):
    """What was added on port 8000 is shown on port 8001: make run PORT=8001."""
    moved = create_app(PUBLIC_URL="http://127.0.0.1:8001", **settings(tmp_path))
    shown, before = get(authorized_client(moved, "read")).json, get(client).json
    for name in ("imageUrl", "originalImageUrl"):
        assert shown[name] == before[name].replace(":8000/", ":8001/")
        with moved.test_client().get(shown[name].removeprefix("http://127.0.0.1:8001")) as r:
            assert r.status_code == 200


def test_it_handles_an_unknown_nft(client):
    assert_error(get(client, serial_no=8), 404, "NFT_NOT_STORED")
