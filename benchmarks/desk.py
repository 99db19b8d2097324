"""The sandbox on one's own desk: how long from its start to the first receipt, and what memory it takes.

python -m benchmarks.desk            in a minute, on ports of its own
python -m benchmarks.desk quick      without the sample, in some seconds
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import NamedTuple

from hiero_sdk_python import AccountId, Client, Hbar, PrivateKey, ResponseCode, TransferTransaction

from benchmarks.server import free_port

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
IDLE_SECONDS, QUICK_SECONDS = 20, 1
PATIENCE_SECONDS = 120
TICKS = os.sysconf("SC_CLK_TCK")
MB = 1e6


class Process(NamedTuple):
    """One process of the service: its proportional share of memory, and all that it maps, in bytes."""

    pid: int
    role: str
    pss: int
    rss: int


def main(is_quick: bool) -> None:
    port, node_port = free_port(), free_port()
    with tempfile.TemporaryDirectory() as folder:
        environ = {name: value for name, value in os.environ.items() if "MARKETPLACE" not in name}
        environ |= {
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "PORT": str(port),
            "PYTHONPATH": str(ROOT),
            "MARKETPLACE_PUBLIC_URL": f"http://127.0.0.1:{port}",
            "GRPC_PORT": str(node_port),
        }
        if not is_quick:
            _seed(folder, environ)
        began = time.monotonic()
        for name in ("gunicorn.conf.py", "wsgi.py"):
            (Path(folder) / name).symlink_to(ROOT / name)
        serve = [sys.executable, ROOT / "run.py"]
        service = subprocess.Popen(serve, cwd=folder, env=environ, stdout=subprocess.DEVNULL)
        try:
            _await_receipt(began, node_port)
            print(f"{time.monotonic() - began:6.1f} s   from the start to the first receipt")
            _await_page(service.pid, port)
            _tell_rest(service.pid, QUICK_SECONDS if is_quick else IDLE_SECONDS)
        finally:
            service.terminate()
            service.wait()


def _seed(folder: str, environ: dict) -> None:
    began = time.monotonic()
    seed = [BIN / "flask", "--app", ROOT / "wsgi", "sandbox", "seed"]
    subprocess.run(seed, cwd=folder, env=environ, check=True, capture_output=True)
    print(f"{time.monotonic() - began:6.1f} s   to add the sample, once")


def _await_receipt(began: float, port: int) -> None:
    """Pay somebody one HBAR, as soon as that can be done."""
    payer = AccountId.from_string("0.0.3003")
    client = Client.for_network({f"127.0.0.1:{port}": AccountId.from_string("0.0.3")})
    client.set_operator(payer, PrivateKey.generate_ed25519())
    payment = TransferTransaction().add_hbar_transfer(payer, Hbar(-1))
    payment.add_hbar_transfer(AccountId.from_string("0.0.3004"), Hbar(1))
    while not _is_open(port):
        if time.monotonic() - began > PATIENCE_SECONDS:
            sys.exit("The service did not start")
        time.sleep(0.01)
    receipt = payment.execute(client)
    client.close()
    if receipt.status != ResponseCode.SUCCESS:
        sys.exit(f"The receipt says {ResponseCode(receipt.status).name}")


def _await_page(pid: int, port: int) -> None:
    """Wait until every worker has served something."""
    web = _children(pid)[0]
    while len(_children(web)) < len(os.sched_getaffinity(0)):  # a worker a core
        time.sleep(0.1)
    for _ in range(20):
        urllib.request.urlopen(f"http://127.0.0.1:{port}/status", timeout=PATIENCE_SECONDS)


def _is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _tell_rest(pid: int, seconds: float) -> None:
    processes = [*_processes(pid)]
    before = {process.pid: _ticks(process.pid) for process in processes}
    time.sleep(seconds)
    print("\nWhile nobody asks      PSS, MB   RSS, MB   of a core")
    for process in processes:
        share = (_ticks(process.pid) - before[process.pid]) / TICKS / seconds
        print(f"{process.role:20} {process.pss / MB:9.0f} {process.rss / MB:9.0f} {share:10.2%}")
    pss = sum(process.pss for process in processes)
    print(f"{'All':20} {pss / MB:9.0f}")


def _processes(pid: int):
    """All processes, by what they are; those of the Procfile are begun in its order."""
    web, watcher, node = _children(pid)
    yield _look(pid, "run.py")
    yield _look(web, "web")
    for worker in _children(web):
        yield _look(worker, "worker")
    yield _look(watcher, "watcher")
    yield _look(node, "node")


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def _look(pid: int, role: str) -> Process:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    pss, rss = (
        1024 * int(re.search(rf"^{name}: +(\d+) kB", text, re.MULTILINE)[1])
        for name in ("Pss", "Rss")
    )
    return Process(pid, role, pss, rss)


def _ticks(pid: int) -> int:
    """What it has had of the processor."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main(is_quick=sys.argv[1:] == ["quick"])
