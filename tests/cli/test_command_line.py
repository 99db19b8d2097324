"""Our own command line: our commands, and our version."""

from click.testing import CliRunner

from marketplace import __version__
from marketplace.__main__ import cli


def test_help_shows_our_commands_alone():
    shown = CliRunner().invoke(cli, ["--help"]).output
    commands = {line.split()[0] for line in shown.partition("Commands:")[2].splitlines() if line}
    assert {"backup", "status", "sync", "token", "watch"} <= commands
    assert not commands & {"run", "shell", "routes"}


def test_import_and_rebuild_are_one_command():
    shown, own, other = (
        CliRunner().invoke(cli, [*command, "--help"]).output
        for command in ([], ["import"], ["rebuild"])
    )
    assert "\n  rebuild " not in shown
    assert '"rebuild" is the same command' in " ".join(own.split())
    assert own.replace("import [", "rebuild [") == other


def test_it_prints_the_version():
    shown = CliRunner().invoke(cli, ["--version"], prog_name="nft-marketplace").output
    assert shown == f"nft-marketplace, version {__version__}\n"
