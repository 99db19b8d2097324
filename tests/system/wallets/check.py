"""The wallet check with official wallets: python -m tests.system.wallets.check records it; make docs."""

import json
import os
import re
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from harness.desk import serve_desk
from harness.serving import ROOT, run_program

FOLDER, RELAY = Path(__file__).parent, ROOT / "sandbox/tests/system/relay"
CHECK, RECORDED = ROOT / "clients/wallet-link/check.mjs", FOLDER / "check.json"
OFFICIAL = "hedera-wallet-connect 2.1.3"
WALLETS = (OFFICIAL, "walletkit 1.2.10", "sign-client 2.11.2")
KINDS = ("ED25519", "ECDSA")
SECONDS = 300
accounts = count(88_001)


def bundle_official(folder):
    """The wallet of hedera-wallet-connect, whose packages Node.js does not load as they are."""
    program = Path(folder) / "desk.mjs"
    run_program("node", "build.mjs", program, "desk.mjs", cwd=FOLDER, check=True)
    (Path(folder) / "node_modules").symlink_to(FOLDER / "node_modules")
    return program


def run_check(desk, official, wallet, key_type, wait_seconds=30):
    """The report of one wallet's check."""
    program = official if wallet == OFFICIAL else RELAY / "desk.mjs"
    settings = {
        "relayUrl": desk.relay,
        "node": desk.node,
        "account": f"0.0.{next(accounts)}",
        "keyType": key_type,
        "wallet": wallet,
        "waitSeconds": wait_seconds,
    }
    # Node.js 20 has a WebSocket, if it is asked for one.
    environ = os.environ | {"NODE_OPTIONS": "--experimental-websocket"}
    command = ("node", CHECK, "--json", desk.url, "--", "node", program, json.dumps(settings))
    return json.loads(run_program(*command, env=environ, timeout=SECONDS).stdout)


def read_results(reports):
    """What each row resulted in, by its ID: of the run with a key of its kind, or else of both."""
    results = {}
    for row in reports["ED25519"]["rows"]:
        id = row["id"]
        kinds = [kind for kind in KINDS if kind.lower() == id] or KINDS
        found = {kind: describe(find(reports[kind], id)) for kind in kinds}
        one = len({*found.values()}) == 1
        named = (f"{kind}: {words}" for kind, words in found.items())
        results[id] = found[kinds[0]] if one else "; ".join(named)
    return results


def find(report, id):
    return next(row for row in report["rows"] if row["id"] == id)


def describe(row):
    """A result in words that stay the same: without the IDs of accounts and transactions."""
    words = re.sub(r"0\.0\.\d+(@[\d.]+)?", "…", row["answered"])
    return row["result"] if row["result"] == "right" else f"{row['result']}: {words}"


def main():
    with tempfile.TemporaryDirectory() as folder, serve_desk(Path(folder)) as desk:
        official = bundle_official(folder)

        def run(wallet):
            return {kind: run_check(desk, official, wallet, kind) for kind in KINDS}

        with ThreadPoolExecutor() as pool:
            reports = dict(zip(WALLETS, pool.map(run, WALLETS), strict=True))
    results = {wallet: read_results(each) for wallet, each in reports.items()}
    rows = [
        {key: row[key] for key in ("id", "title", "asked")}
        | {"results": {wallet: each[row["id"]] for wallet, each in results.items()}}
        for row in reports[OFFICIAL]["ED25519"]["rows"]
    ]
    recorded = {"date": datetime.now(UTC).date().isoformat(), "rows": rows}
    RECORDED.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
