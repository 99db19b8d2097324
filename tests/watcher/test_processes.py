"""The processes that meet strangers: what each can do, and what becomes of an NFT when one ends."""

import base64
import errno
import json
import os
import platform
import random
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest
from PIL import Image

from harness.images import CORPUS, encoded
from harness.network import PATIENCE_SECONDS, drip_headers, response, serve_raw
from harness.postgresql import until
from marketplace.settings import load
from marketplace.watcher import enrichment_processes
from marketplace.watcher.enrichment_processes import EnrichmentProcesses
from marketplace.watcher.enrichment_result import LONG, QUICK, EnrichmentResult, Limits, Outcome
from marketplace.watcher.metadata_columns import REFUSED
from marketplace.watcher.strangers import confine
from marketplace.watcher.strangers.decoder import optimise
from tests.namespaces import UNSHARE, needs_namespaces
from tests.watcher.pictures import DISPLAY_P3, frames, gradient

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
    [(format, {}) for format in ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "TIFF")]
    + [(format, {"save_all": True, "append_images": frames(3)}) for format in ("GIF", "MPO", "PNG")]
    + [(format, {"icc_profile": DISPLAY_P3}) for format in ("PNG", "JPEG", "WEBP")],
)
def test_the_confined_process_has_all_that_it_needs(processes, format, options):
    """libvips starts its threads there."""
    content = encoded(frames(1)[0], format, **options)
    found = processes.enrich(document(content), LONG)
    assert (found.outcome, found.reason) == (Outcome.COMPLETE, None)
    assert found.description.name == "A"
    assert found.image == optimise(content)


def test_a_picture_that_fills_the_document_is_no_fault_of_the_reader(processes):
    noise = Image.frombytes("RGB", (640, 640), random.Random(1).randbytes(640 * 640 * 3))
    content = encoded(noise, "JPEG", quality=95).ljust(775_000, b"\0")
    found = processes.enrich(document(content), LONG)
    assert (found.outcome, found.reason) == (Outcome.COMPLETE, None)
    assert found.image == optimise(content)


def test_a_transparent_palette_needs_nothing_more(processes):
    image = gradient((64, 64)).convert("P", palette=Image.Palette.ADAPTIVE)
    content = encoded(image, "PNG", transparency=0)
    assert processes.enrich(document(content), LONG).image == optimise(content)


def test_an_image_that_cannot_be_shown_leaves_the_metadata(processes):
    found = processes.enrich(document(b"<svg/>"), QUICK)
    assert found[:2] == (Outcome.UNUSABLE, "it is not an image that can be shown")
    assert found.description.name == "A"


def test_an_image_that_takes_too_long_is_ended(make):
    slow = response(CORPUS["png_slow"]())
    pointer = json.dumps({"name": "A", "image": POINTER})
    with serve_raw(lambda connection: connection.sendall(slow)) as url, make(url) as processes:
        found = processes.enrich(pointer, Limits(5, 1))
        # The latter on a busy machine.
        assert found.reason in ("it takes too long to decode", "it took too long")
        found = processes.enrich(pointer, QUICK)
        assert (found.outcome, found.description.name) == (Outcome.SLOW, "A")


def children(pid):
    """The processes that a process, with all its threads, has started."""
    found = set()
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(OSError):  # the thread has ended
            found |= {*map(int, path.read_text().split())}
    return found


@pytest.fixture
def readers():
    """A function that lists the readers which this test has started."""
    before = children(os.getpid())
    return lambda: children(os.getpid()) - before


class Host:
    """A host that notes when it is asked: then the reader has started."""

    def __init__(self, answer):
        self.answer, self.asked = answer, threading.Event()

    def __call__(self, connection):
        self.asked.set()
        self.answer(connection)

    def wait(self):
        assert self.asked.wait(PATIENCE_SECONDS)


@pytest.fixture
def dripping():
    return Host(drip_headers)


def wait_for_reader(readers):
    until(readers, "no reader was started")
    [pid] = readers()
    return pid


def wait_for_decoder(readers):
    pid = wait_for_reader(readers)
    until(lambda: children(pid), "no image is decoded")
    [child] = children(pid)
    return child


def command(pid):
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(signal.SIGKILL, Outcome.BUSY), (signal.SIGSEGV, Outcome.UNREACHABLE)],
)
def test_a_reader_that_is_killed_is_distinguished_from_one_that_breaks(
    make, readers, dripping, number, outcome
):
    with serve_raw(dripping) as url, make(url) as processes, ThreadPoolExecutor(1) as thread:
        under_way = thread.submit(processes.enrich, POINTER, LONG)
        dripping.wait()
        os.kill(wait_for_reader(readers), number)
        assert under_way.result(PATIENCE_SECONDS).outcome is outcome
        assert processes.enrich("{}", LONG).reason == "the metadata names no image"


@pytest.mark.parametrize(
    ("number", "outcome"),
    [(signal.SIGKILL, Outcome.BUSY), (signal.SIGSEGV, Outcome.UNUSABLE)],
)
def test_a_decoder_that_is_killed_is_distinguished_from_one_that_breaks(
    make, readers, number, outcome
):
    slow = response(CORPUS["png_slow"]())
    pointer = json.dumps({"name": "A", "image": POINTER})
    with (
        serve_raw(lambda connection: connection.sendall(slow)) as url,
        make(url) as processes,
        ThreadPoolExecutor(1) as thread,
    ):
        under_way = thread.submit(processes.enrich, pointer, LONG)
        os.kill(wait_for_decoder(readers), number)
        found = under_way.result(PATIENCE_SECONDS)
        assert (found.outcome, found.description.name) == (outcome, "A")


def test_closing_ends_what_is_under_way(make, readers):
    with serve_raw(drip_headers) as url, make(url) as processes, ThreadPoolExecutor(1) as thread:
        under_way = thread.submit(processes.enrich, POINTER, LONG)
        pid = wait_for_reader(readers)
        processes.close()
        assert under_way.result(PATIENCE_SECONDS).outcome is Outcome.BUSY
        assert not Path(f"/proc/{pid}").exists()
        assert processes.enrich("{}", LONG).outcome is Outcome.BUSY


def test_closing_ends_a_decoder(make, readers):
    slow = response(CORPUS["png_slow"]())
    pointer = json.dumps({"name": "A", "image": POINTER})
    with (
        serve_raw(lambda connection: connection.sendall(slow)) as url,
        make(url) as processes,
        ThreadPoolExecutor(1) as thread,
    ):
        under_way = thread.submit(processes.enrich, pointer, LONG)
        pid = wait_for_decoder(readers)
        processes.close()
        assert under_way.result(PATIENCE_SECONDS).outcome is Outcome.BUSY
        until(lambda: not command(pid), "it is still there")


def test_a_reader_that_takes_too_long_is_killed_and_the_next_nft_is_completed(make, monkeypatch):
    """Its own time is up long after: whatever it does, it ends."""
    with serve_raw(drip_headers) as url, make(url) as processes:
        monkeypatch.setattr(enrichment_processes, "SPARE_SECONDS", -19.7)
        assert processes.enrich(POINTER, Limits(20, 0)).outcome is Outcome.SLOW
        monkeypatch.undo()
        assert processes.enrich("{}", LONG).reason == "the metadata names no image"


def test_one_reader_reads_several_nfts_without_our_environment(make, readers, monkeypatch):
    monkeypatch.setenv("MARKETPLACE_PASSWORD", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy:3128")
    with make() as processes:
        for _ in range(3):
            assert processes.enrich("{}", QUICK).reason == "the metadata names no image"
            [pid] = readers()
        environment = Path(f"/proc/{pid}/environ").read_text()
        assert "HTTPS_PROXY=http://proxy:3128" in environment
        assert "PASSWORD" not in environment


def test_silent_hosts_keep_only_their_own_readers(make, readers):
    with serve_raw(drip_headers) as url, ThreadPoolExecutor(8) as threads, make(url) as processes:
        dripping = [threads.submit(processes.enrich, POINTER, LONG) for _ in range(4)]
        until(lambda: len(readers()) == 4, "they are not begun")
        found = [*threads.map(lambda _: processes.enrich("{}", QUICK), range(12))]
        assert {each.reason for each in found} == {"the metadata names no image"}
        assert not any(each.done() for each in dripping)
        assert len(readers()) <= 8


def test_a_reader_that_breaks_takes_no_other_nft_with_it(make, readers, dripping):
    with serve_raw(dripping) as url, make(url) as processes, ThreadPoolExecutor(2) as threads:
        broken = threads.submit(processes.enrich, POINTER, LONG)
        dripping.wait()
        pid = wait_for_reader(readers)
        other = threads.submit(processes.enrich, POINTER, Limits(2, 0))
        until(lambda: len(readers()) == 2, "nothing was begun")
        os.kill(pid, signal.SIGSEGV)
        assert broken.result(PATIENCE_SECONDS).outcome is Outcome.UNREACHABLE
        assert other.result(PATIENCE_SECONDS).reason == "it took too long"


def test_idle_readers_are_ended(make, readers, monkeypatch):
    monkeypatch.setattr(enrichment_processes, "IDLE_SECONDS", 0.1)
    with make() as processes:
        processes.enrich("{}", QUICK)
        until(lambda: not readers(), "it is still there")
        assert processes.enrich("{}", LONG).reason == "the metadata names no image"


def test_a_reader_has_no_threads(make, readers):
    """It forks: another thread could hold a lock for ever in the fork."""
    with serve_raw(drip_headers) as url, make(url) as processes:
        assert processes.enrich(POINTER, QUICK).reason == "it took too long"
        assert processes.enrich(document(encoded(gradient((9, 9)), "PNG")), LONG).image
        pid = wait_for_reader(readers)
        assert len(os.listdir(f"/proc/{pid}/task")) == 1
        assert not children(pid)


def send_a_slow_image(connection):
    connection.sendall(response(CORPUS["png_slow"]()))


@pytest.mark.parametrize(
    ("child", "host"),
    [(wait_for_reader, drip_headers), (wait_for_decoder, send_a_slow_image)],
)
def test_nothing_outlives_a_killed_watcher(child, host, tmp_path):
    asked = tmp_path / "asked"

    def note_and_answer(connection):
        asked.touch()
        host(connection)

    with serve_raw(note_and_answer) as url:
        program = f"""
from tests.watcher.test_processes import *
settings = load({{"NETWORK": "sandbox", "IPFS_GATEWAYS": "{url}/ipfs"}}, {{}})
processes = EnrichmentProcesses(settings, dict)
pointer = json.dumps({{"image": POINTER}})
threading.Thread(target=processes.enrich, args=(pointer, LONG), daemon=True).start()
until(Path("{asked}").exists, "the host is not asked")
print({child.__name__}(lambda: children(os.getpid())), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""
        ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == -signal.SIGKILL
    until(lambda: not command(int(ended.stdout)), "it is still there")


ANSWER = """
from multiprocessing.connection import Connection
C = Connection(0)
C.recv()
C.recv()
"""
FETCHED = """C.send_bytes(b'["made", null, null, null, null, 0]\\n'); C.recv()\n"""
KILLED_BEFORE_IT_READS = """
from multiprocessing.connection import Connection
import os, select, signal
Connection(0).recv()
select.select([0], [], [])
os.kill(os.getpid(), signal.SIGKILL)
"""
WAIT = "import os, time; os.write(0, b'\\0\\0\\0\\x09'); time.sleep(60)"


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        (WAIT, Outcome.SLOW),
        ("import os, time; os.close(0); time.sleep(60)", Outcome.BUSY),
        (ANSWER + WAIT, Outcome.SLOW),
        (ANSWER + "C.send_bytes(b'x' * 30_000_000)", Outcome.UNREACHABLE),
        (ANSWER + "C.send_bytes(b'[1]')", Outcome.UNREACHABLE),
        (ANSWER + FETCHED + WAIT, Outcome.SLOW),
        (ANSWER + FETCHED + "C.send_bytes(b'no image')", Outcome.UNREACHABLE),
        ("import nothing", Outcome.BUSY),
        # The error of the socket said nothing about the NFT, which was taken to be unusable.
        (KILLED_BEFORE_IT_READS, Outcome.BUSY),
    ],
)
def test_a_reader_that_misbehaves_is_killed(make, readers, monkeypatch, tmp_path, text, outcome):
    (tmp_path / "misbehaving.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(enrichment_processes, "READER", "misbehaving")
    monkeypatch.setattr(enrichment_processes, "SPARE_SECONDS", 2)
    with make() as processes:
        assert processes.enrich(POINTER, Limits(0, -1)).outcome is outcome
        until(lambda: not readers(), "it is still there")


def test_a_decoder_speaks_of_the_image_only():
    fetched = EnrichmentResult(Outcome.COMPLETE, None, None, "http://old")
    said = EnrichmentResult(
        Outcome.COMPLETE, None, None, "http://new", optimise(encoded(gradient(), "PNG"))
    )
    found = fetched.with_image_of(said)
    assert (found.original_url, found.image) == ("http://old", said.image)


ATTEMPTS = """
import os, resource, socket, sys, threading
sys.path.append(sys.argv[1])
import confine

def is_refused(attempt):
    try:
        attempt()
    except (OSError, ValueError):  # ValueError: a limit that may not be raised
        return True
    return False

confined, answers = threading.Event(), []
def try_in_a_thread():
    confined.wait()
    answers.append(is_refused(lambda: open("/etc/passwd")))
thread = threading.Thread(target=try_in_a_thread)
thread.start()
confine.limit()
confine.confine(5, 1, os.getppid(), 50_000_000)
confined.set()
thread.join()
print(*answers, *map(is_refused, (
    lambda: open("/etc/passwd"),
    lambda: open("/proc/self/environ"),
    lambda: socket.socket(),
    lambda: socket.socketpair(),
    lambda: os.pipe(),
    lambda: os.memfd_create("more"),
    lambda: os.dup(1),
    lambda: os.read(0, 1),
    lambda: os.write(2, b"x"),
    lambda: os.fork(),
    lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)),
    lambda: os.execv("/bin/true", ["true"]),
    lambda: os.setuid(0),
)), os.geteuid() != 0, not is_refused(threading.Thread(target=len, args=([],)).start), flush=True)
bytearray(160_000_000)
try:
    bytearray(180_000_000)
except MemoryError:
    print("out of memory", flush=True)
"""


def test_the_confined_process_opens_nothing():
    folder = os.path.dirname(confine.__file__)
    command = [sys.executable, "-I", "-c", ATTEMPTS, folder]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    answers, memory, _ = run.stdout.split("\n")
    assert answers.split() == ["True"] * 16
    assert memory == "out of memory"


PRCTL = {"x86_64": 157, "aarch64": 167}[platform.machine()]
# prctl() refuses PR_SET_SECCOMP from now on, as QEMU's user mode does.
WITHOUT_FILTERS = f"""
import errno, sys
from harness.images import encoded, small
from marketplace.watcher.enrichment_result import LONG, read_message
from marketplace.watcher.strangers import decoder
from marketplace.watcher.strangers.confine import *
filter_system_calls([
    (LOAD, 0, 0, NUMBER), (IS, 0, 3, {PRCTL}), (LOAD, 0, 0, FLAGS), (IS, 0, 1, PR_SET_SECCOMP),
    (RETURN, 0, 0, REFUSE | errno.EINVAL), (RETURN, 0, 0, ALLOW),
])
print(read_message(decoder.decode(encoded(small(), "PNG"), LONG)).outcome)
"""


def test_where_no_system_calls_can_be_filtered_images_are_shown():
    run = subprocess.run([sys.executable, "-c", WITHOUT_FILTERS], capture_output=True, text=True)
    assert run.stdout.strip() == Outcome.COMPLETE, run.stderr


@pytest.mark.parametrize(
    ("seconds", "reason"),
    [(PATIENCE_SECONDS, "it takes too long to decode"), (0, "it took too long")],
)
def test_a_decoder_is_ended_by_its_own_reader(seconds, reason):
    """In a process of its own: a fork lacks the threads that libvips has started for another test."""
    program = f"""
from marketplace.watcher.enrichment_result import read_message
from marketplace.watcher.strangers import decoder
from tests.watcher.test_processes import *
Limits.decoder_timeout = {seconds}
print(read_message(decoder.decode(CORPUS["png_slow"](), Limits(5, 1))).reason)
print(children(os.getpid()))
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.stdout.splitlines() == [reason, "set()"], ended.stderr


@needs_namespaces
def test_root_of_a_namespace_without_other_users_is_confined_too():
    code = (
        "import os, resource, sys; sys.path.append(sys.argv[1]); import confine\n"
        "confine.confine(5, 1, os.getppid())\n"
        "try: open('/etc/passwd')\n"
        "except OSError as error: print('refused', error.errno)\n"
        "try: resource.setrlimit(resource.RLIMIT_NOFILE, (9, 9))\n"
        "except ValueError: print('final')\n"
    )
    command = [*UNSHARE, sys.executable, "-I", "-c", code, os.path.dirname(confine.__file__)]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.stdout.split() == ["refused", str(errno.EMFILE), "final"], run.stderr


def test_a_confined_process_whose_parent_has_ended_ends(tmp_path):
    code = "import sys; sys.path.append(sys.argv[1]); import confine; confine.confine(5, 1, 1)"
    command = [sys.executable, "-I", "-c", code + "; print('it goes on')"]
    run = subprocess.run([*command, os.path.dirname(confine.__file__)], capture_output=True)
    assert (run.returncode, run.stdout) == (1, b"")


def test_a_refused_address_is_reported_to_the_watcher_and_not_printed(make, capfd):
    with make() as processes:
        assert processes.enrich("http://127.0.0.1/7.json", QUICK).reason.startswith(REFUSED)
    assert "127.0.0.1" not in "".join(capfd.readouterr())
