"""The ledger at any time in the past.

Triggers write each version of a row, with the time since when the row was so, into a table of its own:
``account_version`` for ``account``. What a row was deleted with is a version, too. Tables with a column
``consensus_at`` only grow, and have no versions.
"""

from sqlite3 import Connection

TIME = "consensus_at"


def create(db: Connection) -> None:
    """Make the tables of versions, and the triggers, for all tables that there are."""
    tables = _describe(db)
    db.execute("CREATE TABLE clock (now INTEGER NOT NULL) STRICT")  # the time of the next changes
    db.execute("INSERT INTO clock VALUES (0)")
    for table, (columns, key) in tables.items():
        if TIME in columns:
            continue
        names = ", ".join(columns)
        db.execute(f"""
            CREATE TABLE {table}_version (
                {names}, since, is_there, PRIMARY KEY ({", ".join(key)}, since)
            ) WITHOUT ROWID
        """)
        for event, row, is_there in (("INSERT", "NEW", 1), ("DELETE", "OLD", 0)):
            values = ", ".join(f"{row}.{column}" for column in columns)
            db.execute(f"""
                CREATE TRIGGER {table}_{event} AFTER {event} ON {table} BEGIN
                    INSERT OR REPLACE INTO {table}_version
                    VALUES ({values}, (SELECT now FROM clock), {is_there});
                END
            """)


def set_clock(db: Connection, now: int) -> None:
    """Set the time of the changes that follow, in nanoseconds. It never goes back."""
    db.execute("UPDATE clock SET now = max(now, :now)", {"now": now})


def look_back(db: Connection, moment: int) -> None:
    """Let a connection see the ledger as it was: a temporary view hides each table."""
    tables = _describe(db)
    for table, (columns, key) in tables.items():
        names = ", ".join(columns)
        source, condition = f"main.{table}", f"{TIME} <= {moment}"
        if f"{table}_version" in tables:
            same = " AND ".join(f"newer.{column} = version.{column}" for column in key)
            source = f"main.{table}_version AS version"
            condition = f"""
                is_there AND since = (
                    SELECT MAX(since) FROM main.{table}_version AS newer
                    WHERE {same} AND newer.since <= {moment}
                )
            """
        if TIME in columns or f"{table}_version" in tables:
            db.execute(
                f"CREATE TEMP VIEW {table} AS SELECT {names} FROM {source} WHERE {condition}"
            )


def _describe(db: Connection) -> dict[str, tuple[list[str], list[str]]]:
    """The columns of each table, and those of its primary key."""
    tables = db.execute("SELECT name FROM main.sqlite_schema WHERE type = 'table'").fetchall()
    described = {}
    for (table,) in tables:
        columns = db.execute(f"PRAGMA main.table_info({table})").fetchall()
        key = [column[1] for column in columns if column[5]]
        described[table] = ([column[1] for column in columns], key)
    return described
