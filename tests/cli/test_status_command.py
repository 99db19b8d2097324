"""``flask status``: what the service runs with, and whether it can; and how sentences name a command."""

import re

import pytest
from click.testing import CliRunner
from flask.cli import FlaskGroup

from harness.serving import environment, run_flask
from marketplace import __version__, errors
from marketplace.services import services


def test_it_works(app):
    output = app.test_cli_runner().invoke(args=["status"]).output
    assert f"NFT Marketplace Service {__version__}: sandbox\n" in output
    assert f"Database       {services(app).database.name}, schema " in output
    assert re.search("^Events         0 kept, the newest is [0-9a-f]{8}-0$", output, re.MULTILINE)
    assert "Account        0.0.9001, 10,000 HBAR\n" in output
    assert "Mirror node    http://127.0.0.1:8000/sandbox, at 20" in output
    assert "\n  MARKETPLACE_MAX_TRANSACTION_FEE=5\n" in output
    assert "\n  MARKETPLACE_WALLETS=extwallet" in output


def test_a_mirror_node_that_does_not_answer(tmp_path):
    network = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321"}
    output = run_flask(tmp_path, "status", **network, MIRROR_NODE_URL="http://127.0.0.1:9").output
    assert "Account        0.0.4321\nMirror node    http://127.0.0.1:9: " in output
    assert "\nSettings\n" in output


def test_a_command_is_named_as_this_one_was_called(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for arguments, called in (
        (("--app", "marketplace"), "flask --app marketplace"),
        (("--app", "marketplace:create_app()"), "flask --app marketplace:create_app()"),
    ):
        ended = CliRunner().invoke(FlaskGroup(), [*arguments, "token", "list"], env=environment())
        assert ended.output == f"There is no access token yet: {called} token create NAME\n"


def test_a_command_whose_application_does_not_start_ends_with_one_sentence(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    arguments = ("--app", "marketplace", "token", "list")
    ended = CliRunner().invoke(FlaskGroup(), arguments, env=environment(NETWORK="moon\x1b"))
    assert ended.exit_code == 1
    assert re.fullmatch(r"Error: MARKETPLACE_NETWORK='moon.*' is not a network.*\n", ended.output)


def test_what_the_system_says_is_a_sentence(tmp_path):
    with pytest.raises(OSError) as raised:
        (tmp_path / "missing/file").read_text()
    assert errors.reason(raised.value) == f"{tmp_path}/missing/file: No such file or directory"
