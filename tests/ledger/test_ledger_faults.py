"""Each way the mirror node can fail: what the client gets, in time, and what is stored.

Over real sockets, with the code that talks to the real network.
"""

import contextlib
import json
import struct
import time
from itertools import count

import pytest
from werkzeug.wrappers import Request, Response

from harness import network
from harness.apps import authorized_client, on_testnet
from harness.cast import ALICE, KEYS, TOKEN
from harness.network import answering, serve, serve_raw
from marketplace.errors import LedgerAnswerInvalid
from marketplace.ledger import mirror
from marketplace.ledger.rate import Deadline, MirrorRate, TimeIsUp
from marketplace.market import reconciler
from marketplace.sandbox.application import create_sandbox
from marketplace.services import mirror_node, read
from marketplace.store import nfts
from tests.answers import assert_error
from tests.ledger.answers import NFT, page

HURRY_SECONDS = 1.5  # in place of the real budgets, where a fault lasts until they are used up
ENDLESS = {"silence", "a body that drips"}


# Nothing of the account's, and the wrong one where the NFT itself is asked for.
ANOTHER = json.dumps(NFT | {"serial_number": 8, "nfts": []}).encode()
NOT_FOUND = b'{"_status":{"messages":[{"message":"Not found"}]}}'


@pytest.fixture
def connect(tmp_path):
    """A client of the service on testnet, with these servers for a mirror node and a gateway."""

    return lambda *urls, **more: authorized_client(
        on_testnet(tmp_path, *urls, **more), "read", "write"
    )


@pytest.fixture
def hurried(monkeypatch):
    """Let the budget be short, where a fault lasts until it is used up."""

    def hurry(fault):
        if fault in ENDLESS:
            monkeypatch.setattr(reconciler, "LEDGER_SECONDS", HURRY_SECONDS)

    return hurry


def add(client):
    """Add the NFT. Faults without end last for minutes: who sits them out takes too long."""
    started = time.monotonic()
    r = client.post("/v1/add", json=KEYS)
    assert time.monotonic() - started < 60
    return r


def stored(client):
    with client.application.app_context():
        return nfts.get_nft(read(), TOKEN, 7)


LEDGER_FAULTS = {
    "silence": (network.silence, 503, "did not answer"),
    "a reset in the middle": (network.reset_in_the_middle, 503, "did not answer"),
    "a body that drips": (network.drip_body, 503, "took too long"),
    "200 MB": (network.huge_body, 502, "larger than"),
    "a storm of 429": (answering(b"", "429 Too Many Requests"), 503, "status 429"),
    "429 for an hour": (answering(b"slow", "429 Slow", Retry_After="3600"), 503, "status 429"),
    "500s": (answering(b"oops", "500 Oops"), 503, "status 500"),
    "400": (answering(b'{"_status": {"messages": []}}', "400 Bad Request"), 502, "status 400"),
    "HTML": (answering(b"<html>Welcome</html>"), 502, "not JSON"),
    "another server's 404": (answering(b"<html>", "404 Not Found"), 502, "status 404"),
    "half of the JSON": (answering(page(NFT)[:40]), 502, "not JSON"),
    "deep JSON": (answering(b"[" * 50_000), 502, "not JSON"),
    "an array": (answering(b"[]"), 502, "invalid answer"),
    "wrong types": (answering(page(NFT | {"serial_number": "7"})), 502, "serial_number"),
    "a wrong date": (answering(page(NFT | {"modified_timestamp": "now"})), 502, "modified"),
    "another NFT": (answering(ANOTHER), 502, "another NFT"),
    "a redirect": (answering(b"", "302 Found", Location="http://["), 502, "status 302"),
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
        connection.sendall(network.response(reply, status, Retry_After="1"))

    with serve_raw(answer) as url:
        assert add(connect(url)).status_code == 200
    assert asked[1] - asked[0] >= 1


def test_requests_keep_the_pace(connect):
    asked = []

    def answer(connection):
        asked.append(time.monotonic())
        connection.sendall(network.response(NOT_FOUND, "404 Not Found"))

    with serve_raw(answer) as url:
        client = connect(url, MIRROR_NODE_RATE=20)
        started = time.monotonic()
        for _ in range(6):
            assert_error(add(client), 404, "is not an NFT on the ledger")
    assert len(asked) == 12
    assert asked[-1] - started >= 11 / 20 - 0.05


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


@pytest.mark.parametrize(
    "message",
    [
        {"message": "Invalid parameter: tokenid"},
        {"message": 'Invalid entity ID "0.0.274877906944"'},
        {"message": "Bad Request", "detail": "Failed to convert 'id'"},
        {"message": "Failed to convert 'id' with value: '0.0.274877906944'"},
    ],
)
def test_an_id_that_no_network_can_have_is_not_there(connect, message):
    body = json.dumps({"_status": {"messages": [message]}}).encode()
    with serve_raw(answering(body, "400 Bad Request")) as url:
        assert_error(add(connect(url)), 404, "is not an NFT on the ledger")


def test_refused_callers_do_not_lengthen_the_queue(tmp_path):
    rate = MirrorRate(tmp_path, 40)
    granted = 0
    for _ in range(400):
        with contextlib.suppress(TimeIsUp):
            rate.wait(Deadline(0.001))
            granted += 1
    assert granted < 400
    rate.wait(Deadline(5))  # all 400 together would take ten seconds


@pytest.mark.parametrize(
    "content", [b"", b"half", struct.pack("d", 1e9), struct.pack("d", float("nan"))]
)
def test_a_file_that_cannot_be_used_delays_no_request(tmp_path, content):
    """As after a start of the machine, whose clock begins at 0."""
    (tmp_path / "mirror-node.turn").write_bytes(content)
    rate = MirrorRate(tmp_path, 40)
    assert rate.wait(Deadline(5)) < 1
    assert 0.01 < rate.wait(Deadline(5)) < 1


def test_without_a_folder_a_process_keeps_the_rate_for_itself(tmp_path):
    rate = MirrorRate(tmp_path / "gone", 40)
    assert rate.wait(Deadline(5)) < 0.02
    assert 0.01 < rate.wait(Deadline(5)) < 1


def test_an_unanswered_question_about_the_owner_changes_nothing(connect, tmp_path):
    sandbox = create_sandbox(f"{tmp_path}/ledger.db")
    with serve(sandbox) as url:
        client = connect(url, url)
        add(client)
    listing = {**KEYS, "accountId": "0.0.1002", "listingPrice": 5}
    assert_error(client.post("/v1/list/extwallet", json=listing), 503, "nothing is done twice")
    assert stored(client)["owner"] == ALICE


@pytest.mark.parametrize("nfts", [[], [NFT]], ids=["empty", "with NFTs"])
def test_pages_without_end_come_to_an_end(tmp_path, monkeypatch, nfts):
    """Each led to another one: an import, or the check of an account, went on for ever."""
    monkeypatch.setattr(mirror, "MAX_PAGES", 20)
    numbers = count(1)

    @Request.application
    def answer(request):
        following = f"/api/v1/tokens/{TOKEN}/nfts?limit=100&serialnumber=gt:{next(numbers)}"
        return Response(json.dumps({"nfts": nfts, "links": {"next": following}}))

    with (
        serve(answer) as url,
        on_testnet(tmp_path, url, MIRROR_NODE_RATE="10000").app_context(),
        pytest.raises(LedgerAnswerInvalid, match="nfts: it has more than 20 pages"),
    ):
        list(mirror_node().list_nfts(TOKEN))
    assert next(numbers) == 21
