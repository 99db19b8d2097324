"""For tests: known accounts, a faucet, snapshots, a clock to move, a mirror node that lags, and faults.

Where every id exists, these addresses do not.
"""

from pathlib import Path
from typing import Any

from flask import Blueprint, Response, send_file

from hiero_sandbox import snapshots
from hiero_sandbox.api import show_result
from hiero_sandbox.conditions import FAULTS, conditions, now
from hiero_sandbox.errors import FieldsInvalid
from hiero_sandbox.fields import one_of, read_account, read_body, whole_number
from hiero_sandbox.ledger import unsigned
from hiero_sandbox.ledger.genesis import known_accounts
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import MAX_HBAR, MAX_INT64

MAX_SECONDS = 10 * 366 * times.DAY // times.SECOND
MAX_REQUESTS = 1_000_000
MODULE = Path(__file__).with_name("testing.mjs")

blp = Blueprint("control", __name__)


@blp.get("/accounts")
def list_known_accounts() -> dict[str, Any]:
    """List the accounts that the ledger begins with, with their private keys."""
    return {
        "accounts": [
            {
                "accountId": known.account_id,
                "evmAddress": f"0x{known.aliases[0].hex()}" if known.aliases else None,
                "keyType": "ED25519" if known.private_key.is_ed25519() else "ECDSA_SECP256K1",
                "privateKey": f"0x{known.private_key.to_string_raw()}",
            }
            for known in known_accounts()
        ]
    }


@blp.post("/faucet")
def give_hbar() -> dict[str, str]:
    """Give tinybars of the operator to an account, without a signature or a fee."""
    account_id, amount = read_account(amount=whole_number(MAX_HBAR * TINYBARS))
    return show_result(unsigned.give(account_id, amount, now()))


@blp.post("/reset")
def reset() -> dict[str, str]:
    """Begin anew, with the known accounts alone."""
    snapshots.reset()
    return {}


@blp.post("/snapshot")
def take_snapshot() -> dict[str, int]:
    """Copy the ledger and the clock; returns the snapshot's number."""
    return {"snapshot": snapshots.take()}


@blp.post("/restore")
def restore_snapshot() -> dict[str, str]:
    """Put the ledger and the clock back, as often as you like. Ends lag and faults."""
    [number] = read_body(snapshot=whole_number(MAX_INT64))
    if not snapshots.restore(number):
        raise FieldsInvalid({"snapshot": f"must be a snapshot that was taken, not {number}"})
    return {}


@blp.post("/clock")
def move_clock() -> dict[str, str]:
    """Move the ledger's clock forward. Returns its time."""
    [seconds] = read_body(seconds=whole_number(MAX_SECONDS))
    moved = conditions().clock_moved + seconds * times.SECOND
    if moved > MAX_SECONDS * times.SECOND:
        raise FieldsInvalid({"seconds": "moves the clock by more than ten years in all"})
    conditions().clock_moved = moved
    return {"now": times.to_consensus(now())}


@blp.post("/lag")
def set_lag() -> dict[str, str]:
    """Let the mirror node show what was so many seconds ago. The clock may be moved meanwhile."""
    [seconds] = read_body(seconds=whole_number(MAX_SECONDS, low=0))
    conditions().set_lag(seconds * times.SECOND, now())
    return {}


@blp.post("/fault")
def set_fault() -> dict[str, str]:
    """Let the next requests fail: NODE_BUSY, or the mirror node's 429 or 503 with Retry-After."""
    fault, requests = read_body(fault=one_of(FAULTS), requests=whole_number(MAX_REQUESTS, low=0))
    conditions().set_fault(fault, requests)
    return {}


@blp.get("/testing.mjs")
def show_module() -> Response:
    """The JavaScript module that calls all of these."""
    return send_file(MODULE, mimetype="text/javascript")
