"""Writes that wait for others are bounded, and no read waits for them."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from werkzeug.test import Client

from marketplace import create_app
from marketplace.sandbox import create_sandbox
from tests.conftest import ALICE, TOKEN, assert_error, authorized_client, settings
from tests.network import PATIENCE_SECONDS, serve, serve_raw, silence

pytestmark = pytest.mark.once("threads are counted, not statements")

AT_ONCE = 2
KEYS = {"accountId": ALICE, "tokenId": TOKEN}
PAGE = "https://dapp.example"


@pytest.fixture
def gate(tmp_path):
    """A mirror node that answers nobody while its gate is closed; yields its address and the gate."""
    sandbox, gate = create_sandbox(f"{tmp_path}/ledger.db", 65536), threading.Event()
    asked = threading.Semaphore(0)

    def mirror(environ, start_response):
        asked.release()
        assert gate.wait(PATIENCE_SECONDS)
        return sandbox(environ, start_response)

    with serve(mirror) as url:
        gate.asked = asked
        yield url, gate
        gate.set()


@pytest.fixture
def busy(gate, tmp_path, decoder):
    """An application with as many adds under way as there may be, and a client of it."""
    url, gate = gate
    app = create_app(
        NETWORK="testnet",
        ACCOUNT_ID="0.0.9001",
        MIRROR_NODE_URL=url,
        IPFS_GATEWAYS="http://127.0.0.1:1",
        WRITES_AT_ONCE=AT_ONCE,
        CORS_ORIGINS=PAGE,
        **settings(tmp_path),
    )
    app.extensions["decoder"] = decoder
    client = authorized_client(app, "read", "write")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        adding = [pool.submit(add, client, number) for number in range(1, AT_ONCE + 1)]
        for _ in adding:
            assert gate.asked.acquire(timeout=PATIENCE_SECONDS)
        yield client, gate, adding
        gate.set()


def add(client, serial_no, **options):
    return client.post("/v1/add", json=KEYS | {"serialNo": serial_no}, **options)


def test_one_more_write_is_refused_and_reads_are_answered(busy):
    client, gate, adding = busy
    for _ in range(3):  # the first one may have waited for a moment, no other does
        r = add(client, 3)
        assert_error(r, 503, "Too much is under way here")
        assert r.headers["Retry-After"] == "2"
    assert client.get("/v1/orderbook").json == []
    assert client.get("/status").status_code == 200
    assert not any(future.done() for future in adding)

    gate.set()
    assert [future.result().json for future in adding] == [{"result": "OK"}] * AT_ONCE
    assert add(client, 3).json == {"result": "OK"}


def test_a_page_of_another_origin_can_read_the_refusal(busy):
    client, *_ = busy
    for _ in range(2):
        r = add(client, 3, headers={"Origin": PAGE})
        assert_error(r, 503, "Too much is under way here")
        assert r.headers["Access-Control-Allow-Origin"] == PAGE


def test_who_is_refused_at_once_is_told_in_the_one_shape(busy):
    """Before anything was looked at, the token included."""
    client, *_ = busy
    add(client, 3)
    r = client.application.test_client().post("/v1/add", json={})
    body = assert_error(r, 503, "Too much is under way here")
    assert body == add(client, 3, headers={"Origin": PAGE}).json


def test_many_quick_writes_at_once_are_all_done(app, nft):
    client = authorized_client(app, "write")
    listing = KEYS | {"serialNo": nft[1], "listingPrice": 5}
    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(lambda _: client.post("/v1/list/extwallet", json=listing), range(40))]
    assert {r.status_code for r in answers} <= {200, 503}
    assert [r.status_code for r in answers].count(200) > 20


@contextmanager
def silent_bucket(monkeypatch):
    asked = threading.Semaphore(0)

    def answer(connection):
        asked.release()
        silence(connection)

    with serve_raw(answer) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield asked


def test_images_of_a_silent_bucket_take_few_threads(tmp_path, monkeypatch):
    with silent_bucket(monkeypatch) as asked, ThreadPoolExecutor(2) as pool:
        app = create_app(**settings(tmp_path) | {"MEDIA_URL": "s3://bucket/images"})
        client, path = Client(app), f"/media/{'0' * 64}.webp"
        waiting = [pool.submit(client.get, path) for _ in range(2)]
        for _ in waiting:
            assert asked.acquire(timeout=PATIENCE_SECONDS)
        refused = client.get(path)
        assert refused.status_code == 503
        assert "Too much is under way" in refused.json["message"]
        assert [future.result().status_code for future in waiting] == [503, 503]
