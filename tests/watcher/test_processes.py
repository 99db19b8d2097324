"""The processes that meet strangers: what each can do, and what becomes of an NFT when one ends."""

import base64
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from PIL import Image

from marketplace.settings import load
from marketplace.watcher import enrichment_processes
from marketplace.watcher.enrichment_processes import EnrichmentProcesses, receive
from marketplace.watcher.found import LONG, QUICK, Found, Limits, Outcome, write_message
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.images import optimise
from stress.bombs import CORPUS, encoded
from tests.network import PATIENCE_SECONDS, drip_headers, response, serve_raw
from tests.postgresql import until
from tests.serving import children
from tests.watcher.test_images import frames, gradient

pytestmark = pytest.mark.once("no statement is asked")

POINTER = "ipfs://QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWKPbdG/7.json"


@pytest.fixture(scope="module")
def make():
    def make(gateway="http://127.0.0.1:9"):
        settings = load({"NETWORK": "sandbox", "IPFS_GATEWAYS": f"{gateway}/ipfs"}, {})
        return closing(EnrichmentProcesses(settings, dict))

    return make


@pytest.fixture(scope="module")
def processes(make):
    with make() as processes:
        yield processes


def document(content):
    """Metadata that holds its image itself."""
    return json.dumps({"name": "A", "image": f"data:;base64,{base64.b64encode(content).decode()}"})


@pytest.mark.parametrize(
    ("format", "options"),
    [(format, {}) for format in ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF")]
    + [(format, {"save_all": True, "append_images": frames(3)}) for format in ("GIF", "MPO")],
)
def test_the_confined_process_has_all_that_it_needs(processes, format, options):
    """What Pillow would import later, it can not."""
    content = encoded(frames(1)[0], format, **options)
    found = processes.enrich(document(content), LONG)
    assert (found.outcome, found.reason) == (Outcome.COMPLETE, None)
    assert found.description.name == "A"
    assert found.image == optimise(content)


def test_a_transparent_palette_needs_nothing_more(processes):
    image = gradient((64, 64)).convert("P", palette=Image.Palette.ADAPTIVE)
    content = encoded(image, "PNG", transparency=0)
    assert processes.enrich(document(content), LONG).image == optimise(content)


def test_an_image_that_can_not_be_shown_leaves_the_metadata(processes):
    found = processes.enrich(document(b"<svg/>"), QUICK)
    assert found[:2] == (Outcome.UNUSABLE, "it is not an image that can be shown")
    assert found.description.name == "A"


def test_an_image_that_takes_too_long_is_ended(make, monkeypatch):
    endless, short = response(CORPUS["jpeg_endless"]()), Limits(5, 0.2)
    pointer = json.dumps({"name": "A", "image": POINTER})
    with serve_raw(lambda connection: connection.sendall(endless)) as url, make(url) as processes:
        found = processes.enrich(pointer, short)
        assert found[:2] == (Outcome.UNUSABLE, "it takes too long to decode")
        monkeypatch.setattr(enrichment_processes, "QUICK", short)
        found = processes.enrich(pointer, short)
        assert (found.outcome, found.description.name) == (Outcome.SLOW, "A")


def child_of(processes):
    """The process that reads: the child of its keeper, which is the fork server's."""

    def find():
        keepers = children(processes._server and processes._server.pid)
        return [pid for keeper in keepers for pid in children(keeper)]

    until(find, "nothing was begun")
    return find()[0]


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(signal.SIGKILL, Outcome.BUSY), (signal.SIGSEGV, Outcome.UNREACHABLE)],
)
def test_a_process_that_is_ended_is_told_from_one_that_breaks(make, number, outcome):
    with serve_raw(drip_headers) as url, make(url) as processes, ThreadPoolExecutor(1) as thread:
        under_way = thread.submit(processes.enrich, POINTER, LONG)
        os.kill(child_of(processes), number)
        assert under_way.result(PATIENCE_SECONDS).outcome is outcome


def test_closing_ends_what_is_under_way(make):
    with serve_raw(drip_headers) as url, make(url) as processes, ThreadPoolExecutor(1) as thread:
        under_way = thread.submit(processes.enrich, POINTER, LONG)
        child_of(processes)
        processes.close()
        assert under_way.result(PATIENCE_SECONDS).outcome is Outcome.BUSY


def test_one_that_takes_too_long_is_killed_and_the_next_nft_is_completed(make, monkeypatch):
    """Its own time is up long after: whatever it does, it ends."""
    monkeypatch.setattr(enrichment_processes, "SPARE_SECONDS", -19.7)
    with serve_raw(drip_headers) as url, make(url) as processes:
        assert processes.enrich(POINTER, Limits(20, 0)).outcome is Outcome.SLOW
        found = processes.enrich("{}", LONG)
        assert found.reason == "the metadata names no image"


def test_each_fork_server_is_without_our_environment(make, monkeypatch):
    """Where one was killed, too, and another one is begun."""
    monkeypatch.setenv("MARKETPLACE_PASSWORD", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    with make() as processes:
        for _ in range(2):
            assert processes.enrich("{}", LONG).reason == "the metadata names no image"
            environment = Path(f"/proc/{processes._server.pid}/environ").read_text()
            assert "HTTPS_PROXY=http://proxy:3128" in environment
            assert "PASSWORD" not in environment
            processes._server.kill()
            processes._server.wait()


def test_a_fork_server_ends_when_nothing_is_asked(make, monkeypatch):
    monkeypatch.setattr(enrichment_processes, "IDLE_SECONDS", 0.2)
    with make() as processes:
        for _ in range(2):
            assert processes.enrich("{}", LONG).reason == "the metadata names no image"
            assert processes._server.wait(PATIENCE_SECONDS) == 0


def test_nothing_is_lost_between_two_fork_servers(make, monkeypatch):
    monkeypatch.setattr(enrichment_processes, "IDLE_SECONDS", 0.002)
    with make() as processes, ThreadPoolExecutor(3) as threads:
        found = threads.map(lambda _: processes.enrich("{}", LONG), range(12))
        assert {each.reason for each in found} == {"the metadata names no image"}


def test_nothing_outlives_the_watcher():
    with serve_raw(drip_headers) as url:
        program = f"""
from tests.watcher.test_processes import *
settings = load({{"NETWORK": "sandbox", "IPFS_GATEWAYS": "{url}/ipfs"}}, {{}})
processes = EnrichmentProcesses(settings, dict)
threading.Thread(target=processes.enrich, args=(POINTER, LONG), daemon=True).start()
print(child_of(processes), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL
    until(lambda: not Path(f"/proc/{int(ended.stdout)}").exists(), "it is still there")


def send_half_a_message(answers, *_):
    os.write(answers.fileno(), b"\0\0\0\x09")
    time.sleep(60)


def end_the_pipe(answers, *_):
    answers.close()
    time.sleep(60)


@pytest.mark.parametrize("stay", [send_half_a_message, end_the_pipe])
def test_one_that_stays_is_killed(make, monkeypatch, stay):
    monkeypatch.setattr(enrichment_processes, "RUN", f"{__name__}:{stay.__name__}")
    monkeypatch.setattr(enrichment_processes, "SPARE_SECONDS", 0.2)
    monkeypatch.setattr(enrichment_processes, "KILLED_AFTER_SECONDS", 0.2)
    with make() as processes:
        found = processes.enrich(POINTER, Limits(0, 0))
    assert found.outcome in (Outcome.SLOW, Outcome.UNUSABLE)


def received(*messages):
    ours, theirs = multiprocessing.Pipe(duplex=False)

    def send():
        with suppress(BrokenPipeError), theirs:
            for message in messages:
                theirs.send_bytes(message)

    sending = threading.Thread(target=send)
    sending.start()
    ended, ending = multiprocessing.Pipe(duplex=False)
    ending.send(0)
    with ours, ended, ending:
        found = receive(ours, ended, LONG)
    sending.join()
    return found


FETCHED = Found(Outcome.COMPLETE, None, None, "http://old")


@pytest.mark.parametrize("message", [b"x" * 3_000_000, b"{}", b"[1]\n", b'["made"]', b"\xff"])
def test_a_decoder_is_not_believed_what_it_may_not_say(message):
    found = received(write_message(FETCHED), message)
    assert found[:2] == (Outcome.UNUSABLE, "it breaks the image decoder")
    assert found.original_url == "http://old"


def test_a_decoder_speaks_of_the_image_only():
    said = FETCHED._replace(original_url="http://new", image=optimise(encoded(gradient(), "PNG")))
    found = received(write_message(FETCHED), write_message(said))
    assert (found.original_url, found.image) == ("http://old", said.image)


ATTEMPTS = """
import errno, os, resource, socket, sys, threading
sys.path.append(sys.argv[1])
import confine
def tried(attempt):
    try:
        attempt()
    except OSError as error:
        return error.errno in (errno.EMFILE, errno.EPERM, errno.EAGAIN, errno.EBADF)
    except ValueError:  # a limit that may not be raised
        return True
confined, answers = threading.Event(), []
def try_in_a_thread():
    confined.wait()
    answers.append(tried(lambda: os.kill(os.getppid(), 0)))
thread = threading.Thread(target=try_in_a_thread)
thread.start()
confine.end_with_parent()
confine.confine(1)
confined.set()
thread.join()
print(*answers, *map(tried, (
    lambda: open("/etc/passwd"),
    lambda: open("/proc/self/environ"),
    lambda: socket.socket(),
    lambda: os.read(0, 1),
    lambda: os.fork(),
    lambda: os.kill(os.getppid(), 0),
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)) or open("/etc/passwd"),
    lambda: os.setuid(0) or open("/etc/passwd"),
    lambda: os.execv("/bin/true", ["true"]),
)))
"""


@pytest.mark.skipif(not confine.is_filtered(), reason="needs seccomp, on x86_64 or aarch64")
def test_the_confined_process_opens_nothing_and_reaches_nobody():
    folder = os.path.dirname(confine.__file__)
    command = [sys.executable, "-I", "-c", ATTEMPTS, folder]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["True"] * 10
