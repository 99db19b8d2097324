"""The engine for PostgreSQL: one database, on several servers, one of which is the primary.

All statements go to the primary, because a standby may show old data. A commit is never cancelled: one that
waits for its standbys may still take effect.
"""

from marketplace.store.postgresql.database import PostgreSQLDatabase

__all__ = ["PostgreSQLDatabase"]
