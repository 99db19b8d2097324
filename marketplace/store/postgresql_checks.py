"""Checks a PostgreSQL database before its use: its address, its server, and the database itself."""

import re
from typing import Any

from psycopg import Connection, ProgrammingError
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import DictRow

from marketplace.store.connection import DatabaseUnreadable, only

OLDEST_SERVER = 15
# At most one @, before the first slash. If a password has an unescaped @ or /, libpq takes the password's
# rest for a host, a port or a name, and shows it in messages.
ADDRESS = re.compile(r"postgresql://([^@/]*@)?[^@?]*([?].*)?")
CREATE = "CREATE DATABASE ... TEMPLATE template0 LOCALE 'C' ENCODING 'UTF8'"
POOLER = "a pooler (such as pgbouncer) is in front of it: connect to PostgreSQL itself"
# A server's reasons to refuse a connection, and what to do.
WAYS_OUT = {
    'database ".*" does not exist': f"Create it: {CREATE}",
    "startup parameter": f"Perhaps {POOLER}",
    "SSL|pg_hba|certificate": "Check sslmode in the address, and the server's ssl and pg_hba.conf",
    "password|authentication|role": "Check the user and the password in the address, or in ~/.pgpass",
    "": "One of its servers must run as the primary: check the address and the servers",
}


def read_address(url: str, called: str) -> dict[str, Any]:
    """The parameters of a connection. Raises DatabaseUnreadable, which names the address by ``called``."""
    try:
        given: dict[str, Any] = conninfo_to_dict(url)
    except (ProgrammingError, UnicodeError):
        given = {}
    ports = str(given.get("port", "")).split(",")
    are_ports = all(re.fullmatch("[0-9]{0,5}", port) for port in ports)
    if not given or not ADDRESS.fullmatch(url) or not are_ports:
        # Quote neither the library nor the address: they may contain the password.
        raise DatabaseUnreadable(
            f"{called} is not the address of a PostgreSQL database"
            " (postgresql://user:password@host-a,host-b/market): in a user and a password,"
            " % @ : / are written as %25 %40 %3A %2F"
        )
    return given


def advise(reason: str) -> str:
    """A server's reason to refuse a connection, and what to do."""
    reason = reason.rstrip(".?")
    way = next(way for words, way in WAYS_OUT.items() if re.search(words, reason))
    return f"{reason}. {way}"


def find_fault(session: Connection[DictRow]) -> str | None:
    """Find why a server or a database cannot be used, and say what to do."""
    version = session.info.server_version
    if version < OLDEST_SERVER * 10_000:
        return (
            f"its server is PostgreSQL {version // 10_000}, and {OLDEST_SERVER} or newer is needed"
        )
    sql = """
        SELECT pg_backend_pid() AS pid, pg_encoding_to_char(encoding) AS encoding,
               CASE datlocprovider WHEN 'i' THEN 'of ICU' WHEN 'b' THEN 'C' ELSE datcollate END
               AS collation, -- b is PostgreSQL's own provider, which sorts by code points, too
               current_schema() AS schema,
               has_function_privilege('pg_control_system()', 'EXECUTE') AS may_identify
        FROM pg_database WHERE datname = current_database()
    """
    row = only(session, sql)
    if row["pid"] != session.info.backend_pid:
        return POOLER
    if row["collation"] not in ("C", "POSIX") or row["encoding"] != "UTF8":
        return (
            f"its collation is {row['collation']} and its encoding {row['encoding']}, but C and"
            f" UTF8 are needed: {CREATE}"
        )
    if not row["may_identify"]:
        return (
            f"its user {session.info.user} may not call pg_control_system(), which tells a failover: GRANT"
            f" EXECUTE ON FUNCTION pg_control_system() TO {session.info.user}, as a superuser"
        )
    if row["schema"] is None:
        return "none of the schemas in its search_path exists: create one"
    return None
