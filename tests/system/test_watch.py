"""``flask watch`` as a process: one works, others wait, and it stops cleanly."""

import signal
import subprocess
import threading

import pytest

from harness.apps import settings
from harness.cast import ALICE, BOB
from harness.network import PATIENCE_SECONDS, drip_headers, serve_raw
from harness.postgresql import until
from harness.serving import begin_flask
from tests.cli.listings import prepare
from tests.engines import both_engines


@pytest.fixture
def own(tmp_path):
    return settings(tmp_path)


def watcher(own, output=subprocess.PIPE):
    return begin_flask(own, "watch", stdout=output, stderr=subprocess.STDOUT)


def wait_for(process, words):
    """Read lines until one has these words. The log may have others before it."""
    for line in process.stdout:
        if words in line:
            return
    raise AssertionError(f"it ended before it said: {words}")


@both_engines
def test_watch_works_alone_and_stops_cleanly(client, nft, ledger, own):
    ledger.sign_and_submit(prepare(client))
    first = watcher(own)
    assert first.stdout.readline() == "Following sandbox\n"
    wait_for(first, f"{nft[0]} #{nft[1]} is for sale for ")
    second = watcher(own)
    wait_for(second, "Another watcher is at work")

    ledger.hand_over(nft, BOB)
    wait_for(first, f"{nft[0]} #{nft[1]} was taken off the order book")

    first.send_signal(signal.SIGTERM)
    assert first.communicate(timeout=60)[0].endswith("Stopped\n")
    assert first.returncode == 0
    wait_for(second, "Following sandbox")
    second.send_signal(signal.SIGTERM)
    assert second.communicate(timeout=60)[0] == "Stopped\n"
    assert second.returncode == 0


def test_it_ends_at_once_while_the_mirror_node_drips(own):
    asked = threading.Event()

    def drip(connection):
        asked.set()
        drip_headers(connection)

    with serve_raw(drip) as url:
        testnet = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.9001", "MIRROR_NODE_URL": url}
        process = watcher(own | testnet)
        assert asked.wait(PATIENCE_SECONDS)
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=PATIENCE_SECONDS)[0]
    assert process.returncode == 0
    assert "The ledger was not followed" not in output  # as once it has waited for the answer


@both_engines
def test_a_log_without_room_ends_no_watcher(client, nft, ledger, own):
    with open("/dev/full", "w") as full:
        process = watcher(own, output=full)
    for _ in range(2):
        ledger.sign_and_submit(prepare(client))
        until(lambda: client.get("/v1/orderbook").json, "it is not listed")
        ledger.hand_over(nft, BOB)
        until(lambda: not client.get("/v1/orderbook").json, "it is listed")
        ledger.hand_over(nft, ALICE)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
