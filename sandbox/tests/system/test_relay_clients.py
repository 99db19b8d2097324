"""WalletConnect's own libraries pair over the relay: the last versions under the Apache License, and 2.11.2.

Newer versions have another license, and are not run here. Needs Node.js, and the packages of relay/, which
make tools installs.
"""

import json
import shutil

import pytest

from sandbox.tests.command import ROOT, reserved_port, run, running

FOLDER = ROOT / "sandbox/tests/system/relay"


@pytest.mark.skipif(
    not shutil.which("node") or not (FOLDER / "node_modules").exists(),
    reason="needs WalletConnect's packages (make tools, with npm)",
)
def test_official_clients_pair_and_sign():
    with reserved_port() as port, running("--relay-port", str(port)):
        output = run("node", str(FOLDER / "pair.mjs"), f"ws://127.0.0.1:{port}", timeout=300)
    lines = [json.loads(line) for line in output.splitlines()]
    pairs = {(line["dapp"], line["wallet"]) for line in lines}
    assert len(pairs) == 4
    assert {line["refusal"] for line in lines} == {5000}
