"""The engine PostgreSQL: one database, on servers of which one is the primary.

All goes to the primary: what a standby shows may be old. Nothing here cancels a commit: one that waits for
its standbys may be done all the same.
"""

from marketplace.store.postgresql.database import Database

__all__ = ["Database"]
