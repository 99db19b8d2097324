"""What the watcher tells systemd, over a real socket: when it is ready, what it does, that it is alive."""

import signal
import socket
import time
from contextlib import closing, contextmanager

import pytest
from werkzeug.wrappers import Response

from harness.apps import settings
from harness.network import PATIENCE_SECONDS, serve
from harness.serving import begin_flask
from marketplace.watcher.loop import notify
from tests.engines import both_engines


@pytest.fixture
def systemd(tmp_path):
    """The socket that systemd gives to a service."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as listener:
        listener.bind(str(tmp_path / "notify"))
        listener.settimeout(PATIENCE_SECONDS)
        yield listener


@contextmanager
def watcher(folder, systemd, **more):
    named = {"NOTIFY_SOCKET": systemd.getsockname(), "PYTHONUNBUFFERED": "1"}
    with begin_flask(settings(folder) | more, "watch", variables=named) as process:
        try:
            yield process
        finally:
            process.kill()


def receive(systemd):
    return systemd.recv(65536).decode()


def receive_until(systemd, beginning):
    """The next message that begins so; signs of life come in between."""
    while not (message := receive(systemd)).startswith(beginning):
        pass
    return message


@both_engines
def test_a_watcher_tells_that_it_is_ready_alive_and_stopping(app, systemd, tmp_path):
    with watcher(tmp_path, systemd) as process:
        assert receive(systemd) == "READY=1\nSTATUS=Following sandbox"
        assert receive(systemd) == receive(systemd) == "WATCHDOG=1"
        process.send_signal(signal.SIGTERM)
        assert receive_until(systemd, "STOPPING") == "STOPPING=1"
        assert process.wait(PATIENCE_SECONDS) == 0


@both_engines
def test_one_that_waits_for_its_turn_is_ready_and_alive(app, systemd, tmp_path):
    with watcher(tmp_path, systemd):
        receive_until(systemd, "READY=1")
        with watcher(tmp_path, systemd) as second:
            waiting = "READY=1\nSTATUS=Another watcher is at work: waiting for it to end"
            assert receive_until(systemd, "READY=1") == waiting
            assert receive_until(systemd, "WATCHDOG=1")
            second.terminate()
            # What nobody reads fills the socket, and stops who tells.
            receive_until(systemd, "STOPPING=1")
            assert second.wait(PATIENCE_SECONDS) == 0


def test_a_sign_of_life_is_given_once_something_was_done_and_not_before(
    app, lister, nft, systemd, tmp_path
):
    lister(nft)

    def slow_mirror(environ, start_response):
        time.sleep(4)  # four signs of life would fit in
        start_response("404 Not Found", [])
        return [b"nothing"]

    with serve(slow_mirror) as url, watcher(tmp_path, systemd, MIRROR_NODE_URL=url):
        receive_until(systemd, "READY=1")
        assert receive(systemd).startswith("STATUS=The ledger was not followed: ")
        assert receive(systemd) == "WATCHDOG=1"


def test_it_tells_that_the_ledger_is_followed_again(app, systemd, tmp_path):
    answers = [Response(status=503)]

    def mirror(environ, start_response):
        return (answers[0] if answers else app)(environ, start_response)

    with serve(mirror) as url, watcher(tmp_path, systemd, MIRROR_NODE_URL=f"{url}/sandbox"):
        receive_until(systemd, "STATUS=The ledger was not followed: ")
        answers.clear()
        assert receive_until(systemd, "READY=1") == "READY=1\nSTATUS=Following sandbox"


def test_what_a_stranger_wrote_is_no_message_of_its_own(systemd, monkeypatch, tmp_path):
    for listener in (None, str(tmp_path / "gone"), systemd.getsockname()):
        if listener:
            monkeypatch.setenv("NOTIFY_SOCKET", listener)
        notify("STATUS=The ledger was not followed: a\nMAINPID=1\x1b")
    assert receive(systemd) == r"STATUS=The ledger was not followed: a MAINPID=1\x1b"
