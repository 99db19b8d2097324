"""POST /v1/nft/<tokenId>/<serialNo>/refresh, and the command of that name: metadata is read again."""

from harness.apps import authorized_client, write_sql
from harness.cast import KEYS, TOKEN
from marketplace.hedera import times
from marketplace.market.nfts import PAUSE_SECONDS
from marketplace.services import read
from marketplace.store import nfts
from tests.answers import assert_error
from tests.engines import both_engines

pytestmark = both_engines

PATH = f"/v1/nft/{TOKEN}/7/refresh"


def stored(app, serial_no=7):
    with app.app_context():
        return nfts.get_nft(read(), TOKEN, serial_no)


def test_it_works(app, client, nft, complete):
    write_sql(app, "UPDATE nft SET original_image_url = NULL, missing = NULL, retry_at = NULL")
    r = client.post(PATH)
    assert (r.status_code, r.json, r.headers["Retry-After"]) == (200, {"result": "OK"}, "600")
    assert client.get(f"/v1/nft/{TOKEN}/7").json["originalImageUrl"] is None  # until it was read
    complete()
    assert client.get(f"/v1/nft/{TOKEN}/7").json["originalImageUrl"]
    assert stored(app)["missing"] is None


def test_metadata_that_was_given_up_is_read_again(app, client, nft, complete):
    write_sql(
        app,
        "UPDATE nft SET original_image_url = NULL, missing = 'status 404', attempts = 20, retry_at = NULL",
    )
    complete()
    assert stored(app)["original_image_url"] is None
    assert client.post(PATH).status_code == 200
    complete()
    assert stored(app)["original_image_url"]


def test_an_nft_is_read_once_in_some_minutes_whoever_asks(app, client, nft):
    assert client.post(PATH).status_code == 200
    before = stored(app)
    for each in (client, authorized_client(app, "write")):
        r = each.post(PATH)
        assert r.json == {"result": "OK"} and 590 <= int(r.headers["Retry-After"]) <= 600
    assert dict(stored(app)) == dict(before)
    then = times.to_iso(times.now() - PAUSE_SECONDS * times.SECOND)
    write_sql(app, "UPDATE nft SET asked_at = :then", then=then)
    assert client.post(PATH).headers["Retry-After"] == "600"
    assert stored(app)["asked_at"] > then


def test_it_rejects(app, client, nft, ledger):
    assert_error(client.post(f"/v1/nft/{TOKEN}/8/refresh"), 404, "NFT_NOT_STORED")
    assert_error(client.post(f"/v1/nft/{TOKEN}/0/refresh"), 422)
    assert_error(authorized_client(app, "read").post(PATH), 403, "write")
    write_sql(app, "UPDATE nft SET ledger_state = 'gone'")
    assert_error(client.post(PATH), 404, "was burned")


def test_the_command_takes_nfts_and_collections(app, client, nft):
    assert client.post("/v1/add", json=KEYS | {"serialNo": 6}).status_code == 200
    write_sql(app, "UPDATE nft SET missing = NULL, attempts = 3, retry_at = NULL")
    run = app.test_cli_runner().invoke
    result = run(args=["refresh", f"{TOKEN}:7"])
    assert (result.exit_code, result.output) == (0, f"{TOKEN}:7: 1 to read\n")
    assert stored(app)["retry_at"] and not stored(app, 6)["retry_at"]
    result = run(args=["refresh", TOKEN])
    assert (result.exit_code, result.output) == (0, f"{TOKEN}: 2 to read\n")
    assert stored(app, 6)["retry_at"]
    for wrong, words in (("7", "is not a token id"), (f"{TOKEN}:8", "is not stored")):
        result = run(args=["refresh", wrong])
        assert result.exit_code == 1 and words in result.output


def test_a_request_that_was_dated_by_a_wrong_clock_does_not_lock_out_later_ones(app, client, nft):
    ahead = times.to_iso(times.now() + 300 * times.DAY)
    write_sql(app, "UPDATE nft SET asked_at = :ahead, retry_at = NULL", ahead=ahead)
    assert client.post(PATH).headers["Retry-After"] == "600"
    assert stored(app)["retry_at"] and stored(app)["asked_at"] < ahead
