"""Counts requests in windows: all processes of a machine together."""

from marketplace.machine_file import MachineFile

# A window that ends too far ahead is over, too: the clock was set back.
# SQLite reads the clock under the lock: no other thread has begun a window after this moment.
_IS_OVER = "ends_at NOT BETWEEN unixepoch('subsec') AND unixepoch('subsec') + :seconds"
_COUNT = f"""
    INSERT INTO rate_limit (key, ends_at, count) VALUES (:key, unixepoch('subsec') + :seconds, 1)
    ON CONFLICT (key) DO UPDATE SET
        count = IIF({_IS_OVER}, 1, count + 1),
        ends_at = IIF({_IS_OVER}, excluded.ends_at, ends_at)
    RETURNING count, ends_at
"""
_DELETE = "DELETE FROM rate_limit WHERE ends_at < unixepoch('subsec')"


def count_in_window(file: MachineFile, key: str, seconds: float) -> tuple[int, float]:
    """Count, and return how often it happened in its window, and when that ends, in Unix time.

    A window lasts so many seconds. Raises one of ERRORS of marketplace.machine_file; it may be counted then.
    """
    [(count, ends_at)] = file.execute(_COUNT, key=key, seconds=seconds)
    if count == 1:  # whenever a window begins, those that are over are forgotten
        file.execute(_DELETE)
    return count, ends_at
