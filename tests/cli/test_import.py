"""``flask import`` brings whole collections in, and goes on where it was interrupted."""

import pytest

from harness.cast import ALICE, TOKEN
from marketplace.hedera import times
from marketplace.services import read
from marketplace.store import nfts
from marketplace.watcher import collection_import


def run(app, *words):
    return app.test_cli_runner().invoke(args=["import", *words])


@pytest.fixture
def minted(ledger):
    for serial_no in range(1, 13):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())


def stored(app):
    with app.app_context():
        return nfts.list_stored_of_token(read(), TOKEN)


def test_it_works(app, client, minted):
    result = run(app, TOKEN)
    assert result.exit_code == 0, result.output
    assert result.output == f"{TOKEN}: added 12, here already 0\n"
    assert stored(app) == list(range(1, 13))
    nft = client.get(f"/v1/nft/{TOKEN}/5").json
    assert nft["name"] == f"Sandbox {TOKEN} #5"
    assert nft["owner"] == {"accountId": ALICE}


def test_an_import_leaves_stored_nfts_alone(app, client, minted, mirror):
    client.post("/v1/add", json={"accountId": ALICE, "tokenId": TOKEN, "serialNo": 5})
    before = client.get(f"/v1/nft/{TOKEN}/5").json
    assert "added 11, here already 1" in run(app, TOKEN).output
    assert client.get(f"/v1/nft/{TOKEN}/5").json == before

    mirror.asked.clear()
    assert "added 0, here already 12" in run(app, TOKEN).output
    assert mirror.asked == [f"/tokens/{TOKEN}", f"/tokens/{TOKEN}/nfts"]


@pytest.mark.parametrize("token", ["0.0", "abc", "0.0.1\n"])
def test_an_import_refuses_an_invalid_token_id(app, token):
    result = run(app, token)
    assert result.exit_code == 1
    assert "is not a token id (0.0.1234)" in result.output


def test_an_import_names_what_the_ledger_did_not_answer(app, mirror):
    mirror.fail("/")
    result = run(app, TOKEN)
    assert result.exit_code == 1
    assert "did not answer" in result.output
    assert "run it again to continue" in result.output


def test_an_import_may_be_interrupted(app, ledger, mirror, monkeypatch):
    monkeypatch.setattr(collection_import, "BATCH", 10)
    for serial_no in range(1, 121):
        ledger.mint((TOKEN, serial_no), ALICE, times.now())
    pages = []

    def interrupt(page):
        pages.append(page)
        if len(pages) == 2:
            raise KeyboardInterrupt

    mirror.alter(f"/tokens/{TOKEN}/nfts$", interrupt)
    result = run(app, TOKEN)
    assert result.exit_code == 1
    assert "Traceback" not in result.output
    assert "Interrupted: run it again to continue" in result.output
    assert len(stored(app)) in range(10, 120, 10)  # whole batches

    assert run(app, TOKEN).exit_code == 0
    assert stored(app) == list(range(1, 121))
