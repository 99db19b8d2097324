"""A folder for servers. They are killed when no process uses it any more, however its last user has ended."""

import contextlib
import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path


def processes_in(folder):
    """The ids of the processes whose working directory is in a folder, like all of a PostgreSQL server."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"{process.joinpath('cwd').readlink()}/".startswith(f"{folder}/"):
                found.append(int(process.name))
    return found


def send(folder, number):
    """Send a signal to all processes that work in a folder, the oldest first. Returns how many there were."""
    processes = sorted(processes_in(folder))
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, number)
    return len(processes)


def hold(folder):
    """Make a folder, or use another process's, and hold it until the returned file is closed."""
    while True:
        folder.mkdir(exist_ok=True)
        folder.chmod(0o755)
        with contextlib.suppress(FileNotFoundError):
            users = (folder / "users").open("w")
            fcntl.flock(users, fcntl.LOCK_SH)
            if os.path.samestat(os.fstat(users.fileno()), (folder / "users").stat()):
                return users  # otherwise the file was just being removed
            users.close()


def watch(folder):
    """Start a process that outlives all processes that hold the folder, and clears up after them."""
    return subprocess.Popen(
        [sys.executable, "-S", __file__, folder],
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


@contextlib.contextmanager
def held(folder):
    """Hold a folder until the end of the block, and clear up after it."""
    users, watcher = hold(folder), watch(folder)
    try:
        yield
    finally:
        users.close()
        watcher.wait(60)


def main(folder):
    with (folder / "users").open() as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        while send(folder, signal.SIGKILL):
            time.sleep(0.01)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
