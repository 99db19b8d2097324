"""``flask status``: what the service runs with, and whether it can; and how sentences name a command."""

import re

import pytest
from click.testing import CliRunner
from flask.cli import FlaskGroup

from harness.apps import write_sql
from harness.serving import environment, run_flask
from marketplace import __version__, text
from marketplace.hedera import times
from marketplace.services import services
from tests.engines import both_engines
from tests.watcher.conftest import Watcher


def test_it_works(app):
    output = app.test_cli_runner().invoke(args=["status"]).output
    assert f"NFT Marketplace Service {__version__}: sandbox\n" in output
    assert f"Database       {services(app).database.name}, schema " in output
    assert re.search("^Events         0 kept, the newest is [0-9a-f]{8}-0$", output, re.MULTILINE)
    assert "Account        0.0.9001, 10,000 HBAR\n" in output
    assert "Mirror node    http://127.0.0.1:8000/sandbox, at 20" in output
    assert "\n  MARKETPLACE_MAX_TRANSACTION_FEE=5\n" in output
    assert "\n  MARKETPLACE_WALLETS=extwallet" in output


@pytest.fixture
def status(app):
    """Run the command; returns its exit code, what it printed, and the errors at its end."""

    def status():
        ended = app.test_cli_runner().invoke(args=["status"])
        return ended.exit_code, ended.stdout, ended.stderr.splitlines()

    return status


@pytest.fixture
def watcher(app):
    """A watcher that follows from now on."""
    watcher = Watcher(app)
    watcher.read()
    yield watcher
    watcher.rechecker.close()


@both_engines
def test_all_is_well_where_a_watcher_follows(app, status, watcher):
    code, output, errors = status()
    assert (code, errors) == (0, []), errors  # it has just begun: nothing was synced or backed up
    assert "\nWatcher        running\nLast sync      never\nLast backup    none by flask " in output
    assert output.endswith("\nAll is well\n")
    watcher.sweep()
    assert re.search(r"^Last sync      20.*Z, 0:0\d:\d\d ago$", status()[1], re.MULTILINE)


@both_engines
def test_it_reports_problems_and_exits_with_1(app, status, watcher, mirror, tmp_path):
    watcher.sweep()
    assert app.test_cli_runner().invoke(args=["backup", f"{tmp_path}/copy.db"]).exit_code == 0
    an_hour_ago, long_ago = (times.to_iso(times.now() - age) for age in (times.HOUR, 3 * times.DAY))
    write_sql(app, "UPDATE follow SET fresh_at = :then, heartbeat_at = :then", then=an_hour_ago)
    write_sql(
        app,
        "UPDATE property SET value = :then WHERE name = 'last_sweep'",
        then=an_hour_ago.encode(),
    )
    backed_up = "UPDATE property SET value = :then WHERE name = 'last_backup'"
    write_sql(app, backed_up, then=long_ago.encode())
    mirror.fail("/")
    code, output, errors = status()
    assert code == 1
    assert f"Watcher        silent since {times.to_second(an_hour_ago)}\n" in output
    assert re.search(r"^Last sync      20.*Z, 1:00:0\d ago$", output, re.MULTILINE)
    assert re.search(r"^Last backup    20.*Z, 3 days, 0:00:0\d ago$", output, re.MULTILINE)
    assert "All is well" not in output
    assert [error.partition(":")[2].split(":")[0].strip() for error in errors] == [
        "No watcher is running",
        "The ledger was last followed over 15 minutes ago",
        "The last backup is over two days old",
        "The mirror node does not answer",
    ]


def test_a_first_sync_that_does_not_end_is_wrong(app, status, watcher):
    an_hour_ago = times.to_iso(times.now() - times.HOUR)
    write_sql(app, "UPDATE follow SET began_at = :then", then=an_hour_ago)
    assert status()[2] == [
        f"Error: Not everything was compared with the ledger since {times.to_second(an_hour_ago)}"
    ]


def test_a_service_that_no_watcher_follows_is_wrong(status):
    code, output, errors = status()
    assert code == 1 and "Watcher        none has run yet\n" in output
    assert len(errors) == 1 and errors[0].startswith("Error: No watcher is running: flask ")


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
    assert text.reason(raised.value) == f"{tmp_path}/missing/file: No such file or directory"
