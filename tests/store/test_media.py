"""Images are kept in a folder or in a bucket, and served from either."""

from io import BytesIO

import pytest
from PIL import Image

from harness.apps import authorized_client, completing, settings
from harness.cast import KEYS, TOKEN
from marketplace import create_app
from tests.answers import assert_error


def add(client):
    assert client.post("/v1/add", json=KEYS).json == {"result": "OK"}
    completing(client.application)()
    return client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"]


def test_an_image_is_asked_for_again_after_a_day_and_has_an_etag(client, nft):
    path = client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"].removeprefix("http://127.0.0.1:8000")
    r = client.get(path)
    assert r.headers["Cache-Control"] == "public, max-age=86400"
    assert r.headers["X-Content-Type-Options"] == "nosniff"
    again = client.get(path, headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304
    assert again.data == b""


@pytest.fixture
def image(client, nft):
    """The path of a stored image."""
    url = client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"]
    return url.removeprefix("http://127.0.0.1:8000")


@pytest.fixture(params=["stored", "placeholder"])
def path(request, image):
    return image if request.param == "stored" else "/media/placeholder.webp"


def test_a_range_is_sent(client, path):
    whole = client.get(path)
    assert whole.headers["Accept-Ranges"] == "bytes"
    for wanted, first, last in (
        ("0-9", 0, 9),
        ("5-", 5, None),
        ("-7", -7, None),
        ("9-99999999", 9, None),
    ):
        r = client.get(path, headers={"Range": f"bytes={wanted}"})
        assert r.status_code == 206
        assert r.data == whole.data[first : last and last + 1]
        assert r.headers["Content-Range"].endswith(f"/{len(whole.data)}")
    r = client.get(path, headers={"Range": "bytes=99999999-"})
    assert_error(r, 416)
    assert r.headers["Content-Range"] == f"bytes */{len(whole.data)}"


@pytest.mark.parametrize(
    "wanted", ["items=0-5", "bytes=0-1,4-5", "bytes=5-2", "bytes", "=", "seconds=1-2,3-4"]
)
def test_a_range_of_another_unit_and_several_are_ignored(client, path, wanted):
    """RFC 9110, 14.2."""
    r = client.get(path, headers={"Range": wanted})
    assert (r.status_code, r.data) == (200, client.get(path).data)
    assert "Content-Range" not in r.headers


@pytest.mark.parametrize("wanted", ["bytes=0-9", "bytes=99999999-", "items=0-5"])
def test_head_has_no_ranges(client, path, wanted):
    r = client.head(path, headers={"Range": wanted})
    assert r.status_code == 200
    assert r.headers["Content-Length"] == str(len(client.get(path).data))
    assert "Content-Range" not in r.headers


def test_conditions_come_before_the_range(client, path):
    """RFC 9110, 13.2.2."""
    etag, wanted = client.get(path).headers["ETag"], {"Range": "bytes=0-9"}
    for conditions, status in (
        ({"If-Match": etag}, 206),
        ({"If-Match": "*"}, 206),
        ({"If-Match": '"other"'}, 412),
        ({"If-None-Match": etag}, 304),
        ({"If-None-Match": f"W/{etag}"}, 304),
        ({"If-None-Match": '"other"'}, 206),
        ({"If-Match": '"other"', "If-None-Match": etag}, 412),
        ({"If-Range": etag}, 206),
        ({"If-Range": '"other"'}, 200),
    ):
        r = client.get(path, headers=conditions | wanted)
        assert r.status_code == status, conditions
        if status == 412:
            assert_error(r, 412, "If-Match")
            assert r.headers["Content-Length"] == str(len(r.data))


@pytest.mark.parametrize(
    "key", ["x", "../marketplace.db", "..%2fmarketplace.db", "a" * 64 + ".svg", "A" * 64 + ".webp"]
)
def test_only_images_are_served(client, key):
    assert client.get(f"/media/{key}").status_code == 404


def test_a_larger_image_comes_in_two_sizes(client, nft):
    url = client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"]
    assert url.endswith("-640.webp")
    path = url.removeprefix("http://127.0.0.1:8000")
    large, small = client.get(path), client.get(path.replace("-640", "-320"))
    assert [Image.open(BytesIO(r.data)).size for r in (large, small)] == [(640, 640), (320, 320)]
    assert large.headers["ETag"] != small.headers["ETag"]


def test_an_unknown_image_is_a_404(client):
    assert_error(client.get(f"/media/{'0' * 64}.webp"), 404)


@pytest.fixture
def bucket(monkeypatch):
    """An S3 server of its own, over a real socket, with a bucket; yields its name."""
    needed = "needs moto (.venv/bin/pip install -r tests/requirements.txt)"
    moto = pytest.importorskip("moto.server", reason=needed)
    boto3 = pytest.importorskip("boto3", reason=needed)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    boto3.client("s3", endpoint_url=f"http://{host}:{port}").create_bucket(Bucket="nft-images")
    yield "nft-images"
    server.stop()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_bucket_keeps_images(tmp_path, bucket):
    import boto3

    folders = settings(tmp_path) | {"MEDIA_URL": f"s3://{bucket}/optimised"}
    client = authorized_client(create_app(**folders), "read", "write")
    path = add(client).removeprefix("http://127.0.0.1:8000")

    r = client.get(path)
    assert r.status_code == 200
    assert r.mimetype == "image/webp"
    assert r.data[8:12] == b"WEBP"
    small, item = boto3.client("s3").list_objects_v2(Bucket=bucket)["Contents"]
    assert item["Key"] == f"optimised/{path.removeprefix('/media/')}"
    assert small["Key"] == item["Key"].replace("-640", "-320")
    stored = boto3.client("s3").head_object(Bucket=bucket, Key=item["Key"])
    assert stored["ContentType"] == "image/webp"
    assert stored["CacheControl"] == "public, max-age=86400"
    assert not (tmp_path / "media").exists()


def test_an_unreachable_bucket_is_said_and_does_not_stop_add(tmp_path, monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.setenv(name, "test")
    folders = settings(tmp_path) | {"MEDIA_URL": "s3://nft-images"}
    client = authorized_client(create_app(**folders), "read", "write")
    assert add(client).endswith("placeholder.webp")
    assert_error(client.get(f"/media/{'0' * 64}.webp"), 503, "store of images did not answer")


def test_images_may_be_served_from_elsewhere(tmp_path):
    app = create_app(MEDIA_PUBLIC_URL="https://cdn.example/nft", **settings(tmp_path))
    assert add(authorized_client(app, "read", "write")).startswith("https://cdn.example/nft/")


def test_a_folder_that_was_removed_is_made_again(app, client, tmp_path):
    (tmp_path / "media").rmdir()
    assert "placeholder" not in add(client)
