"""All that must be saved is saved in one folder, and comes back from it, on either engine."""

import os
import re
import subprocess
import time

import pytest

from harness.apps import authorized_client, settings, write_sql
from harness.cast import KEYS, TESTNET, TOKEN
from marketplace import create_app
from marketplace.services import services
from marketplace.settings import load
from tests.engines import both_engines
from tests.metrics import scrape

AGE = ("marketplace_last_backup_age_seconds",)
LONG_AGO = b"2026-11-01T03:17:00.000000000Z"
pytestmark = both_engines


@pytest.fixture
def invoke(app, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments, code=0):
        ended = app.test_cli_runner().invoke(args=[*map(str, arguments)])
        assert ended.exit_code == code, ended.output
        return ended.output

    return invoke


def backups(folder):
    return sorted(path for path in folder.iterdir() if path.name not in ("media",))


def put_images(app, *names):
    folder = services(app).media.folder
    for path in folder.iterdir():
        path.unlink()
    for name in names:
        (folder / name).write_bytes(name.encode())
    return folder


def read_events(client):
    """The feed without ids, which begin again."""
    return [event | {"id": None} for event in client.get("/v1/events").json]


def test_it_comes_back_whole(app, client, invoke, lister, tmp_path):
    lister((TOKEN, 7))
    write_sql(app, "UPDATE nft SET image = 'a-640.webp'")
    media = put_images(app, "a-640.webp", "a-320.webp", "left.webp")
    shown = client.get(f"/v1/nft/{TOKEN}/7").json
    events = read_events(client)
    cursor = client.get("/v1/orderbook").headers["X-Events-Cursor"]
    invoke("token", "create", "kept")
    output = invoke("backup", "copies")
    copies = tmp_path / "copies"
    [copy] = backups(copies)
    assert f"to copies/{copy.name}/marketplace.db: " in output
    assert "Images in copies/media: 3, of which 3 are new" in output
    assert copies.stat().st_mode & 0o777 == 0o700
    assert (copy / "marketplace.db").stat().st_mode & 0o777 == 0o600

    invoke("token", "revoke", "kept")
    write_sql(app, "UPDATE nft SET name = 'Another', image = NULL")
    for path in media.iterdir():
        path.unlink()
    output = invoke("restore", "copies")
    assert "Images in" in output and "2 of the backup, of which 2 were missing" in output
    assert {path.name for path in media.iterdir()} == {"a-640.webp", "a-320.webp"}
    assert client.get(f"/v1/nft/{TOKEN}/7").json == shown
    assert read_events(client) == events
    assert client.get(f"/v1/events?after={cursor}").status_code == 410
    assert "kept  [read]" in invoke("token", "list") and "revoked" not in invoke("token", "list")
    assert client.post("/v1/add", json=KEYS | {"serialNo": 9}).status_code == 200
    [old] = tmp_path.glob("*.before-*")
    assert old.stat().st_mode & 0o777 == 0o600
    invoke("restore", old)
    assert client.get(f"/v1/nft/{TOKEN}/7").json["name"] == "Another"


def test_a_second_backup_copies_only_new_images_and_old_ones_are_deleted(app, invoke, tmp_path):
    put_images(app, "a.webp", "b.webp")
    invoke("backup", "copies")
    [first] = backups(tmp_path / "copies")
    first.rename(first.with_name("20200101T000000Z"))
    put_images(app, "a.webp", "b.webp", "c.webp")
    output = invoke("backup", "copies", "--keep", "30d")
    assert "3, of which 1 are new" in output
    assert "Deleted copies/20200101T000000Z" in output
    assert len(backups(tmp_path / "copies")) == 1


def test_its_date_is_kept_for_prometheus(app, invoke, tmp_path):
    scraper = authorized_client(app, "metrics")
    assert AGE not in scrape(scraper)
    invoke("backup", "missing/copies", code=1)
    assert AGE not in scrape(scraper)
    invoke("backup", "copies")
    write_sql(app, "UPDATE property SET value = :then WHERE name = 'last_backup'", then=LONG_AGO)
    assert scrape(scraper)[AGE] > 86_400
    invoke("backup", "copy.db")
    assert 0 <= scrape(scraper)[AGE] < 60


def test_the_settings_are_in_it_and_no_secret(tmp_path, engine):
    key = tmp_path / "account.key"
    key.write_text("3030020100300706052b8104000a04220420" + 64 * "1")
    own = settings(tmp_path) | TESTNET | {"ACCOUNT_KEY_FILE": str(key), "NAME": "The shop"}
    app = create_app(**own)
    ended = app.test_cli_runner().invoke(args=["backup", str(tmp_path / "copies")])
    assert ended.exit_code == 0, ended.output
    assert f"Not included: {key}, the account's key" in ended.output
    [copy] = backups(tmp_path / "copies")
    text = (copy / "settings.env").read_text()
    assert {file.stat().st_mode & 0o777 for file in copy.iterdir()} == {0o600}
    assert "EVENTS_DAYS" not in text  # it has its default
    shell = ["sh", "-euc", f"set -a; . {copy}/settings.env; exec env -0"]
    # Where * stands for no file
    sourced = subprocess.run(shell, env={}, cwd=tmp_path / "copies/media", capture_output=True)
    environ = dict(line.split("=", 1) for line in sourced.stdout.decode().split("\0") if line)
    loaded = load({}, environ)
    own = {name: app.config[name] for name in loaded}
    assert loaded == own | {"DATABASE_URL": re.sub(":[^/@]*@", "@", own["DATABASE_URL"])}
    assert "1111" not in text
    for secret in ("market:", "password"):
        assert secret not in text.replace("Passwords", "")
    services(app).database.close()


def test_it_refuses_a_folder_that_is_no_backup(invoke, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "empty is not a backup" in invoke("restore", "empty", code=1)
    assert "No such file or directory" in invoke("backup", "missing/copies", code=1)
    assert not (tmp_path / "missing").exists()
    (tmp_path / "text.db").write_text("text")
    assert "Nothing was changed" in invoke("restore", "text.db", code=1)


def test_it_lists_and_removes_leftovers(app, invoke, tmp_path):
    copies = [tmp_path / f"{name}.before-20260101T000000.000000Z" for name in ("a.db", "b.db")]
    for path in copies:
        path.write_bytes(1000 * b"x")
    (tmp_path / ".restoring-x").mkdir()
    os.utime(copies[0], (0, time.time() - 8 * 86_400))
    output = invoke("prune")
    assert "a.db.before-20260101T000000.000000Z: to remove" in output and "b.db" in output
    assert "1,000 bytes can be removed" in output
    assert all(path.exists() for path in copies)
    assert "Removed 1,000 bytes" in invoke("prune", "--remove")
    assert [path.exists() for path in copies] == [False, True]


def test_a_restore_sets_modes_of_what_it_wrote_alone(app, invoke, lister, tmp_path):
    lister((TOKEN, 7))
    write_sql(app, "UPDATE nft SET image = 'a-640.webp'")
    media = put_images(app, "a-640.webp", "theirs.webp")
    invoke("backup", "copies")
    (media / "a-640.webp").unlink()
    (media / "thumbnails").mkdir()
    (media / "theirs.webp").chmod(0o600)
    before = (media / "thumbnails").stat().st_mode
    invoke("restore", "copies")
    assert (media / "thumbnails").stat().st_mode == before
    assert (media / "theirs.webp").stat().st_mode & 0o777 == 0o600
    assert (media / "a-640.webp").stat().st_mode & 0o777 == 0o644


def test_images_are_never_copied_through_links_or_from_other_folders(app, invoke, lister, tmp_path):
    """Such a link made any file of the machine a public image."""
    lister((TOKEN, 7))
    lister((TOKEN, 8))
    secret = tmp_path / "secret"
    secret.write_text("secret")
    media = put_images(app, "left.webp")
    (media / "link.webp").symlink_to(secret)
    write_sql(app, "UPDATE nft SET image = 'x.webp' WHERE serial_no = 7")
    write_sql(app, f"UPDATE nft SET image = '../../{secret.name}' WHERE serial_no = 8")
    assert "Images in copies/media: 1, of which 1 are new" in invoke("backup", "copies")
    (tmp_path / "copies/media/x.webp").symlink_to(secret)
    (media / ".x.webp").symlink_to(secret)
    assert "0 of the backup, of which 0 were missing" in invoke("restore", "copies")
    assert {path.name for path in media.iterdir() if not path.is_symlink()} == {"left.webp"}
    (tmp_path / "copies/media/x.webp").unlink()
    (tmp_path / "copies/media/x.webp").write_text("an image")
    assert "1 of the backup, of which 1 were missing" in invoke("restore", "copies")
    assert secret.read_text() == "secret"
