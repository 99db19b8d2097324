"""The files by which a workflow and a container start the sandbox, as far as this machine can run them."""

import os
import re
import subprocess
import sys

import pytest
import yaml
from hiero_sdk_python import PrivateKey

from hiero_sandbox import __main__ as command
from hiero_sandbox import relay
from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests.command import ROOT

FOLDER = ROOT / "sandbox"


@pytest.fixture
def start(tmp_path):
    """Run the action's last step with options, in bash; the package is that of the clone."""
    program = tmp_path / "hiero-sandbox/bin/hiero-sandbox"
    program.parent.mkdir(parents=True)
    program.write_text(
        f'#!/bin/sh\necho $$ > {tmp_path}/pid\nexec {sys.executable} -m hiero_sandbox "$@"\n'
    )
    program.chmod(0o755)
    *_, step = yaml.safe_load((FOLDER / "action.yml").read_text())["runs"]["steps"]

    def start(options):
        environ = os.environ | {"RUNNER_TEMP": str(tmp_path), "OPTIONS": options}
        environ["GITHUB_OUTPUT"] = str(tmp_path / "outputs")
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(
            shell, cwd=ROOT, env=environ, stdout=subprocess.PIPE, text=True, timeout=60
        )

    yield start
    subprocess.run(["kill", (tmp_path / "pid").read_text().strip()], stderr=subprocess.DEVNULL)


def test_the_action_serves_when_its_step_ends(start, tmp_path):
    ended = start("--rest-port 0 --node-port 0 --mirror-port 0 --no-relay")
    assert ended.returncode == 0, ended.stdout
    assert "Operator 0.0.2" in ended.stdout
    outputs = dict(line.split("=", 1) for line in (tmp_path / "outputs").read_text().splitlines())
    assert (outputs["ed25519AccountId"], outputs["ecdsaAccountId"]) == ("0.0.1022", "0.0.1002")
    for known in known_accounts():
        for kind in ("ed25519", "ecdsa"):
            if known.account_id == outputs[f"{kind}AccountId"]:
                key = PrivateKey.from_string_der(outputs[f"{kind}PrivateKey"])
                assert key.to_string_raw() == known.private_key.to_string_raw()
    declared = yaml.safe_load((FOLDER / "action.yml").read_text())["outputs"]
    assert declared.keys() == {"accountId", "publicKey", "privateKey", *outputs}


def test_the_action_fails_with_the_commands_error(start):
    ended = start("--no-such-option")
    assert ended.returncode == 1
    assert "::error::hiero-sandbox ended at its start: Error: No such option" in ended.stdout


def test_the_image_exposes_the_commands_ports():
    content = (FOLDER / "Containerfile").read_text()
    [exposed] = re.findall(r"^EXPOSE (.*)$", content, re.MULTILINE)
    ports = [
        port
        for option in command.main.params
        if option.name.endswith("_ports")
        for port in option.default
    ]
    ports.append(relay.PORT)
    assert [int(port) for port in exposed.split()] == ports
    assert all(f"-p {port}:{port}" in content for port in ports)
