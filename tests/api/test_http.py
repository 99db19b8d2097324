"""HTTP's own means, for every answer under /v1: ETag and 304, HEAD, gzip, and what caches may do."""

import gzip

import pytest

from harness.apps import authorized_client, completing, settings
from harness.cast import ALICE, BOB, KEYS, TOKEN
from marketplace import create_app
from tests.actions import list_nft
from tests.answers import assert_error

READS = [
    f"/v1/nft/{TOKEN}/7",
    f"/v1/nftslisted/{TOKEN}",
    f"/v1/user/{ALICE}/listed",
    "/v1/orderbook",
]


@pytest.fixture(scope="module", params=["kept", "not kept"])
def client(request, tmp_path_factory):
    """A client of the service with access tokens, and of one with a host's own authentication."""
    is_kept = request.param == "kept"
    own = {} if is_kept else {"authenticate": lambda *_: True}
    app = create_app(**own, **settings(tmp_path_factory.mktemp("http")))
    return authorized_client(app, "read", "write") if is_kept else app.test_client()


@pytest.fixture(scope="module")
def listed(client):
    for serial_no in (7, 8):
        list_nft(client, serialNo=serial_no)
    completing(client.application)()


@pytest.mark.parametrize("url", READS)
def test_an_answer_has_a_strong_etag_and_may_be_kept_by_its_client_only(client, listed, url):
    for _ in range(2):
        r = client.get(url)
        assert r.status_code == 200
        assert r.headers["ETag"].startswith('"')
        assert r.headers["Cache-Control"] == "private, no-cache"
        assert r.headers["Vary"] == "Accept-Encoding"
        assert r.headers["Content-Length"] == str(len(r.data))
        assert r.mimetype == "application/json"


@pytest.mark.parametrize("url", READS)
def test_a_matching_etag_is_answered_with_304(client, listed, url):
    etag = client.get(url).headers["ETag"]
    for wanted in (etag, f'"other", {etag}', f"W/{etag}", "*"):
        r = client.get(url, headers={"If-None-Match": wanted})
        assert r.status_code == 304
        assert r.data == b""
        assert r.headers["ETag"] == etag
        assert "Content-Length" not in r.headers


@pytest.mark.parametrize("wanted", ['"{}', "", ",", '"other"', 'W/"other"', "W/*", "\x80"])
def test_other_and_malformed_etags_are_ignored(client, listed, wanted):
    tag = client.get("/v1/orderbook").headers["ETag"].strip('"')
    r = client.get("/v1/orderbook", headers={"If-None-Match": wanted.format(tag)})
    assert r.status_code == 200


@pytest.mark.parametrize("url", READS)
def test_head_tells_the_same_without_a_body(client, listed, url):
    got, head = client.get(url), client.head(url)
    assert head.status_code == 200
    assert head.data == b""
    assert dict(head.headers) == dict(got.headers)


def test_head_of_what_is_not_there(client):
    r = client.head(f"/v1/nft/{TOKEN}/99")
    assert r.status_code == 404
    assert r.data == b""


def test_it_is_compressed_when_asked_for(client, listed):
    plain = client.get("/v1/orderbook")
    for _ in range(2):
        r = client.get("/v1/orderbook", headers={"Accept-Encoding": "br, gzip;q=0.8"})
        assert r.headers["Content-Encoding"] == "gzip"
        assert r.headers["Vary"] == "Accept-Encoding"
        assert gzip.decompress(r.data) == plain.data
        assert len(r.data) < len(plain.data)
        assert r.headers["ETag"] != plain.headers["ETag"]
    again = {"Accept-Encoding": "gzip", "If-None-Match": r.headers["ETag"]}
    assert client.get("/v1/orderbook", headers=again).status_code == 304
    assert client.get("/v1/orderbook").data == plain.data


@pytest.mark.parametrize(
    "accepted",
    ["identity", "gzip;q=0", "GZIP;q=0.0", "gzip; q=0.", "gzip;x=1;q=0.000", "br", "gzipped", ""],
)
def test_it_is_not_compressed_when_not_asked_for(client, listed, accepted):
    r = client.get("/v1/orderbook", headers={"Accept-Encoding": accepted})
    assert "Content-Encoding" not in r.headers


def test_short_answers_are_not_compressed(client):
    r = client.get("/v1/nftslisted/0.0.1", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in r.headers
    assert r.data == b"[]\n"


def test_errors_have_no_etag(client):
    r = client.get("/v1/orderbook?limit=99", headers={"Accept-Encoding": "gzip"})
    assert r.status_code == 422
    assert "ETag" not in r.headers


@pytest.mark.parametrize(
    "path", ["/v1//orderbook", "/v1/orderbook//", "//evil.example/..", "//x//"]
)
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
def test_a_double_slash_leads_nowhere(client, path, method):
    """A redirect to //evil.example would leave the service."""
    environ = {"PATH_INFO": path}
    r = client.open("/", method=method, environ_overrides=environ)
    assert r.status_code == 404
    assert "Location" not in r.headers


def test_slashes_at_the_beginning_make_no_difference(client, listed):
    environ = {"PATH_INFO": "//v1/orderbook"}
    r = client.get("/", environ_overrides=environ)
    assert r.headers["ETag"] == client.get("/v1/orderbook").headers["ETag"]
    assert r.headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("host", ["[::1]:80", "other", "bad host"])
def test_any_host_header_is_answered(client, host):
    assert client.get("/v1/nftslisted/0.0.1", headers={"Host": host}).json == []


@pytest.mark.parametrize("host", ["a" * 64, "a" * 80])
def test_an_invalid_host_header_is_refused(client, host):
    """RFC 9112, 3.2: a 400. The reads of a token that is cached do not look at it."""
    of_a_page = {"Host": host, "Origin": "https://dapp.example"}
    assert_error(client.get("/v1/nftslisted/0.0.2", headers=of_a_page), 400, "Host", host[:50])
    assert_error(client.post("/v1/add", headers={"Host": host}), 400, "Host", host[:50])


def test_a_query_that_is_no_text_is_refused(client):
    r = client.get("/v1/orderbook", environ_overrides={"QUERY_STRING": "limit=\xff"})
    assert_error(r, 400, "The query is not UTF-8")


def test_a_change_changes_the_etag(client, listed):
    before = client.get("/v1/orderbook").headers["ETag"]
    client.post("/v1/add", json=KEYS | {"serialNo": 9})
    assert client.get("/v1/orderbook").headers["ETag"] == before
    client.post("/sandbox/transfers", json=KEYS | {"accountId": BOB})
    client.post("/v1/comingsoon", json=KEYS)
    r = client.get("/v1/orderbook", headers={"If-None-Match": before})
    assert r.status_code == 200
    assert r.headers["ETag"] != before


def test_a_method_is_known_in_any_case(client, listed):
    for method in ("get", "Get", "head", "GET"):
        assert client.open(f"/v1/nft/{TOKEN}/7", method=method).status_code == 200
