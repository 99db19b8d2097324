"""What strangers write may hold anything; what reaches a database is text, on either engine."""

import base64
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from werkzeug.test import EnvironBuilder, run_wsgi_app

from harness.apps import enriching, settings
from harness.cast import ALICE, KEYS, TOKEN
from harness.network import serve_raw
from harness.serving import run_flask
from marketplace import create_app
from marketplace.ledger import answers
from marketplace.ledger.objects import Nft
from marketplace.market import reconciler
from marketplace.services import read, services, write
from marketplace.store import nfts
from marketplace.watcher.enrichment_result import LONG
from marketplace.watcher.metadata_columns import find_columns
from tests.answers import assert_error
from tests.engines import both_engines

pytestmark = both_engines

CID = "Qm" + "a" * 44
BAD = ["\0", "a\0b", "\ud800", "a\udfffb", "\ufffe\uffff", "\x1b[2J", "\u202e", "a\0" * 99]

texts = st.text(st.characters(categories=None)) | st.sampled_from(BAD)
documents = st.recursive(
    texts | st.none() | st.booleans() | st.integers() | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def own(tmp_path):
    """The settings of a service."""
    return settings(tmp_path)


def store(app, pointer, token_name):
    """Store an NFT as a mirror node shows it, and read it back."""
    answer = {
        "token_id": TOKEN,
        "serial_number": 7,
        "account_id": ALICE,
        "deleted": False,
        "metadata": pointer,
        "modified_timestamp": "1.000000000",
    }
    with app.app_context():
        nft = answers.read(Nft, answer)
        record = reconciler.new_record(nft, token_name)
        with write() as db:
            db.execute("DELETE FROM nft")
            assert nfts.insert_nft(db, record)["name"] == record["name"]
        before = nfts.get_nft(read(), TOKEN, 7)
        completed = find_columns(before, enriching(app), LONG)
        with write() as db:
            assert nfts.mark_enriched(db, completed, before)["name"] == completed["name"]
        return nfts.get_nft(read(), TOKEN, 7)


@given(
    document=st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ["name", "type", "image", "creator", "attributes", "properties", "NAME"], documents
        ),
    ),
    token_name=texts,
)
@example(document={"name": "\0", "attributes": {"a\0": "\ud800b"}}, token_name="\0\ud800")
def test_strange_text_in_metadata(app, document, token_name):
    pointer = base64.b64encode(json.dumps(document).encode()).decode()
    row = store(app, pointer, token_name)
    for column in ("name", "attributes", "metadata", "missing", "file_type", "original_image_url"):
        assert "\0" not in (row[column] or "")


@given(pointer=st.binary(max_size=60).map(lambda raw: base64.b64encode(raw).decode()) | texts)
def test_strange_text_in_a_metadata_pointer(app, pointer):
    assert store(app, pointer, "A name")["name"]


@pytest.mark.parametrize("location", [b"http://a\0b/", b"http://\xff\0/", b"//[\0]/", b"\0", b"\r"])
def test_strange_text_in_a_redirect(own, location):
    """Why something could not be had is stored, and names the host that a stranger chose."""

    def redirect(connection):
        connection.sendall(b"HTTP/1.1 302 EnrichmentResult\r\nLocation: " + location + b"\r\n\r\n")

    with serve_raw(redirect) as gateway:
        app = create_app(**own | {"IPFS_GATEWAYS": f"{gateway}/ipfs"})
        pointer = base64.b64encode(f"ipfs://{CID}/7.json".encode()).decode()
        row = store(app, pointer, "A name")
        assert row["missing"]
        assert "\0" not in row["missing"]
        services(app).database.close()


@pytest.mark.parametrize("bad", ["%00", "a%00b", "%ED%A0%80", "%FF", "%F4%90%80%80"])
def test_strange_text_in_a_query(idle_client, bad):
    for path in (
        f"/v1/nft/{bad}/7",
        f"/v1/nft/{TOKEN}/{bad}",
        f"/v1/nftslisted/{bad}",
        f"/v1/user/{bad}/listed",
        f"/v1/user/{ALICE}/listed?offset={bad}",
        f"/v1/user/{ALICE}/listed?page={bad}",
        f"/v1/orderbook?limit={bad}",
        f"/v1/orderbook?page={bad}",
        f"/v1/{bad}",
        f"/media/{bad}",
    ):
        r = idle_client.get(path)
        assert r.status_code in (400, 404, 422), (path, r.text)
        assert_error(r, r.status_code)
    assert_error(idle_client.post(f"/v1/list/{bad}", json=KEYS | {"listingPrice": 1}), 404)
    assert idle_client.get(f"/v1/orderbook?{bad}=1").status_code in (200, 400)
    assert idle_client.get(f"/status?{bad}").status_code == 200


@pytest.mark.parametrize("bad", ["\0", "a\0b", "\xff", "\xed\xa0\x80", " ", "=" * 8000])
def test_strange_text_in_an_access_token(idle_client, bad):
    """As a server passes a header on: its bytes as Latin-1."""
    for value in (bad, f"Bearer {bad}", f"Bearer a{bad}"):
        environ = EnvironBuilder("/v1/orderbook").get_environ() | {"HTTP_AUTHORIZATION": value}
        body, status, _ = run_wsgi_app(idle_client.application, environ)
        assert status == "401 UNAUTHORIZED"
        assert json.loads(b"".join(body))["code"] == 401


@pytest.mark.parametrize("bad", ["\udcff", "a\ud800", "\0"])
def test_strange_text_in_a_token_name(own, tmp_path, bad):
    for command in (("token", "create", bad), ("token", "revoke", bad), ("import", bad)):
        ended = run_flask(tmp_path, *command, **own)
        assert ended.exit_code == 1
        assert ended.stderr.startswith("Error: ")
        assert ended.stderr.count("\n") == 1
