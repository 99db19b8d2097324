"""Counts requests in windows: all processes of a machine together."""

from marketplace.machine_file import MachineFile

# What is over; and a window that ends too far ahead, which is of a clock that was set back.
# SQLite reads the clock under the lock: no other thread has begun a window after this moment.
_DELETE = """
    DELETE FROM rate_limit
    WHERE ends_at <= unixepoch('subsec') OR key = :key AND ends_at > unixepoch('subsec') + :seconds
"""
_COUNT = """
    INSERT INTO rate_limit (key, ends_at, count) VALUES (:key, unixepoch('subsec') + :seconds, 1)
    ON CONFLICT (key) DO UPDATE SET count = count + 1
    RETURNING count, ends_at
"""


def count_in_window(file: MachineFile, key: str, seconds: float) -> tuple[int, float]:
    """Count, and return how often it happened in its window, and when that ends, in Unix time.

    A window lasts so many seconds. Raises one of ERRORS of marketplace.machine_file: it is not counted then.
    """
    file.execute(_DELETE, key=key, seconds=seconds)
    [(count, ends_at)] = file.execute(_COUNT, key=key, seconds=seconds)
    return count, ends_at
