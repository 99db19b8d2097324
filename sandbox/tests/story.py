"""A little of everything that a ledger holds. To keep its state, for the tests of later versions:

python -m sandbox.tests.story sandbox/tests/ledgers/0.1.0.json
"""

import base64
import sys
from pathlib import Path

from hiero_sdk_python.hapi.services.basic_types_pb2 import FileID

from hiero_sandbox import database, state, times
from hiero_sandbox.ledger import files, keys
from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests import airdrops, bodies, schedules, topics
from sandbox.tests.alone import Alone
from sandbox.tests.bodies import HBAR, make, transfer
from sandbox.tests.tokens import creation

ISSUER, BUYER, FRIEND = "0.0.1022", "0.0.1023", "0.0.1012"
FILE, TOKEN, COIN, TOPIC, SCHEDULE = (f"0.0.{1_000_001 + number}" for number in range(5))
DAY = 24 * 3600


def play(alone):
    """Files, tokens, NFTs, an approval, a topic, an airdrop, a schedule, and a failure."""
    [key] = [each.public_key for each in known_accounts() if each.account_id == ISSUER]
    key, later = keys.of_bytes(key), times.now() // times.SECOND + 80 * DAY
    given = {"contents": b"first", "expirationTime": {"seconds": later}}
    done(alone, make(ISSUER, "fileCreate", keys={"keys": [key]}, **given), ISSUER)
    treasury = {"treasury": bodies.account(ISSUER), "adminKey": key, "supplyKey": key}
    for kind in (1, 0):
        made = creation(
            ISSUER, names=(), tokenType=kind, initialSupply=100 * (1 - kind), **treasury
        )
        done(alone, made, ISSUER)
    done(alone, bodies.minting(ISSUER, TOKEN, b"ipfs://one", b"ipfs://two"), ISSUER)
    done(alone, bodies.association(BUYER, TOKEN), BUYER)
    sale = [((TOKEN, 1), ISSUER, BUYER)]
    done(alone, transfer(BUYER, {BUYER: -5 * HBAR, ISSUER: 5 * HBAR}, sale), BUYER, ISSUER)
    done(alone, bodies.approval(BUYER, (TOKEN, 1), spender=ISSUER), BUYER)
    done(alone, topics.new_topic(ISSUER), ISSUER)
    done(alone, topics.message(TOPIC, b"hello", ISSUER), ISSUER)
    done(alone, airdrops.drop(ISSUER, COIN, {"0.0.1024": 7, FRIEND: 9}), ISSUER)
    scheduled = schedules.payment(3 * HBAR, ISSUER, BUYER)
    done(alone, schedules.creation_of(scheduled, FRIEND, memo="later"), FRIEND)
    assert alone.submit(transfer(BUYER, {ISSUER: -1, BUYER: 1}), BUYER) == "INVALID_SIGNATURE"


def done(alone, body, *signers):
    body.transactionFee = 50 * HBAR
    assert alone.submit(body, *signers) == "SUCCESS"


def show(alone):
    """What the mirror node and the node say of it."""

    def get(path, *names):
        shown = alone.get(path).json
        for name in names:
            shown = shown[name]
        return shown

    rows = get("/transactions?limit=100&order=asc", "transactions")
    nft = get(f"/tokens/{TOKEN}/nfts/1")
    return {
        "transactions": [(row["name"], row["result"], row["charged_tx_fee"]) for row in rows],
        "balances": [alone.balance(each) for each in (ISSUER, BUYER, FRIEND)],
        "nft": (nft["account_id"], nft["spender"], base64.b64decode(nft["metadata"])),
        "history": [
            each["type"] for each in get(f"/tokens/{TOKEN}/nfts/1/transactions", "transactions")
        ],
        "coin": [
            (each["account"], each["balance"])
            for each in get(f"/tokens/{COIN}/balances", "balances")
        ],
        "airdrops": len(get("/accounts/0.0.1024/airdrops/pending", "airdrops")),
        "message": base64.b64decode(get(f"/topics/{TOPIC}/messages/1", "message")),
        "schedule": [
            get(f"/schedules/{SCHEDULE}", each) for each in ("memo", "executed_timestamp")
        ],
        "file": read_file(alone),
    }


def read_file(alone):
    db = alone.app.extensions[database.KEY].connection
    return files.contents(db, files.find(db, FileID(fileNum=int(FILE.split(".")[2]))))


def dump(path):
    """Write the state of a ledger on which it was played. Returns what it shows."""
    alone = Alone()
    play(alone)
    state.dump(alone.app.extensions[database.KEY].connection, path)
    return show(alone)


if __name__ == "__main__":
    dump(Path(sys.argv[1]))
