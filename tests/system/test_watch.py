"""``flask watch`` as a process: one works, others wait, and it stops cleanly."""

import signal
import subprocess
import sys
import time

import pytest

from tests.cli.test_sync import prepare
from tests.conftest import ALICE, BOB, settings
from tests.network import PATIENCE_SECONDS, serve_raw, silence
from tests.serving import ROOT, environment


@pytest.fixture
def environ(tmp_path):
    return environment(**settings(tmp_path))


def watcher(environ, *options, output=subprocess.PIPE):
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "watch", *options]
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=output, stderr=subprocess.STDOUT, text=True
    )


def test_watch_works_alone_and_stops_cleanly(client, nft, ledger, environ):
    ledger.sign_and_submit(prepare(client))
    first = watcher(environ)
    assert first.stdout.readline() == "Following sandbox\n"
    assert "NFTs listed: 1" in first.stdout.readline()
    second = watcher(environ)
    assert "Another watcher is at work" in second.stdout.readline()

    ledger.hand_over(nft, BOB)
    assert "NFTs taken off the order book: 1" in first.stdout.readline()

    first.send_signal(signal.SIGTERM)
    assert first.communicate(timeout=60)[0] == "Stopped\n"
    assert first.returncode == 0
    assert second.stdout.readline() == "Following sandbox\n"
    second.send_signal(signal.SIGTERM)
    assert second.communicate(timeout=60)[0] == "Stopped\n"
    assert second.returncode == 0


@pytest.mark.once("no statement is asked")
def test_it_ends_at_once_while_the_mirror_node_is_silent(tmp_path):
    with serve_raw(silence) as url:
        testnet = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.9001", "MIRROR_NODE_URL": url}
        process = watcher(environment(**settings(tmp_path), **testnet))
        assert process.stdout.readline() == "Following testnet\n"
        time.sleep(1)  # it asks
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=2)
        assert process.returncode == 0


def test_a_log_without_room_ends_no_watcher(client, nft, ledger, environ):
    with open("/dev/full", "w") as full:
        process = watcher(environ, output=full)
    for _ in range(2):
        ledger.sign_and_submit(prepare(client))
        wait_until(process, lambda: client.get("/v1/orderbook").json)
        ledger.hand_over(nft, BOB)
        wait_until(process, lambda: not client.get("/v1/orderbook").json)
        ledger.hand_over(nft, ALICE)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def wait_until(process, happens):
    until = time.monotonic() + PATIENCE_SECONDS
    while not happens():
        assert process.poll() is None and time.monotonic() < until
        time.sleep(0.1)
