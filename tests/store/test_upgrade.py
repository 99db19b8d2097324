"""What the steps of upgrades/ make of what a database held before."""

import pytest

from marketplace import create_app
from marketplace.store import queries
from marketplace.store.database import SCHEMA, write
from marketplace.store.sqlite import Database
from tests.conftest import ALICE, TOKEN, settings

OLD_URL = "http://127.0.0.1:8000/sandbox/ipfs/bafkqacbqfyyc4nzqgayq/7.png"


@pytest.mark.parametrize(
    ("network", "url"),
    [("sandbox", OLD_URL.removeprefix("http://127.0.0.1:8000")), ("mainnet", OLD_URL)],
)
def test_an_upgrade_lets_only_the_sandboxs_images_follow_its_address(tmp_path, network, url):
    own = {"NETWORK": network, "ACCOUNT_ID": "0.0.9001"} | settings(tmp_path)
    app = create_app(**own)
    with app.app_context(), write() as db:
        record = dict.fromkeys(("attributes", "image", "metadata", "missing", "retry_at"))
        record |= {"token": TOKEN, "serial_no": 7, "name": "Seven", "file_type": "image/png"}
        record |= {"owner": ALICE, "ledger_at": "2026", "attempts": 0}
        queries.insert_nft(db, record | {"original_image_url": OLD_URL})
        db.execute("ALTER TABLE prepared_listing ADD COLUMN consensus_at TEXT")
        db.execute("UPDATE property SET value = ? WHERE name = 'schema_version'", (b"3",))
    app.extensions["database"].close()
    database = Database(app.config["DATABASE_URL"], SCHEMA)
    for _ in database.upgrade(tmp_path / "aside.db"):
        pass
    assert queries.get_nft(database.connection, TOKEN, 7)["original_image_url"] == url
