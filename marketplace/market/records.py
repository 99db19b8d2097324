"""The record of an NFT that is to be stored, by what the ledger says of it."""

from marketplace import times
from marketplace.ledger.clean_text import clean_text
from marketplace.ledger.mirror_schemas import Nft

UNKNOWN_FILE_TYPE = "application/octet-stream"
MAX_POINTER = 10_000  # letters kept


def build(on_ledger: Nft, *, token_name: str | None = None) -> dict:
    """Build it. Metadata and image are to be completed, at once: the watcher does it."""
    return {
        "token": on_ledger.token,
        "serial_no": on_ledger.serial_no,
        "owner": on_ledger.owner,
        "ledger_at": times.just_before(times.to_iso(on_ledger.modified_at)),
        "metadata": clean_text(on_ledger.pointer, limit=MAX_POINTER),
        "name": f"{clean_text(token_name) or on_ledger.token} #{on_ledger.serial_no}",
        "file_type": UNKNOWN_FILE_TYPE,
        "attributes": None,
        "image": None,
        "original_image_url": None,
        "missing": "it was not tried for yet",
        "attempts": 0,
        "retry_at": times.to_iso(times.now()),
    }
