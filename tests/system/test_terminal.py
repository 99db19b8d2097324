"""What a stranger wrote, on the ledger or in a command, never moves the operator's terminal."""

import io
import json
import logging
import os
import pty
from contextlib import suppress

import pytest

from harness.apps import settings
from harness.cast import TOKEN
from harness.network import serve
from harness.serving import BIN, CONFIGURATION, begin_flask, environment, run_program
from marketplace.services import services

EVIL = "\x1b[2Jevil\x07\n\x1b[31mred"
ESCAPED = "\\x1b[2Jevil\\x07"


@pytest.fixture
def own(tmp_path):
    """The settings of a service whose mirror node has one collection, with an evil name and no NFT."""
    collection = {"name": EVIL, "type": "NON_FUNGIBLE_UNIQUE", "total_supply": "1"}

    def answer(environ, start_response):
        start_response("200 OK", [])
        empty = {"nfts": [], "links": {"next": None}}
        return [json.dumps(empty if "nfts" in environ["PATH_INFO"] else collection).encode()]

    with serve(answer) as url:
        network = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.9001", "MIRROR_NODE_URL": url}
        yield network | settings(tmp_path)


def assert_plain(output):
    assert all(character.isprintable() or character in "\r\n" for character in output), output


def run_on_a_terminal(own, *arguments):
    ours, theirs = pty.openpty()
    process = begin_flask(own, *arguments, stdout=theirs, stderr=theirs)
    os.close(theirs)
    output = b""
    with suppress(OSError):  # what a terminal says at its end
        while read := os.read(ours, 65536):
            output += read
    os.close(ours)
    process.wait()
    return output.decode()


def test_an_import_on_a_terminal(own):
    output = run_on_a_terminal(own, "import", TOKEN)
    assert f"{TOKEN} {ESCAPED} \\x1b[31mred" in output  # the label of the progress bar, in one line
    for sequence in ("\x1b[2J", "\x1b[31m", "\x07"):
        assert sequence not in output


@pytest.mark.parametrize("is_sandbox", [False, True])
def test_a_line_of_the_log(app, is_sandbox):
    logger = services(app).sandbox.app.logger if is_sandbox else app.logger
    handler = logging.StreamHandler(io.StringIO())
    logger.addHandler(handler)
    try:
        raise ValueError(EVIL)
    except ValueError as error:
        logger.warning("%s was not checked: %s", TOKEN, error)
        logger.exception("%s was not checked", EVIL)
    finally:
        logger.removeHandler(handler)
    output = handler.stream.getvalue()
    assert_plain(output)
    first, second, third, *rest = output.splitlines()
    assert first == f"{TOKEN} was not checked: {ESCAPED}\\n\\x1b[31mred"
    assert second == f"{ESCAPED}\\n\\x1b[31mred was not checked"
    assert third == "  Traceback (most recent call last):"
    assert all(line.startswith("  ") for line in rest), "a stranger's text begins a line"


@pytest.mark.parametrize(
    "arguments",
    [
        ("token", "revoke", EVIL),
        ("token", "create", "x", "--scope", EVIL),
        ("token", EVIL),
        ("backup", f"/nowhere/{EVIL}"),
        ("import", EVIL),
        ("move", EVIL),
    ],
    ids=" ".join,
)
def test_a_refused_command(app, arguments):
    result = app.test_cli_runner().invoke(args=arguments)
    assert result.exit_code in (1, 2), result.output
    assert_plain(result.output)


def test_a_setting_that_stops_the_start(tmp_path):
    environ = environment() | {f"MARKETPLACE_{EVIL}": "x"}
    command = [f"{BIN}/gunicorn", "-c", CONFIGURATION, "--bind", "127.0.0.1:0"]
    ended = run_program(*command, cwd=tmp_path, env=environ)
    assert ended.returncode != 0
    assert ESCAPED in ended.stderr
    assert_plain(ended.stderr)
