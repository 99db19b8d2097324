"""For tests: the known accounts with their keys, and a faucet. Not where every id exists."""

from typing import Any

from flask import Blueprint

from hiero_sandbox.api import show_result
from hiero_sandbox.fields import read_account, whole_number
from hiero_sandbox.ledger import consensus
from hiero_sandbox.ledger.genesis import known_accounts
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import MAX_HBAR

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
    return show_result(consensus.give(account_id, amount, times.now()))
