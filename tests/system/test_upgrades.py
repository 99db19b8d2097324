"""What becomes of an SQLite file whose upgrade has no room, and of one that vanishes below a service."""

import os
import resource
import signal

import pytest

from harness.engines import execute
from harness.serving import begin_flask, serve
from marketplace.store.database import SCHEMA
from tests.store.released import TESTNET, flask, outdated, version
from tests.system.rows import insert, sell

__all__ = ["outdated"]


@pytest.fixture
def large(outdated):
    """A database of an earlier version, so large that an upgrade takes a moment."""
    insert(outdated, name="x", count=300)
    sell(outdated, royalties="x" * 200_000)
    return outdated


def test_a_full_disk_leaves_it_as_it_was_before_the_step(large):
    """The -journal of a step that had no room stayed, and no command opened the file any more."""
    size = large.stat().st_size  # enough for a copy, and not for the step, whose -wal is larger

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    own = {"DATABASE_URL": f"sqlite:///{large}"} | TESTNET
    upgrade = begin_flask(own, "upgrade", preexec_fn=limit)
    error = upgrade.communicate()[1]
    assert upgrade.returncode == 1
    assert "Traceback" not in error
    assert f"{large} is as it was before this step: solve that, and run this again" in error
    assert version(large) == 33, error
    assert "Back it up to" in flask(large, "upgrade")
    assert version(large) == SCHEMA.version
    assert execute(large, "SELECT COUNT(*) FROM nft") == [(310,)]


def test_nothing_creates_again_what_has_vanished(tmp_path):
    """Beside what a running service wrote last, a new file would take the place of the old one for good."""
    with serve(tmp_path, "--workers", "1") as service:
        path = tmp_path / "instance/marketplace.db"
        token = service.flask("token", "create", "kept", "--scope", "read").stdout.strip()
        service.get("/v1/orderbook", Authorization=f"Bearer {token}").close()
        path.rename(tmp_path / "moved.db")
        refused = service.flask("token", "list", check=False)
        assert refused.stderr.startswith("Error: instance/marketplace.db has vanished, and ")
        assert not path.exists()
        (tmp_path / "moved.db").rename(path)
        assert "kept" in service.flask("token", "list").stdout

        for file in path.parent.glob("marketplace.db*"):
            if file.is_file():
                file.unlink()
        [worker] = service.workers()
        os.kill(worker, signal.SIGKILL)
        service.wait_for_other_workers([worker])
        with pytest.raises(OSError, match="503"):
            service.get("/status")
        assert not path.exists()
