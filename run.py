"""``make run``: runs the processes of the Procfile in one terminal. They begin together, and end together.

honcho 2.0 was tried: it hangs where Ctrl-C comes in its first half second, and leaves processes behind where
the terminal is closed. (supervisor 4.3 loses signals in its first second.) Neither ends a process within 2 s.
"""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path

PROCFILE = Path(__file__).with_name("Procfile")
SECONDS = 1.3  # that processes have to end
# SIGHUP: the terminal was closed.
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


async def run(commands: dict[str, str]) -> int:
    """Run commands until a signal comes, or one of them ends. Returns the exit code."""
    asked = asyncio.Event()
    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, asked.set)
    processes = {name: await begin(command) for name, command in commands.items()}
    ends = {asyncio.create_task(process.wait()): name for name, process in processes.items()}
    done, _ = await asyncio.wait(
        [*ends, asyncio.create_task(asked.wait())], return_when=asyncio.FIRST_COMPLETED
    )
    await end(processes.values(), ends)
    if asked.is_set():
        return 0
    print("Ended, and all with it:", *(ends[task] for task in done), file=sys.stderr)
    return 1


async def begin(command: str) -> Process:
    # In a session of its own: what the terminal sends to all comes to it from here, and once.
    return await asyncio.create_subprocess_shell(
        f"exec {command}", stdin=asyncio.subprocess.DEVNULL, start_new_session=True
    )


async def end(processes, ends) -> None:
    """Ask processes to end, and kill those that do not, with all that they have begun."""
    for process in processes:
        with suppress(ProcessLookupError):
            process.terminate()
    await asyncio.wait(ends, timeout=SECONDS)
    for process in processes:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    lines = PROCFILE.read_text().splitlines()
    sys.exit(asyncio.run(run(dict(line.split(": ", 1) for line in lines))))
