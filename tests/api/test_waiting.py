"""Writes that wait for others are bounded, and no read waits for them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta

import pytest
from werkzeug.test import Client

from harness.apps import authorized_client, on_testnet, settings
from harness.cast import KEYS
from harness.network import PATIENCE_SECONDS, response, serve, serve_raw, silence
from marketplace import create_app
from marketplace.api import limits
from marketplace.sandbox.application import create_sandbox
from marketplace.store import media
from tests.answers import assert_error

AT_ONCE = 3
PAGE = "https://dapp.example"


@pytest.fixture
def gate(tmp_path):
    """A mirror node that answers nobody while its gate is closed; yields its address and the gate."""
    sandbox, gate = create_sandbox(f"{tmp_path}/ledger.db"), threading.Event()
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
def busy(gate, tmp_path, monkeypatch):
    """A client with as many adds under way as may be, the gate, and the adds."""
    monkeypatch.setattr(limits, "WRITES_AT_ONCE", AT_ONCE)
    url, gate = gate
    client = authorized_client(on_testnet(tmp_path, url, CORS_ORIGINS=PAGE), "read", "write")
    with ThreadPoolExecutor(AT_ONCE) as pool:

        def begin(client, serial_no):
            future = pool.submit(add, client, serial_no)
            assert gate.asked.acquire(timeout=PATIENCE_SECONDS)
            return future

        yield client, gate, [begin(client, number + 1) for number in range(AT_ONCE)]
        gate.set()


def add(client, serial_no, **options):
    return client.post("/v1/add", json=KEYS | {"serialNo": serial_no}, **options)


def test_one_more_write_is_refused_and_reads_are_answered(busy):
    client, gate, adding = busy
    for _ in range(3):  # the first one may have waited for a moment, no other does
        r = add(client, 9)
        assert_error(r, 503, "Too many requests are in progress")
        assert r.headers["Retry-After"] == "2"
    assert client.get("/v1/orderbook").json == []
    assert client.get("/status").status_code == 200
    assert not any(future.done() for future in adding)

    gate.set()
    assert [future.result().json for future in adding] == [{"result": "OK"}] * AT_ONCE
    assert add(client, 9).json == {"result": "OK"}


def test_a_page_of_another_origin_can_read_the_refusal(busy):
    client, *_ = busy
    for _ in range(2):
        r = add(client, 9, headers={"Origin": PAGE})
        assert_error(r, 503, "Too many requests are in progress")
        assert r.headers["Access-Control-Allow-Origin"] == PAGE


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
    monkeypatch.setattr(media, "TIMEOUT", timedelta(seconds=2))
    with silent_bucket(monkeypatch) as asked, ThreadPoolExecutor(2) as pool:
        app = create_app(**settings(tmp_path) | {"MEDIA_URL": "s3://bucket/images"})
        client, path = Client(app), f"/media/{'0' * 64}.webp"
        begun = [pool.submit(client.get, path) for _ in range(2)]
        for _ in begun:
            assert asked.acquire(timeout=PATIENCE_SECONDS)
        refused = client.get(path)
        assert refused.status_code == 503
        assert "Too many requests are in progress" in refused.json["message"]
        assert [future.result().status_code for future in begun] == [503, 503]


def test_a_bucket_that_answers_serves_a_page_of_images(tmp_path, monkeypatch):
    """A browser asks for six at once, and for none again."""
    monkeypatch.setattr(limits, "PAUSE_SECONDS", PATIENCE_SECONDS)

    def answer(connection):
        time.sleep(0.02)
        now = "Sat, 21 Nov 2026 00:00:00 GMT"
        connection.sendall(response(b"image", Last_Modified=now, ETag='"1"'))

    with bucket(monkeypatch, answer), ThreadPoolExecutor(6) as pool:
        app = create_app(**settings(tmp_path) | {"MEDIA_URL": "s3://bucket/images"})
        paths = [f"/media/{number:064x}.webp" for number in range(24)]
        answers = [*pool.map(lambda path: app.test_client().get(path), paths)]
    assert {r.status_code for r in answers} == {200}
