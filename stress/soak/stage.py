"""The service under test: gunicorn with our configuration, a watcher, a database, and their processes."""

import os
import re
import signal
import statistics
import subprocess
import threading
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from harness import shared_folder
from harness.network import PATIENCE_SECONDS
from harness.postgresql import until
from harness.serving import BIN, CONFIGURATION, Service, environment
from marketplace.sandbox import wallet
from stress.soak.books import BIDDERS, BUYERS, Books
from stress.soak.network import MARKET

WORKERS = 2
SAMPLES_APART_SECONDS = 10
COMPLAINT = re.compile(
    "Traceback|Exception in|Fatal Python|WORKER TIMEOUT|was sent SIG(?!KILL|TERM)|was not checked$"
)
SCOPES = {"seller": ("read", "write"), "reader": ("read",), "metrics": ("metrics",)}
SCOPES |= dict.fromkeys([*BUYERS, *BIDDERS], ("read", "write"))
SHARE, FEE_BUDGET = 250, 200  # basis points of a price; HBAR in an hour
# More growth than this, from the second quarter of a run to the last one, is a leak.
GROWTH, GROWTH_BYTES, GROWTH_COUNT = 0.2, 15_000_000, 6


class Process(NamedTuple):
    pid: int
    parent: int
    state: str
    command: str


class Stage:
    def __init__(self, books: Books, folder: Path, port: int, database, network) -> None:
        self.books = books
        self.folder = folder
        self.port = port
        self.database = database
        self.network = network
        self.log = folder.parent.with_suffix(".log")
        settings = {
            "DATABASE_URL": database.url,
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
            "NETWORK": "testnet",
            "ACCOUNT_ID": MARKET,
            "MIRROR_NODE_URL": network.url,
            "IPFS_GATEWAYS": f"{network.url}/ipfs",
            "ACCOUNT_KEY_FILE": self._write_key(),
            "SALE_FEE_BASIS_POINTS": SHARE,
            "SALE_FEE_BUDGET": FEE_BUDGET,
        }
        self.service = Service(folder, port, environment(**settings))
        self.master = self.watcher = None
        self.is_over = False
        self._lock = threading.Lock()

    def _write_key(self) -> Path:
        """The key of the marketplace's account, in a file that nobody else may read."""
        path = self.folder / "key"
        path.touch(0o600)
        path.write_text(wallet.private_key(MARKET).to_string_der())
        return path

    def _popen(self, *command) -> subprocess.Popen:
        with self.log.open("a") as log:
            return subprocess.Popen(
                [f"{BIN}/{command[0]}", *command[1:]],
                cwd=self.folder,
                env=self.service.environ,
                stdout=log,
                stderr=log,
            )

    def start(self) -> None:
        """Start the service, and wait until it answers."""
        self.books.counts["services started"] += 1
        bind = f"127.0.0.1:{self.port}"
        self.master = self._popen(
            "gunicorn", "-c", CONFIGURATION, "--bind", bind, "--workers", str(WORKERS)
        )
        until(self.service.answers, "the service did not start")

    def start_watcher(self) -> None:
        self.watcher = self._popen("flask", "--app", "wsgi", "watch")

    def create_tokens(self) -> dict[str, str]:
        tokens = {}
        for name, scopes in SCOPES.items():
            options = [option for scope in scopes for option in ("--scope", scope)]
            rate = ("--rate", "off") if "write" in scopes else ()
            made = self.service.flask("token", "create", name, *options, *rate)
            tokens[name] = made.stdout.strip()
        return tokens

    # Processes

    def processes(self) -> list[Process]:
        """All processes that work in the service's folder."""
        found = []
        for pid in shared_folder.processes_in(self.folder):
            with suppress(OSError):
                text = Path(f"/proc/{pid}/stat").read_text()
                state, parent = text.rpartition(")")[2].split()[:2]
                command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append(Process(pid, int(parent), state, command))
        return found

    def workers(self) -> list[int]:
        return [it.pid for it in self.processes() if self.role(it) == "worker"]

    def role(self, process: Process) -> str:
        if process.pid == self.master.pid:
            return "master"
        if self.watcher and process.pid == self.watcher.pid:
            return "watcher"
        if "strangers.reader" in process.command:  # it asks strangers' hosts
            return "reader" if self.watcher and process.parent == self.watcher.pid else "decoder"
        return "worker" if process.parent == self.master.pid else "other"

    def zombies(self) -> list[Process]:
        """Our processes' children that have ended and were not waited for. They have no folder any more."""
        parents, found = {it.pid for it in self.processes()}, []
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                head, _, rest = path.read_text().rpartition(")")
                if rest.split()[0] == "Z" and int(rest.split()[1]) in parents:
                    found.append(Process(int(path.parent.name), int(rest.split()[1]), "Z", head))
        return found

    def _watchers(self, processes: list[Process]) -> set[int]:
        """The watcher and its descendants."""
        found = {self.watcher.pid} if self.watcher else set()
        while more := {it.pid for it in processes if it.parent in found} - found:
            found |= more
        return found

    def wait_for_none(self, what: str) -> None:
        """Wait until only the watcher and its descendants work in the folder."""

        def rest():
            processes = self.processes()
            own = self._watchers(processes)
            return [it for it in processes if it.pid not in own]

        began = time.monotonic()
        while left := rest():
            if time.monotonic() - began > 45:
                self.books.find(f"{what}, and these are left: {left}")
                for process in left:
                    with suppress(ProcessLookupError):
                        os.kill(process.pid, signal.SIGKILL)
                return
            time.sleep(0.1)

    def keep(self) -> None:
        """Start again what has ended, as systemd would. An end that we did not cause is a finding."""
        if self.master.poll() is not None:
            self.books.find(f"gunicorn ended by itself, with {self.master.returncode}")
            self.wait_for_none("gunicorn ended")
            self.start()
        if self.watcher.poll() is not None:
            if self.watcher.returncode != -signal.SIGKILL:
                self.books.find(f"The watcher ended by itself, with {self.watcher.returncode}")
            self.start_watcher()

    def stop(self) -> None:
        """Stop both as systemd would, and check that they end."""
        for name, process in (("service", self.master), ("watcher", self.watcher)):
            if process is None or process.poll() is not None:
                continue
            process.terminate()
            try:
                code = process.wait(PATIENCE_SECONDS)
            except subprocess.TimeoutExpired:
                code = "nothing"
                process.kill()
            if code != 0:
                self.books.find(f"The {name} was asked to stop, and ended with {code}")
        self.watcher = None
        self.wait_for_none("Both were stopped")

    def complaints(self) -> list[str]:
        """Lines of the log that must not be there."""
        lines = self.log.read_text(errors="replace").splitlines()
        found = [
            f"The log, line {number}: {line[:300]}"
            for number, line in enumerate(lines, 1)
            if COMPLAINT.search(line)
        ]
        killed = sum("was sent SIGKILL" in line for line in lines)
        if killed > self.books.counts["workers killed"]:
            found.append(f"{killed} workers were killed, more than by us")
        return found


class Samples(threading.Thread):
    """The memory, threads and files of the processes by role, sampled every few seconds."""

    def __init__(self, stage: Stage) -> None:
        super().__init__(daemon=True)
        self.stage = stage
        self.over = threading.Event()
        self.taken: list[dict[tuple[str, str], int]] = []
        self.apart = SAMPLES_APART_SECONDS

    def run(self) -> None:
        while not self.over.wait(self.apart):
            self.taken.append(self.sample())

    def sample(self) -> dict[tuple[str, str], int]:
        sums = defaultdict(int)
        for process in self.stage.processes():
            role = self.stage.role(process)
            with suppress(OSError, AttributeError):
                rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                status = Path(f"/proc/{process.pid}/status").read_text()
                sums[role, "bytes"] += 1024 * int(re.search(r"Pss: +(\d+)", rollup)[1])
                sums[role, "threads"] += int(re.search(r"Threads:\s+(\d+)", status)[1])
                sums[role, "descriptors"] += len(list(Path(f"/proc/{process.pid}/fd").iterdir()))
                sums[role, "processes"] += 1
        for path in self.stage.folder.glob("instance/*"):
            with suppress(OSError):
                files = path.rglob("*") if path.is_dir() else [path]
                sizes = [it.stat().st_size for it in files]
                sums[path.name, "file bytes"] = sum(sizes)
        return sums

    def medians(self) -> list[tuple[tuple[str, str], float, float]]:
        """For each figure: the median of the second quarter, and that of the last one."""
        quarter = len(self.taken) // 4
        keys = sorted({key for sample in self.taken for key in sample})
        second, last = self.taken[quarter : 2 * quarter], self.taken[3 * quarter :]
        if not quarter:
            return []
        return [
            (key, *(statistics.median(it.get(key, 0) for it in part) for part in (second, last)))
            for key in keys
        ]

    def growth(self) -> list[str]:
        """What has grown. It means something only after some minutes, when everything is warm."""
        medians = {key: (before, after) for key, before, after in self.medians()}
        found = []
        for (role, unit), (before, after) in medians.items():
            if unit in ("bytes", "threads", "descriptors"):  # a role may have more processes by now
                processes = medians[role, "processes"]
                before, after = before / max(1, processes[0]), after / max(1, processes[1])
            least = GROWTH_BYTES if unit == "bytes" else GROWTH_COUNT
            if (
                unit in ("bytes", "threads", "descriptors")
                and after > before * (1 + GROWTH) + least
            ):
                found.append(f"The {unit} of each {role} grew from {before:,.0f} to {after:,.0f}")
        return found
