"""The processes that meet strangers, as the watcher has them."""

from contextlib import suppress
from pathlib import Path

import pytest

from harness.apps import settings
from harness.cast import KEYS, TOKEN
from harness.postgresql import until
from harness.serving import begin_flask, descendants

SECRETS = {"AWS_SECRET_ACCESS_KEY": "secret", "PGPASSWORD": "secret"}


@pytest.fixture
def watcher(client, tmp_path):
    """A watcher that has completed an NFT; its process, and those that it began."""
    assert client.post("/v1/add", json=KEYS).status_code == 200

    def is_complete():
        return "placeholder" not in client.get(f"/v1/nft/{TOKEN}/7").json["imageUrl"]

    with begin_flask(settings(tmp_path), "watch", variables=SECRETS) as process:
        until(is_complete, "it is not completed")
        yield process, [*descendants(process.pid)]
        process.kill()


def test_readers_get_no_environment_variables_of_ours(watcher):
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
    process.kill()
    process.wait()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "one is left")
