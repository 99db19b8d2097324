"""What a process of our own sets for itself: the server by its configuration, and each command.

create_app() sets none of it, because its process may be another program's.
"""

import logging
import os

# Options of the system's resolver: nothing can interrupt a thread that waits for a silent name server.
RESOLVER_OPTIONS = "timeout:2 attempts:1"


def prepare() -> None:
    os.environ.setdefault("RES_OPTIONS", RESOLVER_OPTIONS)
    # psycopg also raises what it warns of, for example that it could not cancel a statement.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
