"""Each way the mirror node or a metadata host can fail: what the client gets, in time, and what is stored.

Over real sockets, with the code that talks to the real network.
"""

import base64
import contextlib
import fcntl
import json
import sys
import time

import pytest

from marketplace import create_app, times
from marketplace.ledger import decoder as decoding
from marketplace.ledger import fetch, mirror
from marketplace.ledger.deadline import Deadline, TimeIsUp
from marketplace.ledger.decoder import Decoder
from marketplace.ledger.pace import Pace
from marketplace.market import collections, nfts, reconciler, records
from marketplace.operator import rounds
from marketplace.sandbox import create_sandbox
from marketplace.store import queries
from marketplace.store.database import read
from tests import network
from tests.bombs import CORPUS, encoded, small
from tests.conftest import ALICE, TOKEN, assert_error, authorized_client, settings
from tests.network import answering, serve, serve_raw

HURRY_SECONDS = 1.5  # in place of the real budgets, where a fault lasts until they are used up
KEYS = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7}
# What an add may take, and no client waits for longer.
BUDGET_SECONDS = 8
BUDGETS = reconciler.LEDGER_SECONDS, nfts.METADATA_SECONDS, nfts.ADD_SECONDS
AFTERWARDS = records.MEDIA_SECONDS + collections.LOOK_SECONDS
ENDLESS = {"silence", "a body that drips", "headers that drip"}

NFT = {
    "account_id": ALICE,
    "created_timestamp": "1700000000.000000001",
    "deleted": False,
    "metadata": base64.b64encode(b"ipfs://Qm/7.json").decode(),
    "modified_timestamp": "1700000000.000000001",
    "serial_number": 7,
    "token_id": TOKEN,
}


NOT_FOUND = b'{"_status":{"messages":[{"message":"Not found"}]}}'


def page(*nfts):
    return json.dumps({"nfts": nfts, "links": {"next": None}}).encode()


@pytest.fixture
def connect(tmp_path, decoder):
    """A client of the service on testnet, with these servers for a mirror node and a gateway."""

    def make(mirror_url, gateway_url="http://127.0.0.1:1", **more):
        app = create_app(
            NETWORK="testnet",
            ACCOUNT_ID="0.0.9001",
            MIRROR_NODE_URL=mirror_url,
            IPFS_GATEWAYS=f"{gateway_url}/ipfs",
            **more,
            **settings(tmp_path),
        )
        app.extensions["decoder"] = decoder
        return authorized_client(app, "read", "write")

    return make


@pytest.fixture
def hurried(monkeypatch):
    """Let the budgets be short, and the pauses between two attempts."""

    def hurry(fault):
        monkeypatch.setattr(mirror, "FIRST_PAUSE_SECONDS", 0.01)
        if fault in ENDLESS:
            monkeypatch.setattr(reconciler, "LEDGER_SECONDS", HURRY_SECONDS)
            monkeypatch.setattr(nfts, "METADATA_SECONDS", HURRY_SECONDS)

    return hurry


def add(client):
    """Add the NFT. Faults without end last for minutes: who sits them out takes too long."""
    started = time.monotonic()
    r = client.post("/v1/add", json=KEYS)
    assert time.monotonic() - started < 60
    return r


def stored(client):
    with client.application.app_context():
        return queries.get_nft(read(), TOKEN, 7)


LEDGER_FAULTS = {
    "silence": (network.silence, 503, "did not answer"),
    "a reset in the middle": (network.reset_in_the_middle, 503, "did not answer"),
    "a body that drips": (network.drip_body, 503, "took too long"),
    "headers that drip": (network.drip_headers, 503, "took too long"),
    "200 MB": (network.huge_body, 502, "larger than"),
    "a storm of 429": (answering(b"", "429 Too Many Requests"), 503, "status 429"),
    "429 for an hour": (answering(b"slow", "429 Slow", Retry_After="3600"), 503, "status 429"),
    "500s": (answering(b"oops", "500 Oops"), 503, "status 500"),
    "503 with a body": (answering(b'{"_status": {"messages": []}}', "503 Busy"), 503, "status 503"),
    "400": (answering(b'{"_status": {"messages": []}}', "400 Bad Request"), 502, "status 400"),
    "HTML": (answering(b"<html>Welcome</html>"), 502, "not JSON"),
    "another server's 404": (
        answering(b"<html>Nothing</html>", "404 Not Found"),
        502,
        "status 404",
    ),
    "a redirect to no address": (
        answering(b"", "302 Found", Location="http://["),
        502,
        "redirects to what is no address",
    ),
    "half of the JSON": (answering(page(NFT)[:40]), 502, "not JSON"),
    "deep JSON": (answering(b"[" * 50_000), 502, "not JSON"),
    "an empty body": (answering(b""), 502, "not JSON"),
    "an array": (answering(b"[]"), 502, "makes no sense"),
    "null": (answering(b"null"), 502, "makes no sense"),
    "wrong types": (answering(page(NFT | {"serial_number": "7"})), 502, "serial_number"),
    "a wrong owner": (answering(page(NFT | {"account_id": 5})), 502, "account_id"),
    "a wrong date": (answering(page(NFT | {"modified_timestamp": "now"})), 502, "modified"),
    "another NFT": (answering(page(NFT | {"serial_number": 8})), 502, "another NFT"),
    "a redirect to a private address": (
        answering(b"", "302 Found", Location="http://127.0.0.1:9/x"),
        502,
        "port 80 or 443",
    ),
    "a redirect to itself": (answering(b"", "301 Moved", Location="/again"), 502, ""),
    "not HTTP at all": (lambda connection: connection.sendall(b"220 smtp ready\r\n"), 503, ""),
}


@pytest.mark.parametrize("fault", LEDGER_FAULTS)
def test_a_failing_mirror_node_is_said_and_nothing_is_stored(connect, hurried, fault):
    hurried(fault)
    answer, status, words = LEDGER_FAULTS[fault]
    with serve_raw(answer) as url:
        client = connect(url)
        r = add(client)
        assert_error(r, status, words)
        assert (status == 503) == ("Retry-After" in r.headers)
        assert stored(client) is None


def test_the_budgets_of_an_add_are_eight_seconds_at_most():
    """That each is kept to, whatever drips or is silent, is what the other tests are about."""
    ledger, metadata, whole = BUDGETS
    assert whole < BUDGET_SECONDS
    # Where all are slow, each has still time for its part.
    assert AFTERWARDS <= nfts.STORING_SECONDS < whole - ledger < metadata


def test_a_slow_mirror_node_takes_no_time_from_the_metadata(connect, hurried, tmp_path):
    """The mirror node is slow to answer, and then the metadata drips: both budgets are used."""
    hurried("a body that drips")
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)

    def slow_mirror(environ, start_response):
        time.sleep(HURRY_SECONDS / 3)
        return sandbox(environ, start_response)

    with serve(slow_mirror) as mirror_url, serve_raw(network.drip_body) as gateway_url:
        client = connect(mirror_url, gateway_url)
        assert add(client).status_code == 200
        assert "too long" in stored(client)["missing"]


def test_a_refused_connection_is_said(connect):
    client = connect("http://127.0.0.1:1")
    assert_error(add(client), 503, "ConnectionError from 127.0.0.1")
    assert stored(client) is None


def test_a_short_trouble_is_sat_out(connect):
    answers = iter([answering(b"", "503 Busy"), network.reset_in_the_middle])
    with serve_raw(lambda c: next(answers, answering(page(NFT)))(c)) as url:
        assert add(connect(url)).status_code == 200


def test_retry_after_is_honoured(connect):
    asked = []

    def answer(connection):
        asked.append(time.monotonic())
        reply = page(NFT) if len(asked) > 1 else b""
        status = "200 OK" if len(asked) > 1 else "429 Slow"
        connection.sendall(network.response(reply, status, Retry_After="2"))

    with serve_raw(answer) as url:
        assert add(connect(url)).status_code == 200
    assert asked[1] - asked[0] >= 2


def test_requests_keep_the_pace(connect):
    asked = []

    def answer(connection):
        asked.append(time.monotonic())
        connection.sendall(network.response(NOT_FOUND, "404 Not Found"))

    with serve_raw(answer) as url:
        client = connect(url, MIRROR_NODE_RATE=10)
        started = time.monotonic()
        for _ in range(6):
            assert_error(add(client), 404, "is not an NFT on the ledger")
    assert len(asked) == 12
    assert asked[-1] - started >= 11 / 10 - 0.05


@pytest.mark.parametrize("nft", [NFT | {"deleted": True}, NFT | {"account_id": None}])
def test_a_burned_nft_is_not_stored(connect, nft):
    with serve_raw(answering(page(nft))) as url:
        client = connect(url)
        assert_error(add(client), 404, f"{TOKEN} #7 was burned on the ledger")
        assert stored(client) is None


def test_a_fungible_token_has_no_nft(connect):
    with serve_raw(answering(NOT_FOUND, "404 Not Found")) as url:
        client = connect(url)
        assert_error(add(client), 404, f"{TOKEN} #7 is not an NFT on the ledger")


def test_an_id_that_no_network_can_have_is_not_there(connect):
    body = b'{"_status":{"messages":[{"message":"Invalid parameter: tokenid"}]}}'
    with serve_raw(answering(body, "400 Bad Request")) as url:
        assert_error(add(connect(url)), 404, "is not an NFT on the ledger")


def test_refused_callers_do_not_lengthen_the_queue(tmp_path):
    pace = Pace(tmp_path / "pace", 40)
    granted = 0
    for _ in range(400):
        with contextlib.suppress(TimeIsUp):
            pace.wait(Deadline(0.001))
            granted += 1
    assert granted < 400
    pace.wait(Deadline(5))  # all 400 together would take ten seconds


def test_whoever_was_stopped_with_the_pace_keeps_nobody_waiting_past_a_deadline(tmp_path):
    pace = Pace(tmp_path / "pace", 40)
    with open(tmp_path / "pace") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(TimeIsUp):
            pace.wait(Deadline(0.05))
    pace.wait(Deadline(5))


METADATA_FAULTS = {
    "silence": network.silence,
    "a reset in the middle": network.reset_in_the_middle,
    "a body that drips": network.drip_body,
    "headers that drip": network.drip_headers,
    "200 MB": network.huge_body,
    "404": answering(b"gone", "404 Not Found"),
    "500": answering(b"", "500 Oops"),
    "HTML": answering(b"<html></html>", Content_Type="text/html"),
    "no object": answering(b"[]"),
    "NaN and depth": answering(b'{"name": NaN, "a": ' + b"[" * 50_000),
    "gzip that is none": answering(b"plain", Content_Encoding="gzip"),
    "a redirect to no address": answering(b"", "302 Found", Location="http://["),
    "an address of a million letters": answering(
        json.dumps({"image": "https://nft.example/" + "x" * 900_000}).encode()
    ),
    "a redirect loop": answering(b"", "302 Found", Location="/ipfs/again"),
}


@pytest.mark.parametrize("fault", METADATA_FAULTS)
def test_a_failing_metadata_host_never_makes_add_fail(connect, hurried, tmp_path, fault):
    hurried(fault)
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    with serve(sandbox) as mirror_url, serve_raw(METADATA_FAULTS[fault]) as gateway_url:
        client = connect(mirror_url, gateway_url)
        assert add(client).json == {"result": "OK"}
        nft = client.get(f"/v1/nft/{TOKEN}/7").json
        assert nft["name"] == f"Sandbox {TOKEN} #7"
        assert nft["imageUrl"].endswith("/media/placeholder.webp")
        assert nft["fileType"] == "application/octet-stream"
        assert nft["owner"] == {"accountId": ALICE}
        assert stored(client)["missing"]
        assert stored(client)["retry_at"]


def test_a_failing_image_leaves_the_metadata(connect, tmp_path):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)

    def gateway(environ, start_response):
        if environ["PATH_INFO"].endswith(".json"):
            return sandbox(environ, start_response)
        start_response("404 Not Found", [])
        return [b""]

    with serve(sandbox) as mirror_url, serve(gateway) as gateway_url:
        client = connect(mirror_url, gateway_url)
        add(client)
        nft = client.get(f"/v1/nft/{TOKEN}/7").json
    assert nft["stringifiedAttributes"]
    assert nft["fileType"] == "image/png"
    assert nft["originalImageUrl"].startswith(f"{gateway_url}/ipfs/")
    assert nft["imageUrl"].endswith("/media/placeholder.webp")


def showing(sandbox, image):
    """A gateway that has the sandbox's metadata, and this for every image."""

    def gateway(environ, start_response):
        if environ["PATH_INFO"].endswith(".json"):
            return sandbox(environ, start_response)
        start_response("200 OK", [])
        return [image]

    return gateway


def complete(client):
    with client.application.app_context():
        return rounds.complete(queries.get_nft(read(), TOKEN, 7))


def test_an_image_that_is_slow_to_decode_is_completed_at_once(connect, tmp_path, monkeypatch):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    monkeypatch.setitem(records.build.__kwdefaults__, "image_seconds", 0.02)
    image = encoded(small(size=(2000, 2000)), "PNG")
    with serve(sandbox) as mirror_url, serve(showing(sandbox, image)) as gateway_url:
        client = connect(mirror_url, gateway_url)
        assert add(client).json == {"result": "OK"}
        nft = stored(client)
        assert nft["missing"] == "it takes longer to decode: it is made later"
        assert nft["attempts"] == 0
        assert nft["retry_at"] <= times.to_iso(times.now())
        assert complete(client) is rounds.Done.COMPLETED
        assert stored(client)["image"]


def test_an_image_that_stays_too_slow_is_final(connect, tmp_path, monkeypatch):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    monkeypatch.setattr(records, "LONG_SECONDS", 0.1)
    monkeypatch.setattr(decoding, "LONG_SECONDS", 0.1)
    monkeypatch.setitem(records.build.__kwdefaults__, "image_seconds", 0.02)
    image = CORPUS["jpeg_endless"]()
    with serve(sandbox) as mirror_url, serve(showing(sandbox, image)) as gateway_url:
        client = connect(mirror_url, gateway_url)
        add(client)
        assert stored(client)["missing"] == "it takes longer to decode: it is made later"
        assert complete(client) is rounds.Done.INCOMPLETE
        nft = stored(client)
    assert nft["missing"] == "it takes too long to decode"
    assert nft["attempts"] == 1
    assert nft["retry_at"] > times.to_iso(times.now() + records.DAY - records.MINUTE)


def test_an_image_that_nothing_can_decode_now_is_tried_again_in_a_minute(
    connect, tmp_path, monkeypatch
):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    image = encoded(small(), "PNG")
    with serve(sandbox) as mirror_url, serve(showing(sandbox, image)) as gateway_url:
        client = connect(mirror_url, gateway_url)
        client.application.extensions["decoder"] = Decoder()
        monkeypatch.setattr(sys, "executable", "/nowhere/python")
        assert add(client).json == {"result": "OK"}
        nft = stored(client)
    assert nft["missing"] == "no image can be decoded now: FileNotFoundError"
    assert nft["attempts"] == 0
    assert nft["retry_at"] < times.to_iso(times.now() + 2 * records.MINUTE)


def test_a_silent_gateway_is_not_waited_for_before_the_next_is_asked(tmp_path, monkeypatch):
    monkeypatch.setattr(fetch, "SILENCE_SECONDS", 60)
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    with serve(sandbox) as url, serve_raw(network.silence) as silent_url:
        app = create_app(
            NETWORK="testnet",
            ACCOUNT_ID="0.0.9001",
            MIRROR_NODE_URL=url,
            IPFS_GATEWAYS=[f"{silent_url}/ipfs", f"{url}/ipfs"],
            **settings(tmp_path),
        )
        client = authorized_client(app, "read", "write")
        started = time.monotonic()
        assert add(client).status_code == 200
        assert time.monotonic() - started < 30
        assert not stored(client)["missing"]


def test_an_unanswered_question_about_the_owner_changes_nothing(connect, tmp_path):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db", 65536)
    with serve(sandbox) as url:
        client = connect(url, url)
        add(client)
    listing = {**KEYS, "accountId": "0.0.1002", "listingPrice": 5}
    assert_error(client.post("/v1/list/extwallet", json=listing), 503, "nothing is done twice")
    assert stored(client)["owner"] == ALICE
