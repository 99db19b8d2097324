"""The faults that the service suffers, one at a time."""

import os
import random
import resource
import signal
import time
from contextlib import suppress

from harness.postgresql import until
from stress.soak.crowd import Crowd
from stress.soak.network import STORMS, Weather
from stress.soak.stage import WORKERS, Stage

FULL_SECONDS = 3


class Faults:
    """Each fault returns when it is over, and leaves nothing broken."""

    CUTTING = ("a killed worker", "a killed service")  # these cut connections

    def __init__(self, stage: Stage, crowd: Crowd, seed: int) -> None:
        self.stage, self.crowd, self.books = stage, crowd, stage.books
        self.dice = random.Random(f"faults {seed}")
        self.known = {
            "a killed worker": self.kill_a_worker,
            "a killed watcher": lambda: self.stage.watcher.kill(),
            "a killed service": self.kill_the_service,
            "a reload": self.reload,
            "a frozen worker": lambda: self.freeze(self.dice.choice(self.stage.workers())),
            "a frozen watcher": lambda: self.freeze(self.stage.watcher.pid),
            "a full disk": self.fill_the_disk,
            "a flood": lambda: self.crowd.flood(self.dice.uniform(1, 2)),
            **self.stage.database.faults,
            **{
                f"mirror: {storm.name.lower()}": self._storm(storm)
                for storm in [*STORMS, Weather.MIXED]
            },
            "gateway: silent": self._gateway(Weather.SILENT),
            "gateway: mixed": self._gateway(Weather.MIXED),
        }
        self.drawn: list[str] = []

    def suffer(self) -> None:
        """Make one fault. All of them come before any comes again."""
        if not self.drawn:
            self.drawn = self.dice.sample(list(self.known), len(self.known))
        name = self.drawn.pop()
        self.books.begin(name, name in self.CUTTING)
        try:
            self.known[name]()
            until(self.stage.service.answers, "the service does not answer afterwards")
        except Exception as error:
            self.books.find(f"{name}: {error!r}")
        self.books.end()
        fault = self.books.faults[-1]
        self.books.say(f"{name}, {fault.ended - fault.began:.1f} s")

    def kill_a_worker(self) -> None:
        os.kill(self.dice.choice(self.stage.workers()), signal.SIGKILL)
        self.books.counts["workers killed"] += 1
        until(lambda: len(self.stage.workers()) >= WORKERS, "the worker is not replaced")
        time.sleep(2)  # it exists, and needs a moment until it answers

    def kill_the_service(self) -> None:
        """kill -9 of gunicorn's master: its workers notice, and end by themselves."""
        self.stage.master.kill()
        self.stage.master.wait()
        self.stage.wait_for_none("gunicorn's master was killed")
        self.stage.start()

    def reload(self) -> None:
        before = set(self.stage.workers())
        self.stage.master.send_signal(signal.SIGHUP)
        until(lambda: not before & set(self.stage.workers()), "the workers are not replaced")

    def freeze(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.dice.uniform(3, 8))
            os.kill(pid, signal.SIGCONT)

    def fill_the_disk(self) -> None:
        """Fill the service's folder, if it is a file system of its own; otherwise let no process write."""
        if os.path.ismount(self.stage.folder):
            filler = self.stage.folder / "filler"
            free = os.statvfs(self.stage.folder)
            with suppress(OSError), filler.open("wb", buffering=0) as file:
                os.posix_fallocate(file.fileno(), 0, max(1, free.f_bavail - 1) * free.f_frsize)
                file.seek(0, os.SEEK_END)
                while file.write(b"\0" * 4096):
                    pass
            time.sleep(FULL_SECONDS)
            filler.unlink()
            return
        limits = {}
        for process in self.stage.processes():
            with suppress(ProcessLookupError):
                limits[process.pid] = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
                hard = limits[process.pid][1]
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, hard))
        time.sleep(FULL_SECONDS)
        for pid, limit in limits.items():
            with suppress(ProcessLookupError):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, limit)

    def _storm(self, weather: Weather):
        return lambda: self._blow(self.stage.network.mirror, weather)

    def _gateway(self, weather: Weather):
        return lambda: self._blow(self.stage.network.gateway, weather)

    def _blow(self, value, weather: Weather) -> None:
        value.value = weather
        time.sleep(self.dice.uniform(3, 12))
        value.value = Weather.CLEAR
