"""Processes that begin as copies of the test's own, without a second of imports."""

import multiprocessing
import warnings


def fork(act):
    """Begin a process that calls a function."""
    process = multiprocessing.get_context("fork").Process(target=act)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
        process.start()  # from Python 3.12 on, it warns of the threads that run beside a test
    return process


def join(*processes):
    """Wait until they have ended, and require that none has failed."""
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)
