"""The SQLite library: pysqlite3 where it is installed, otherwise Python's own.

All of the service uses the same one: two libraries in a process lose each other's locks.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
else:
    try:
        import pysqlite3 as sqlite3
    except ImportError:
        import sqlite3

__all__ = ["sqlite3"]
