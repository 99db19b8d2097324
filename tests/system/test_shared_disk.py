"""Backups and images on disks that can't sync a folder or set a mode, as servers and other systems share."""

import pytest

from harness.apps import settings, write_sql
from harness.shared_disk import can_mount, shared
from marketplace import create_app
from marketplace.services import services
from marketplace.store import disks
from tests.engines import both_engines

pytestmark = [
    both_engines,
    pytest.mark.skipif(not can_mount(), reason="needs FUSE, and a user who may mount"),
]


@pytest.fixture
def disk(tmp_path):
    disks._logged.clear()
    with shared(tmp_path / "plain", tmp_path / "shared") as folder:
        yield folder


@pytest.fixture
def run(app):
    def run(*arguments):
        ended = app.test_cli_runner().invoke(args=[*map(str, arguments)])
        assert ended.exit_code == 0, ended.output
        return ended.output

    return run


def put_image(app):
    with app.app_context():
        key = services(app).media.put(b"an image", "webp")
    write_sql(app, "UPDATE nft SET image = :key", key=key)
    return key


def test_a_backup_is_made_on_it_and_restored(app, run, disk, nft, caplog):
    key = put_image(app)
    assert "3, of which 3 are new" in run("backup", disk / "copies")
    run("backup", disk / "copy.db")
    (disk / "copies/lost+found").mkdir()
    write_sql(app, "UPDATE nft SET name = 'Another'")
    services(app).media.remove([key])
    assert "of the backup, of which 1 were missing" in run("restore", disk / "copies")
    assert "copy.db" in run("restore", disk / "copy.db")
    assert caplog.text.count(" syncs no folders: Invalid argument") == 1


def test_images_are_stored_on_it(tmp_path, engine, disk, caplog):
    app = create_app(**settings(tmp_path), MEDIA_URL=f"file:{disk}")
    for content in (b"one", b"two"):
        with app.app_context():
            key = services(app).media.put(content, "webp")
            assert services(app).media.get(key) == content
    assert caplog.text.count(" sets no modes: Operation not permitted") == 1
    output = app.test_cli_runner().invoke(args=["backup", str(tmp_path / "copies")]).output
    assert "Images in" in output and "2, of which 2 are new" in output


def test_an_export_is_written_to_it(run, disk, tmp_path):
    run("export", "nfts", "-o", disk / "nfts.csv")
    assert (disk / "nfts.csv").read_bytes() == (tmp_path / "plain/nfts.csv").read_bytes() != b""
