"""Processes that are forks of the test's own, which saves a second of imports."""

import multiprocessing
import warnings

from harness.network import PATIENCE_SECONDS


def fork(act):
    """Start a process that calls a function."""
    process = multiprocessing.get_context("fork").Process(target=act)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        process.start()  # from Python 3.12 on, it warns of the threads that run beside a test
    return process


def join(*processes):
    """Wait until the processes have ended, and require that none has failed.

    One that was forked while another thread was inside SQLite may wait for ever for that thread's lock.
    """
    for process in processes:
        process.join(PATIENCE_SECONDS)
        process.kill()
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
