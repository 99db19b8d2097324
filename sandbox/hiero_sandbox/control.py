"""For tests: known accounts, a faucet, snapshots, a clock to move, a mirror node that lags, and faults."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask import Blueprint, Response, current_app, request, send_file

from hiero_sandbox import node, snapshots, times, wallet
from hiero_sandbox.api import show_result
from hiero_sandbox.conditions import CODES, FAULTS, conditions, now
from hiero_sandbox.errors import FieldsInvalid
from hiero_sandbox.fields import (
    ACCOUNT_ID,
    TRANSACTION,
    Field,
    read_account,
    read_body,
    whole_number,
)
from hiero_sandbox.ids import MAX_HBAR, MAX_INT64, TINYBARS
from hiero_sandbox.ledger.genesis import KnownAccount, known_accounts
from hiero_sandbox.mirror.parameters import parse_timestamp

MAX_SECONDS = 10 * 366 * times.DAY // times.SECOND
MAX_REQUESTS = 1_000_000
MODULE = Path(__file__).with_name("testing.mjs")

FAULT = Field(
    f"{', '.join(FAULTS)}, or a result code",
    lambda value: value if isinstance(value, str) and value in {*FAULTS, *CODES} else None,
)


def _read_moment(value: Any) -> int | None:
    try:
        return parse_timestamp(value) if isinstance(value, str) else None
    except ValueError:
        return None


MOMENT = Field('a timestamp ("1795823136.5")', _read_moment)

blp = Blueprint("control", __name__)


@blp.get("/accounts")
def list_known_accounts() -> dict[str, Any]:
    """List the accounts that the ledger begins with, with their private keys."""
    return {
        "accounts": [
            {
                "accountId": known.account_id,
                "evmAddress": known.evm_address,
                "keyType": "ED25519" if known.private_key.is_ed25519() else "ECDSA_SECP256K1",
                "privateKey": f"0x{known.private_key.to_string_raw()}",
                "privateKeyDer": known.der,
                "publicKey": known.private_key.public_key().to_string_der(),
            }
            for known in _known_accounts()
        ]
    }


def _known_accounts() -> tuple[KnownAccount, ...]:
    return known_accounts(current_app.config["ACCOUNTS"])


@blp.post("/sign")
def sign_transaction() -> dict[str, str]:
    """Sign for one of the accounts that the ledger begins with."""
    account_id, transaction = read_body(accountId=ACCOUNT_ID, transaction=TRANSACTION)
    keys = {known.account_id: known.private_key for known in _known_accounts()}
    if account_id not in keys:
        raise FieldsInvalid({"accountId": f"must be one of GET /accounts, not {account_id}"})
    signed = wallet.add_signature(keys[account_id], transaction)
    return {"transaction": base64.b64encode(signed).decode()}


@blp.post("/faucet")
def give_hbar() -> dict[str, str]:
    """Give tinybars of 0.0.2 to an account, without a signature or a fee."""
    account_id, amount = read_account(amount=whole_number(MAX_HBAR * TINYBARS))
    return show_result(node.give(account_id, amount, now()))


@blp.post("/reset")
def reset() -> dict[str, str]:
    """Begin again, with the known accounts alone. Drops all snapshots."""
    snapshots.reset()
    return {}


@blp.post("/snapshot")
def take_snapshot() -> dict[str, int]:
    """Copy the ledger and the clock; returns the snapshot's number."""
    return {"snapshot": snapshots.take()}


@blp.post("/restore")
def restore_snapshot() -> dict[str, str]:
    """Put the ledger and the clock back, as often as you like. Ends lag, delay and faults."""
    _with_snapshot(snapshots.restore)
    return {}


@blp.post("/drop")
def drop_snapshot() -> dict[str, str]:
    """Give back a snapshot's memory."""
    _with_snapshot(snapshots.drop)
    return {}


def _with_snapshot(change: Callable[[int], bool]) -> None:
    [number] = read_body(snapshot=whole_number(MAX_INT64))
    if not change(number):
        raise FieldsInvalid({"snapshot": f"must be a snapshot that was taken, not {number}"})


@blp.get("/clock")
def show_clock() -> dict[str, str]:
    """Show the ledger's time."""
    return {"now": times.to_consensus(now())}


@blp.post("/clock")
def move_clock() -> dict[str, str]:
    """Move the ledger's clock forward, by some seconds or to a time. Returns its time.

    A time is {"now": "1795823136.5"}. SDKs keep this machine's time, and their transactions stay valid.
    """
    by = "now" if "now" in (request.get_json(silent=True) or ()) else "seconds"
    if by == "now":
        [moment] = read_body(now=MOMENT)
        forward = moment - now()
        if forward < 0:
            raise FieldsInvalid(
                {by: "must not be before the ledger's time: its clock moves forward"}
            )
    else:
        [seconds] = read_body(seconds=whole_number(MAX_SECONDS))
        forward = seconds * times.SECOND
    moved = conditions().clock_moved + forward
    if moved > MAX_SECONDS * times.SECOND:
        raise FieldsInvalid({by: "moves the clock by more than ten years in all"})
    conditions().clock_moved = moved
    return show_clock()


@blp.post("/lag")
def set_lag() -> dict[str, str]:
    """Let the mirror node show the ledger as it was some seconds ago.

    Moving the clock counts, so that no test has to wait. 0 ends it.
    """
    [seconds] = read_body(seconds=whole_number(MAX_SECONDS, low=0))
    conditions().set_lag(seconds * times.SECOND, now())
    return {}


@blp.post("/delay")
def set_delay() -> dict[str, str]:
    """Let receipts be UNKNOWN, and records be missing, for some seconds after consensus.

    Moving the clock counts. 0 ends it.
    """
    [seconds] = read_body(seconds=whole_number(MAX_SECONDS, low=0))
    conditions().receipt_delay = seconds * times.SECOND
    return {}


@blp.post("/fault")
def set_fault() -> dict[str, str]:
    """Let the next requests fail, or the next transactions.

    NODE_BUSY is HAPI's BUSY, NODE_UNAVAILABLE is gRPC's status UNAVAILABLE. MIRROR_429 and MIRROR_503 are the
    mirror node's statuses, with Retry-After. With a result code such as TOKEN_IS_PAUSED, transactions fail at
    consensus: they are charged, and have receipts.
    """
    fault, requests = read_body(fault=FAULT, requests=whole_number(MAX_REQUESTS, low=0))
    conditions().set_fault(fault, requests)
    return {}


@blp.get("/testing.mjs")
def show_module() -> Response:
    """Show the JavaScript module that calls all of these."""
    return send_file(MODULE, mimetype="text/javascript")
