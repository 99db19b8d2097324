"""Writes that wait for others are bounded, and no read waits for them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest
from werkzeug.test import Client

from marketplace import create_app
from marketplace.api import waiting
from marketplace.api.waiting import Waiting
from marketplace.errors import TooBusy
from marketplace.sandbox import create_sandbox
from tests.conftest import ALICE, TOKEN, assert_error, authorized_client, settings
from tests.network import PATIENCE_SECONDS, response, serve, serve_raw, silence

pytestmark = pytest.mark.once("threads are counted, not statements")

AT_ONCE = 3
OF_ONE = AT_ONCE - 1
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
    """A client with as many adds under way as one may have, the gate, the adds, and what begins another."""
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

        def begin(client, serial_no):
            future = pool.submit(add, client, serial_no)
            assert gate.asked.acquire(timeout=PATIENCE_SECONDS)
            return future

        yield client, gate, [begin(client, number + 1) for number in range(OF_ONE)], begin
        gate.set()


def add(client, serial_no, **options):
    return client.post("/v1/add", json=KEYS | {"serialNo": serial_no}, **options)


def test_one_more_write_is_refused_and_reads_are_answered(busy):
    client, gate, adding, _ = busy
    for _ in range(3):  # the first one may have waited for a moment, no other does
        r = add(client, 3)
        assert_error(r, 503, "Too much is under way here")
        assert r.headers["Retry-After"] == "2"
    assert client.get("/v1/orderbook").json == []
    assert client.get("/status").status_code == 200
    assert not any(future.done() for future in adding)

    gate.set()
    assert [future.result().json for future in adding] == [{"result": "OK"}] * OF_ONE
    assert add(client, 3).json == {"result": "OK"}


def test_a_page_of_another_origin_can_read_the_refusal(busy):
    client, *_ = busy
    for _ in range(2):
        r = add(client, 3, headers={"Origin": PAGE})
        assert_error(r, 503, "Too much is under way here")
        assert r.headers["Access-Control-Allow-Origin"] == PAGE


def test_who_is_refused_at_once_is_told_in_the_one_shape(busy):
    """Where there is no room for anybody, before the token was looked at."""
    client, _, _, begin = busy
    add(client, 3)
    begin(authorized_client(client.application, "write"), 4)
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
def bucket(monkeypatch, answer):
    with serve_raw(answer) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        yield


@contextmanager
def silent_bucket(monkeypatch):
    asked = threading.Semaphore(0)

    def answer(connection):
        asked.release()
        silence(connection)

    with bucket(monkeypatch, answer):
        yield asked


def test_images_of_a_silent_bucket_take_few_threads(tmp_path, monkeypatch):
    with silent_bucket(monkeypatch) as asked, ThreadPoolExecutor(2) as pool:
        app = create_app(**settings(tmp_path) | {"MEDIA_URL": "s3://bucket/images"})
        client, path = Client(app), f"/media/{'0' * 64}.webp"
        begun = [pool.submit(client.get, path) for _ in range(2)]
        for _ in begun:
            assert asked.acquire(timeout=PATIENCE_SECONDS)
        refused = client.get(path)
        assert refused.status_code == 503
        assert "Too much is under way" in refused.json["message"]
        assert [future.result().status_code for future in begun] == [503, 503]


def test_a_bucket_that_answers_serves_a_page_of_images(tmp_path, monkeypatch):
    """A browser asks for six at once, and for none again."""
    monkeypatch.setattr(waiting, "QUICK_IMAGE_SECONDS", PATIENCE_SECONDS)

    def answer(connection):
        time.sleep(0.02)
        now = "Sat, 21 Nov 2026 00:00:00 GMT"
        connection.sendall(response(b"image", Last_Modified=now, ETag='"1"'))

    with bucket(monkeypatch, answer), ThreadPoolExecutor(6) as pool:
        app = create_app(**settings(tmp_path) | {"MEDIA_URL": "s3://bucket/images"})
        paths = [f"/media/{number:064x}.webp" for number in range(24)]
        answers = [*pool.map(lambda path: app.test_client().get(path), paths)]
    assert {r.status_code for r in answers} == {200}


def test_no_caller_has_all_of_them(busy):
    """One is left for another caller, however the first one writes its header."""
    client, gate, _, begin = busy
    token = client.environ_base["HTTP_AUTHORIZATION"].split()[1]
    for header in (f"bearer {token}", f"Bearer   {token}  "):
        r = add(client, 3, headers={"Authorization": header})
        assert_error(r, 503, "Too much is under way here")
    others = begin(authorized_client(client.application, "write"), 4)
    gate.set()
    assert others.result().json == {"result": "OK"}


def test_of_those_that_wait_for_a_quick_one_there_are_few():
    """Whoever sends quick writes among slow ones keeps no thread from reading."""
    writes, done = Waiting(1, quick_seconds=PATIENCE_SECONDS, most_waiting=2), threading.Event()

    def write(caller):
        with writes.one(caller):
            assert done.wait(PATIENCE_SECONDS)

    with ThreadPoolExecutor(3) as pool:
        under_way = [pool.submit(write, str(number)) for number in range(3)]
        started = time.monotonic()
        while writes._waiting < 2:
            assert time.monotonic() - started < PATIENCE_SECONDS
            time.sleep(0.01)
        with pytest.raises(TooBusy), writes.one("one more"):
            pass
        done.set()
        assert [future.result() for future in under_way] == [None] * 3
