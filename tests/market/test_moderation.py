"""What the operator decides holds wherever something is shown or prepared, and is undone by one command."""

import json

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, CHARLIE, KEYS, TOKEN
from harness.mirror import MISSING
from marketplace.hedera import times
from marketplace.hedera.ids import NftId
from marketplace.ledger import Deadline
from marketplace.market import collection_facts, moderation, reconciler
from marketplace.market.names import find_skeletons
from marketplace.services import read, services
from marketplace.store import nft_collections, nfts
from marketplace.watcher.sweep import sync
from tests.actions import list_nft, rank, report, shown, tell
from tests.answers import assert_error, handed_out
from tests.engines import both_engines

NFT = f"{TOKEN}:7"
OTHER = f"{TOKEN}:8"


@pytest.fixture
def run(app):
    """Run a command of the operator; returns what it prints."""

    def run(*words, fails=False):
        result = app.test_cli_runner().invoke(args=words)
        assert (result.exit_code != 0) == fails, result.output
        return result.output

    return run


@pytest.fixture
def pair(lister, listed):
    """Two listed NFTs of a collection: numbers 7 at 250 HBAR, and 8 at 300."""
    lister((TOKEN, 8), 300)
    return listed


def keys_of(response):
    assert response.status_code == 200, response.text
    return [(nft["token"], nft["serialNo"]) for nft in response.json if nft]


def find_image(app, nft=(TOKEN, 7)):
    with app.app_context():
        return nfts.get_nft(read(), *nft)["image"]


def read_events(client, **query):
    query = {"after": client.cursor, "limit": 100} | query
    return [
        (each["kind"], each["serialNo"], each["price"], each["previousPrice"])
        for each in client.get("/v1/events", query_string=query).json
    ]


def begin(client):
    """Note where the feed is."""
    client.cursor = client.get("/v1/orderbook").headers["X-Events-Cursor"]


LISTS = (
    "/v1/orderbook", "/v1/orderbook?sort=price", f"/v1/orderbook?tokenId={TOKEN}&sort=-price",
    f"/v1/nftslisted/{TOKEN}", f"/v1/user/{ALICE}/listed", f"/v1/user/{ALICE}/nfts",
    f"/v1/nfts?id={NFT}&id={OTHER}",
)  # fmt: skip
OF_ONE = (f"/v1/nft/{TOKEN}/7", f"/v1/nft/{TOKEN}/7/events", f"/v1/nft/{TOKEN}/7/traits")


@both_engines
def test_it_works(app, client, run, pair, complete):
    rank(app)
    before = {path: client.get(path).json for path in (*LISTS, *OF_ONE, f"/v1/collection/{TOKEN}")}
    traits = client.get(f"/v1/collection/{TOKEN}/traits").json
    key = find_image(app)
    assert client.get(f"/media/{key}").status_code == 200
    begin(client)

    assert "newly hidden: 1." in run("hide", NFT, "--reason", "stolen")

    for path in OF_ONE:
        error = assert_error(client.get(path), 451, "HIDDEN", f"{TOKEN} #7 is hidden")
        assert "stolen" not in error["message"]
    for path in LISTS:
        assert keys_of(client.get(path)) == [(TOKEN, 8)], path
    collection = client.get(f"/v1/collection/{TOKEN}").json
    assert (collection["listed"], collection["floorPrice"], collection["owners"]) == (1, 300, 1)
    assert client.get(f"/v1/collection/{TOKEN}/owners").json == [{"accountId": ALICE, "nfts": 1}]
    assert client.get(f"/v1/collections?q={TOKEN}").json[0]["floorPrice"] == 300
    assert client.get("/v1/search", query_string={"q": f"{TOKEN} 7"}).json["nfts"] == []
    assert client.get(f"/v1/search?q={ALICE}").json["accounts"] == [
        {"accountId": ALICE, "listed": 1}
    ]
    rank(app)
    counted = [value["count"] for trait in client.get(f"/v1/collection/{TOKEN}/traits").json
               for value in trait["values"]]  # fmt: skip
    assert {*counted} == {1}
    for address in (key, key.replace("-640", "-320")):
        assert_error(client.get(f"/media/{address}"), 451, "HIDDEN")
    tag = key.partition(".")[0]
    assert client.get(f"/media/{key}", headers={"If-None-Match": f'"{tag}"'}).status_code == 451
    assert read_events(client) == [("HIDDEN", 7, None, 250)]
    assert read_events(client, tokenId=TOKEN, serialNo=7) == [("HIDDEN", 7, None, 250)]
    [row] = json.loads(run("hidden", "--json"))
    assert (row["kind"], row["what"], row["reason"]) == ("hidden", NFT, "stolen")
    assert "stolen" in run("hidden")

    assert "shown again: 1" in run("unhide", NFT)
    assert read_events(client)[-1] == ("SHOWN", 7, 250, None)
    assert shown(client)["isForSale"]
    complete()
    rank(app)
    after = {path: client.get(path).json for path in before}
    after[OF_ONE[1]] = after[OF_ONE[1]][: len(before[OF_ONE[1]])]
    assert after == before
    assert client.get(f"/v1/collection/{TOKEN}/traits").json == traits
    assert client.get(f"/media/{key}").status_code == 200
    assert json.loads(run("hidden", "--json")) == []


def test_nothing_is_prepared_for_a_hidden_nft_but_its_withdrawal(
    app, client, ledger, run, listed, buy
):
    assert client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 9}).status_code == 200
    open_purchase = buy()
    assert open_purchase.status_code == 200
    run("hide", NFT, "--reason", "stolen", "--public")
    for response in (
        buy(),
        client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 9}),
        client.post("/v1/add", json=KEYS),
        client.post(f"/v1/nft/{TOKEN}/7/refresh"),
    ):
        assert_error(response, 451, "HIDDEN", "stolen")
    withdrawal = client.post("/v1/delist/extwallet", json=KEYS)
    handed_out(withdrawal, ALICE)
    ledger.sign_and_submit(withdrawal.json["byteArray"])
    assert report(client).json == {"result": "OK"}
    run("unhide", NFT)
    assert not shown(client)["isForSale"]


def test_several_that_are_hidden_are_named(client, run, pair):
    run("hide", NFT, "--reason", "stolen")
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNos": [7, 8], "listingPrice": 5}
    assert_error(client.post("/v1/list/extwallet", json=body), 451, "HIDDEN")


@both_engines
def test_what_happens_meanwhile_is_untold_until_it_is_shown(app, client, ledger, run, pair, lister):
    begin(client)
    run("hide", NFT, "--reason", "stolen")
    ledger.hand_over((TOKEN, 7), BOB)
    with app.app_context():
        sync()
    assert read_events(client) == [("HIDDEN", 7, None, 250)]
    with app.app_context():
        assert nfts.get_nft(read(), TOKEN, 7)["owner"] == BOB
    run("unhide", NFT)
    assert [each[0] for each in read_events(client)] == ["HIDDEN", "TRANSFERRED", "SHOWN"]
    assert shown(client)["owner"] == {"accountId": BOB}


def test_sales_of_a_hidden_nft_are_not_counted(app, client, run, pair):
    hour_ago = times.to_iso(times.now() - times.HOUR)
    tell(app, {"consensus_at": hour_ago}, {"serial_no": 8, "price": 70, "consensus_at": hour_ago})
    tell(app, {"consensus_at": times.to_iso(times.now()), "price": 1000})

    def sales():
        row = client.get(f"/v1/collection/{TOKEN}").json
        names = ("sales", "volume", "sales24h", "volume24h")
        return [row[name] for name in names] + [row["lastSale"]["price"]]

    assert sales() == [3, 1320, 3, 1320, 1000]
    run("hide", NFT, "--reason", "wash trade")
    assert sales() == [1, 70, 1, 70, 70]
    tell(app, {"consensus_at": times.to_iso(times.now()), "price": 5})
    assert sales() == [1, 70, 1, 70, 70]
    run("unhide", NFT)
    assert sales() == [4, 1325, 4, 1325, 5]


@both_engines
def test_a_whole_collection(app, client, run, pair, lister, complete):
    lister(("0.0.7002", 1), 70)
    picture = find_image(app, (TOKEN, 8))
    begin(client)
    assert "newly hidden: 2." in run("hide", TOKEN, "--reason", "spam")
    for path in ("", "/owners", "/traits"):
        assert_error(client.get(f"/v1/collection/{TOKEN}{path}"), 451, "HIDDEN")
    for path in OF_ONE:
        assert_error(client.get(path), 451)
    assert client.get(f"/v1/nftslisted/{TOKEN}").json == []
    assert keys_of(client.get("/v1/orderbook")) == [("0.0.7002", 1)]
    for sort in ("volume24h", "-volume", "listed", "name", "newest"):
        found = client.get("/v1/collections", query_string={"sort": sort}).json
        assert [one["token"] for one in found] == ["0.0.7002"], sort
    assert client.get(f"/v1/search?q={TOKEN}").json["collections"] == []
    assert client.get(f"/media/{picture}").status_code == 451
    assert [each[:2] for each in read_events(client)] == [("HIDDEN", 7), ("HIDDEN", 8)]
    # What comes later is hidden, too.
    body = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 9}
    assert_error(client.post("/v1/add", json=body), 451)
    result = app.test_cli_runner().invoke(args=["import", TOKEN])
    assert result.exit_code == 0, result.output
    complete()
    assert client.get(f"/v1/user/{ALICE}/nfts").json[0]["token"] == "0.0.7002"

    run("hide", NFT, "--reason", "stolen")
    run("unhide", TOKEN)
    assert keys_of(client.get(f"/v1/nftslisted/{TOKEN}")) == [(TOKEN, 8)]
    assert_error(client.get(f"/v1/nft/{TOKEN}/7"), 451)
    assert "not hidden by itself" in run("unhide", TOKEN, fails=True)


def test_it_is_hidden_before_it_is_stored(app, client, run):
    run("hide", NFT, "--reason", "stolen")
    assert_error(client.get(f"/v1/nft/{TOKEN}/7"), 451)
    assert_error(client.post("/v1/add", json=KEYS), 451)
    assert_error(client.get(f"/v1/nft/{TOKEN}/8"), 404)


def test_a_listing_in_the_watchers_eyes_does_not_show_it(app, client, ledger, run, nft, lister):
    run("hide", NFT, "--reason", "stolen")
    memo = f"Listing NFT with {TOKEN} and Serial Number 7 for 5 HBAR on x"
    ledger.approve((TOKEN, 7), ALICE, "0.0.9001", memo)
    with app.app_context():
        sync()
        assert nfts.get_nft(read(), TOKEN, 7)["is_for_sale"]
    assert client.get("/v1/orderbook").json == []
    assert client.get(f"/v1/collection/{TOKEN}").json["listed"] == 0
    run("unhide", NFT)
    assert shown(client)["listingPrice"] == 5
    assert client.get(f"/v1/collection/{TOKEN}").json["listed"] == 1


def test_its_image_is_never_fetched_again(app, client, ledger, run, listed, complete):
    key = find_image(app)
    run("hide", NFT, "--reason", "stolen")
    ledger.update_metadata((TOKEN, 7))
    with app.app_context():
        sync()
        reconciler.reconcile([NftId(TOKEN, 7)], Deadline(5))
    assert app.test_cli_runner().invoke(args=["refresh", TOKEN]).exit_code == 0
    complete()
    assert find_image(app) is None
    assert client.get(f"/media/{key}").status_code == 451


@both_engines
def test_the_image_of_a_hidden_imitation_is_the_genuine_nfts_all_the_same(
    app, client, ledger, run, pair, complete
):
    key = find_image(app)
    run("hide", NFT, "--reason", "imitation")
    assert client.get(f"/media/{key}").status_code == 451
    with app.app_context():
        pointer = nfts.get_nft(read(), TOKEN, 7)["metadata"]
    ledger.update_metadata((TOKEN, 8), pointer)
    with app.app_context():
        sync()
    complete()
    assert find_image(app, (TOKEN, 8)) == key
    assert client.get(f"/media/{key}").status_code == 200


@both_engines
def test_an_image_that_stayed_on_the_disk_is_not_served_and_the_watcher_removes_it(
    app, client, run, listed
):
    key = find_image(app)
    path = services(app).media.folder / key
    content = path.read_bytes()
    run("hide", NFT, "--reason", "stolen")
    assert not path.exists()
    # As if the command had been killed before it removed the image
    path.write_bytes(content)
    write_sql(app, "UPDATE hidden_image SET is_removed = 0")
    assert client.get(f"/media/{key}").status_code == 451
    with app.app_context():
        moderation.remove_images()
    assert not path.exists()


def test_a_decision_that_cannot_be_written_whole_is_not_made(app, client, run, pair):
    fault = """
        CREATE TRIGGER fault BEFORE UPDATE OF listed ON collection
        BEGIN SELECT RAISE(ABORT, 'disk I/O error'); END
    """
    write_sql(app, fault)
    before = [client.get(path).json for path in LISTS]
    for words in (("hide", TOKEN), ("hide", NFT), ("block", ALICE)):
        app.test_cli_runner().invoke(args=[*words, "--reason", "fraud"])
        assert [client.get(path).json for path in LISTS] == before, words
        assert json.loads(run("hidden", "--json")) == []


def test_the_watcher_goes_on_where_a_command_was_killed(app, client, run, pair, buy, monkeypatch):
    monkeypatch.setattr("marketplace.store.decisions.AT_ONCE", 1)
    fault = """
        CREATE TRIGGER fault BEFORE UPDATE OF listed ON collection WHEN OLD.listed = 1
        BEGIN SELECT RAISE(ABORT, 'killed'); END
    """
    for words in (("hide", TOKEN), ("block", ALICE)):
        write_sql(app, fault)
        app.test_cli_runner().invoke(args=[*words, "--reason", "fraud"])
        assert [row["what"] for row in json.loads(run("hidden", "--json"))] == [words[1]]
        assert keys_of(client.get("/v1/orderbook")) == [(TOKEN, 8)]
        assert buy((TOKEN, 8)).status_code in (409, 451)
        if words[0] == "hide":
            for path in ("events", "offers"):
                assert_error(client.get(f"/v1/nft/{TOKEN}/8/{path}"), 451, "HIDDEN")
        write_sql(app, "DROP TRIGGER fault")
        with app.app_context():
            moderation.apply_decisions()
        assert client.get("/v1/orderbook").json == []
        assert client.get(f"/v1/nftslisted/{TOKEN}").json == []
        run("un" + words[0], words[1])
        assert len(client.get("/v1/orderbook").json) == 2
        assert client.get(f"/v1/collection/{TOKEN}").json["listed"] == 2


@both_engines
def test_a_blocked_accounts_listing_stays_untold_when_its_nft_is_hidden_and_shown(
    app, client, ledger, run, listed
):
    run("block", ALICE, "--reason", "fraud")
    begin(client)
    memo = f"Listing NFT with {TOKEN} and Serial Number 7 for 9 HBAR on x"
    ledger.approve((TOKEN, 7), ALICE, "0.0.9001", memo)
    with app.app_context():
        sync()
    assert read_events(client) == []
    run("hide", NFT, "--reason", "stolen")
    run("unhide", NFT)
    assert read_events(client) == [("HIDDEN", 7, None, None), ("SHOWN", 7, None, None)]
    run("unblock", ALICE)
    assert read_events(client)[2:] == [("LISTED", 7, 9, None)]


@both_engines
def test_an_image_that_others_show_stays(app, client, run, pair):
    shared = find_image(app, (TOKEN, 8))
    write_sql(app, "UPDATE nft SET image = :key WHERE serial_no = 7", key=shared)
    run("hide", NFT, "--reason", "stolen")
    assert client.get(f"/media/{shared}").status_code == 200
    run("hide", OTHER, "--reason", "stolen")
    assert client.get(f"/media/{shared}").status_code == 451


@both_engines
def test_a_blocked_account(app, client, ledger, run, pair, buy):
    run("verify", TOKEN)
    begin(client)
    assert "ended: 2." in run("block", ALICE, "--reason", "sold stolen NFTs", "--public")
    assert client.get("/v1/orderbook").json == []
    assert client.get(f"/v1/collection/{TOKEN}").json["listed"] == 0
    nft = shown(client)
    assert (nft["isForSale"], nft["listingPrice"]) == (False, 0)
    assert len(client.get(f"/v1/user/{ALICE}/nfts").json) == 2
    assert_error(buy(), 409, "NOT_LISTED")
    listing = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 9})
    assert_error(listing, 403, "ACCOUNT_BLOCKED", ALICE, "sold stolen NFTs")
    assert sorted(read_events(client)) == [("WITHDRAWN", 7, None, 250), ("WITHDRAWN", 8, None, 300)]
    # The owner can still withdraw. Nothing that the ledger shows later puts anything on.
    withdrawal = client.post("/v1/delist/extwallet", json=KEYS | {"serialNo": 8})
    ledger.sign_and_submit(withdrawal.json["byteArray"])
    memo = f"Listing NFT with {TOKEN} and Serial Number 7 for 5 HBAR on x"
    ledger.approve((TOKEN, 7), ALICE, "0.0.9001", memo)
    with app.app_context():
        sync()
    assert client.get("/v1/orderbook").json == []
    assert len(read_events(client)) == 2
    assert "shown again: 1" in run("unblock", ALICE)
    assert shown(client)["listingPrice"] == 5
    assert client.get(f"/v1/collection/{TOKEN}").json["listed"] == 1
    assert read_events(client)[-1] == ("LISTED", 7, 5, None)
    assert "not blocked" in run("unblock", ALICE, fails=True)


@both_engines
def test_a_blocked_account_cannot_buy(client, run, listed, buy):
    run("block", BOB, "--reason", "fraud")
    error = assert_error(buy(), 403, "ACCOUNT_BLOCKED", BOB)
    assert "fraud" not in error["message"]
    assert buy(account_id=CHARLIE).status_code == 200


@both_engines
def test_who_gets_an_nft_of_a_blocked_account_can_list_it(app, client, ledger, run, listed):
    run("block", ALICE, "--reason", "fraud")
    ledger.hand_over((TOKEN, 7), BOB)
    list_nft(client, 9, accountId=BOB)
    assert shown(client)["listingPrice"] == 9
    ledger.hand_over((TOKEN, 7), ALICE)
    with app.app_context():
        sync()
    assert client.get("/v1/orderbook").json == []


def test_an_account_that_the_ledger_does_not_have_is_named(app, run, mirror):
    mirror.answer("/accounts/", MISSING)
    ended = app.test_cli_runner().invoke(args=["block", "0.0.99999999", "--reason", "theirs"])
    assert ended.exit_code == 0 and ended.stdout.startswith("Blocked 0.0.99999999. ")
    assert ended.stderr == "Warning: 0.0.99999999 is not an account on the ledger\n"
    mirror.fail("/accounts/")
    ended = app.test_cli_runner().invoke(args=["block", "0.0.99999998", "--reason", "theirs"])
    assert (ended.exit_code, ended.stderr) == (0, "")


def test_a_list_of_accounts_is_read_from_standard_input(app, run):
    words = ["block", "--file", "-", "--reason", "theirs"]
    for listed, said in ((f"{ALICE}\n{BOB}\n", "blocked 2, unblocked 0"), (BOB, "0, unblocked 1")):
        ended = app.test_cli_runner().invoke(args=words, input=listed)
        assert ended.exit_code == 0, ended.output
        assert ended.output.startswith("standard input: ") and said in ended.output
    ended = app.test_cli_runner().invoke(args=words, input="Bob")
    assert ended.exit_code == 1 and "standard input, line 1: " in ended.output
    assert "[standard input]" in run("hidden")


def test_a_list_of_accounts_is_read_whole(client, run, tmp_path):
    file = tmp_path / "accounts.txt"
    file.write_text(f"# stolen\n{ALICE}\n\n{BOB} # twice\n")
    run("block", CHARLIE, "--reason", "fraud")
    assert "blocked 2, unblocked 0" in run("block", "--file", str(file), "--reason", "theirs")
    file.write_text(f"{BOB}\n{CHARLIE}\n")
    assert "blocked 0, unblocked 1" in run("block", "--file", str(file), "--reason", "theirs")
    file.write_text("")
    run("block", "--file", str(file), "--reason", "theirs")
    assert [row["what"] for row in json.loads(run("hidden", "--json"))] == [CHARLIE]
    file.write_text(f"{BOB}\nBob\n")
    assert "line 2" in run("block", "--file", str(file), "--reason", "theirs", fails=True)
    assert [row["what"] for row in json.loads(run("hidden", "--json"))] == [CHARLIE]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("hide", "7", "--reason", "x"), "not a token id"),
        (("hide", NFT), "Missing option '--reason'"),
        (("hide", NFT, "--reason", " "), "1 to 500"),
        (("block", "--reason", "x"), "Name an account"),
        (("block", ALICE, "--file", __file__, "--reason", "x"), "Name an account"),
        (("verify", "Tides"), "not an id"),
        (("unverify", TOKEN), "not verified"),
    ],
)
def test_a_command_refuses_invalid_values(run, words, said):
    assert said in run(*words, fails=True)


@both_engines
def test_a_verified_collection(app, client, mirror, run, lister):
    lister((TOKEN, 7), 250)
    lister(("0.0.7002", 1), 70)
    lister(("0.0.7003", 1), 70)
    for token, name in ((TOKEN, "Tides"), ("0.0.7002", "Тidеs "), ("0.0.7003", "Zebras")):
        mirror.alter(f"/tokens/{token}$", lambda it, name=name: it.update(name=name))
        with app.app_context():
            collection_facts.refresh(token)
    tell(app, {"token": "0.0.7002", "serial_no": 1, "consensus_at": times.to_iso(times.now())})
    assert client.get("/v1/collections").json[0]["token"] == "0.0.7002"
    assert client.get(f"/v1/collection/{TOKEN}").json["verified"] is False

    run("verify", TOKEN, "--reason", "they wrote to us")
    assert client.get(f"/v1/collection/{TOKEN}").json["verified"] is True
    for sort in ("volume24h", "-volume", "listed", "name", "newest"):
        seen, page = [], f"/v1/collections?sort={sort}&limit=1"
        while page:
            response = client.get(page)
            seen += [(one["token"], one["verified"]) for one in response.json]
            link = response.headers.get("Link")
            page = link and link.partition(">")[0][1:]
        assert seen[-1] == ("0.0.7002", False), sort
        assert (TOKEN, True) in seen and len(seen) == 3
    assert [one["token"] for one in client.get("/v1/collections?verified=true").json] == [TOKEN]
    found = client.get("/v1/search?q=0.0.7002 1&verified=true").json
    assert (found["collections"], found["nfts"]) == ([], [])
    assert len(client.get("/v1/search?q=0.0.7002 1&verified=false").json["nfts"]) == 1
    assert_error(client.get("/v1/collections?verified=yes"), 422, "true or false")

    run("unverify", TOKEN)
    assert client.get("/v1/collections").json[0]["token"] == "0.0.7002"
    assert client.get(f"/v1/collection/{TOKEN}").json["verified"] is False


@both_engines
def test_a_verified_collection_that_is_renamed_is_verified_no_more(
    app, client, mirror, run, lister, caplog
):
    lister((TOKEN, 7), 250)
    lister(("0.0.7002", 1), 70)

    def rename(token, name, symbol="SAND"):
        mirror.alter(f"/tokens/{token}$", lambda it: it.update(name=name, symbol=symbol))
        with app.app_context():
            collection_facts.refresh(token)
            return nft_collections.is_verified(read(), token)

    def list_in_order():
        return [(one["token"], one["verified"]) for one in client.get("/v1/collections").json]

    rename("0.0.7002", "Golden Pandas")
    rename(TOKEN, "Nice Art")
    assert '"Nice Art" ("SAND")' in run("verify", TOKEN)
    assert rename(TOKEN, "Nice Art")
    assert not rename(TOKEN, "Golden Pandas")
    assert f"verify {TOKEN}" in caplog.text
    assert "no more: 0.0.7001" in app.test_cli_runner().invoke(args=["status"]).output
    assert json.loads(run("hidden", "--json"))[0]["suspended"]
    assert "suspended" in run("hidden")
    # The genuine one is not its imitation.
    run("verify", "0.0.7002")
    assert list_in_order() == [("0.0.7002", True), (TOKEN, False)]
    assert rename(TOKEN, "Nice Art")
    assert not rename(TOKEN, "Nice Art", "NICE")
    run("verify", TOKEN)
    assert (TOKEN, True) in list_in_order()
    assert not json.loads(run("hidden", "--json"))[0]["suspended"]


@pytest.mark.parametrize(
    ("name", "other", "is_alike"),
    [
        ("Tides", "ＴＩＤＥＳ", True),
        ("Tides", "Тидеѕ", False),
        ("Tides", "T i d e s.", True),
        ("Tides", "Τіdеѕ", True),
        ("Tides", "Tídès", True),
        ("Tides", "Ti\u3164d\u115fe\u200bs", True),
        ("Tides", "ꓔꓲꓓꓰꓢ", True),
        ("Tides", "ꓔides", True),
        ("Tides", "ᴛɪᴅᴇꜱ", True),
        ("Tides", "🅃🄸🄳🄴🅂", True),
        ("Golden Pandas", "GoIden Pandas", True),
        ("Golden Pandas", "G0LDEN PANDAS", True),
        ("Golden Pandas", "GΟLDEN PANDAS", True),
        ("Loot", "L00t", True),
        ("Ball", "Bail", False),
        ("Ball", "BAIL", False),
        ("Modern", "Modem", False),
        ("Burn", "Bum", False),
        ("Zoo", "200", False),
        ("Loot", "1007", False),
        ("はな", "ばな", False),
        ("ハナ", "バナ", False),
        ("कि", "कु", False),
        ("Series 1", "Series 2", False),
        ("Tides", "Tides 2", False),
    ],
)
def test_names_that_look_alike(name, other, is_alike):
    assert bool(find_skeletons(name) & find_skeletons(other)) == is_alike
