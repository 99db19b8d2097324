"""The processes that meet strangers, as the watcher has them."""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.conftest import settings
from tests.postgresql import until
from tests.serving import ROOT

pytestmark = pytest.mark.once("no statement is asked")

SECRETS = {"AWS_SECRET_ACCESS_KEY": "secret", "PGPASSWORD": "secret"}
PROGRAM = """
import json, sys
from marketplace import create_app
from marketplace.market.add_nft import add
from marketplace.store import nfts
from marketplace.store.database import read
from marketplace.watcher.enrichment import make_enricher
if __name__ == "__main__":
    import time
    app = create_app(**json.loads(sys.argv[1]))
    enricher = make_enricher(app)
    with app.app_context():
        add("0.0.1001", "0.0.7001", 7)
        enricher.drain(60)
        print(nfts.get_nft(read(), "0.0.7001", 7)["missing"], flush=True)
        time.sleep(120)
"""


def children(pid):
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *children(child)]
    return found


@pytest.fixture
def watcher(tmp_path):
    """A process that has completed an NFT of the sandbox's; its process, and those that it began."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), json.dumps(settings(tmp_path))]
    environ = os.environ | SECRETS | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "None\n"
        yield process, children(process.pid)
        process.kill()


def test_they_have_nothing_of_our_environment(watcher):
    _, pids = watcher
    environs = []
    for pid in pids:
        with suppress(FileNotFoundError, ProcessLookupError):  # what read the NFT may just end
            environs.append(Path(f"/proc/{pid}/environ").read_bytes())
    assert environs  # the fork server's at least
    for environ in environs:
        assert b"secret" not in environ
        assert b"PGPASSWORD" not in environ


def test_none_outlives_a_watcher_that_is_killed(watcher):
    process, pids = watcher
    process.send_signal(signal.SIGKILL)
    process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "one is left")
