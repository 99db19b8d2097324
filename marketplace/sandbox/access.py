"""The sandbox's own access token, kept in a file beside its ledger."""

import fcntl
from pathlib import Path

from flask import current_app

from marketplace.hedera import times
from marketplace.store import access_tokens
from marketplace.store.database import read, write

NAME = "the sandbox's own"  # in the list of tokens


def kept_token() -> str:
    """Read the sandbox's own access token; make one if there is none, or if it was revoked."""
    path = Path(current_app.config["DATA_DIR"], "sandbox-token")
    path.touch(mode=0o600)
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # concurrent processes get the same token
        token = file.read()
        row = access_tokens.get_access_token(read(), access_tokens.hash_token(token))
        if row and row["revoked_at"] is None:
            return token
        with write() as db:
            access_tokens.mark_access_token_revoked(db, NAME, times.to_iso(times.now()))
        token = str(access_tokens.create(NAME, access_tokens.SCOPES, seconds=None))
        path.write_text(token)
        return token
