"""Counts requests in time windows, over all processes of a machine."""

from marketplace.machine_file import NOW, MachineFile

# A window that ends too far in the future is also over: the clock was set back.
# SQLite reads the clock under its lock, so no other thread has begun a window after this moment.
_IS_OVER = f"ends_at NOT BETWEEN {NOW} AND {NOW} + :seconds"
_COUNT = f"""
    INSERT INTO rate_limit (key, ends_at, count) VALUES (:key, {NOW} + :seconds, :number)
    ON CONFLICT (key) DO UPDATE SET
        count = IIF({_IS_OVER}, :number, count + :number),
        ends_at = IIF({_IS_OVER}, excluded.ends_at, ends_at)
    RETURNING count, ends_at
"""
_DELETE = f"DELETE FROM rate_limit WHERE ends_at < {NOW}"


def count_in_window(
    file: MachineFile, key: str, seconds: float, number: int = 1
) -> tuple[int, float]:
    """Count a number of requests. Returns the count of its window, and when the window ends, in Unix time.

    ``seconds``: how long a window lasts. Raises one of ERRORS of marketplace.machine_file; the request may
    still be counted.
    """
    [(count, ends_at)] = file.execute(_COUNT, key=key, seconds=seconds, number=number)
    if count == number:  # a window begins: delete the windows that are over
        file.execute(_DELETE)
    return count, ends_at
