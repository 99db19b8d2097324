"""A collection: what the ledger said of it last, and what of it is for sale. No read asks the ledger."""

import time

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, KEYS, TOKEN
from harness.mirror import MISSING
from marketplace.cli import nfts
from marketplace.hedera import times
from marketplace.market import collection_facts
from marketplace.services import read, write
from marketplace.store import nft_collections
from marketplace.watcher import collection_import, maintenance
from marketplace.watcher.done import Done
from marketplace.watcher.sweep import sync
from tests.actions import tell
from tests.answers import assert_error
from tests.api.pages import all_rows
from tests.engines import both_engines

TOKENS = "/tokens/[^/]*$"  # the mirror node's answers about tokens
ORBITS = "0.0.5002"
MAX = 2**63 - 1
UNKNOWN = dict.fromkeys(("name", "symbol", "totalSupply", "treasury", "royalties", "fixedFees"))
NOTHING = {
    "verified": False,
    "listed": 0, "floorPrice": None, "bestOffer": None,
    "sales": 0, "volume": 0, "sales24h": 0, "volume24h": 0, "sales7d": 0, "volume7d": 0, "sales30d": 0,
    "volume30d": 0, "floorPrice24hAgo": None, "lastSale": None,
    "owners": 1, "description": None, "bannerUrl": None, "logoUrl": None, "links": [],
}  # fmt: skip


def get(client, token=TOKEN, **options):
    return client.get(f"/v1/collection/{token}", **options)


def collection(client, token=TOKEN):
    r = get(client, token)
    assert r.status_code == 200, r.text
    return r.json


def add(client, token=TOKEN, serial_no=7):
    r = client.post("/v1/add", json=KEYS | {"tokenId": token, "serialNo": serial_no})
    assert r.status_code == 200, r.text


def hurry(app, token=TOKEN, since="2026"):
    """Let it be time to read a collection again."""
    sql = "UPDATE collection SET retry_at = :since WHERE token = :token"
    write_sql(app, sql, since=since, token=token)


def follow(app):
    """A round of the watcher; returns what it did."""
    with app.app_context():
        return sync()


def read_again(app, token=TOKEN):
    hurry(app, token)
    return follow(app)


def stored(app, token=TOKEN):
    with app.app_context():
        return dict(nft_collections.get_collection(read(), token))


def seconds_until_read(app, token=TOKEN):
    return times.from_iso(stored(app, token)["retry_at"]) - times.now() / times.SECOND


def test_it_works(client, lister):
    lister((ORBITS, 1), listing_price=250)
    lister((ORBITS, 2), listing_price=99)
    add(client, ORBITS, 3)
    fallback = {"amount": 1_000_000_000, "token": None}
    answer = collection(client, ORBITS)
    assert all("/media/" in answer.pop(image) for image in ("bannerUrl", "logoUrl"))
    nothing = {name: value for name, value in NOTHING.items() if name in answer}
    assert answer == {
        "token": ORBITS,
        "name": "Orbits",
        "symbol": "ORBIT",
        "totalSupply": 1,  # when it was read
        "treasury": {"accountId": "0.0.1000"},
        "royalties": [
            {"accountId": "0.0.2002", "numerator": 5, "denominator": 100, "fallbackFee": fallback},
            {"accountId": "0.0.2003", "numerator": 1, "denominator": 40, "fallbackFee": None},
        ],
        "fixedFees": [],
        **nothing,
        "listed": 2,
        "floorPrice": 99,
        "description": "Small systems, far from here.",
        "links": [{"label": "website", "url": "https://example.com/orbits"}],
    }


def owners(client, token=TOKEN, **query):
    shown = all_rows(client, f"/v1/collection/{token}/owners", **query)
    return [(each["accountId"], each["nfts"]) for each in shown]


@both_engines
def test_its_owners_are_listed_those_with_the_most_nfts_first(app, client):
    for serial_no in range(1, 7):
        add(client, serial_no=serial_no)
    add(client, ORBITS, 1)
    own = "UPDATE nft SET owner = :owner WHERE token = :token AND serial_no = :serial_no"
    for serial_no, owner in enumerate((BOB, BOB, "0.0.7", "0.0.12", BOB), 1):
        write_sql(app, own, owner=owner, token=TOKEN, serial_no=serial_no)
    expected = [(BOB, 3), ("0.0.12", 1), ("0.0.7", 1), (ALICE, 1)]
    expected = [expected[0], *sorted(expected[1:])]
    for limit in (1, 2, 3, 100):
        assert owners(client, limit=limit) == expected
    assert collection(client)["owners"] == 4
    burned = "UPDATE nft SET ledger_state = 'gone' WHERE serial_no = :serial_no"
    for serial_no in (1, 2, 3):
        write_sql(app, burned, serial_no=serial_no)
    assert owners(client, limit=2) == sorted([(BOB, 1), ("0.0.12", 1), (ALICE, 1)])
    assert collection(client)["owners"] == 3


def test_owners_of_what_is_not_stored_are_a_404(client):
    assert_error(client.get("/v1/collection/0.0.7999/owners"), 404, "No NFT of 0.0.7999 is stored")
    assert_error(client.get(f"/v1/collection/{TOKEN}/owners?limit=1001"), 422, "limit must be")
    assert_error(client.get(f"/v1/collection/{TOKEN}/owners?page=x"), 422, "page must be")


def sell(app, price, seconds_ago, token=TOKEN):
    """Write a sale, as the reconciler does."""
    sold_at = times.to_iso(times.now() - int(seconds_ago * times.SECOND))
    tell(app, {"token": token, "price": price, "consensus_at": sold_at, "seen_at": sold_at})
    return {"price": price, "date": f"{sold_at[:23]}Z"}


def sales(client):
    names = ("sales", "volume", "sales24h", "volume24h", "lastSale")
    shown = collection(client)
    return tuple(shown[name] for name in names)


def test_sales_are_counted(app, client, nft):
    assert sales(client) == (0, 0, 0, 0, None)
    sell(app, 40_000_000_000, seconds_ago=90_000)
    last = sell(app, 7, seconds_ago=60)
    sell(app, 30, seconds_ago=3600)
    sell(app, 5, seconds_ago=1, token=ORBITS)
    assert sales(client) == (3, 40_000_000_037, 2, 37, last)


def earned(client, fee=0):
    client.application.config["SALE_FEE_BASIS_POINTS"] = fee
    shown = client.get(f"/v1/collection/{ORBITS}/royalties?fee={fee}").json  # past the cache
    return {each["accountId"]: each["earned"] for each in shown}


@both_engines
def test_royalties_earn_nothing_by_sales_of_their_receiver(app, client, lister):
    lister((ORBITS, 1))
    assert earned(client) == {"0.0.2002": "0", "0.0.2003": "0"}
    for seller, price in ((ALICE, 100), ("0.0.2002", 20)):
        tell(app, {"token": ORBITS, "from_account": seller, "price": price})
    assert earned(client) == {"0.0.2002": "500000000", "0.0.2003": "300000000"}
    assert earned(client, fee=1000) == {"0.0.2002": "450000000", "0.0.2003": "270000000"}
    write_sql(app, "UPDATE collection SET royalties = NULL")
    assert earned(client) == {}
    missing = client.get("/v1/collection/0.0.7999/royalties")
    assert_error(missing, 404, "No NFT of 0.0.7999 is stored")


def test_a_sale_is_of_the_last_24_hours_no_longer_than_that(app, client, nft):
    last = sell(app, 60, seconds_ago=24 * 3600 - 0.9)
    ends_at = times.now() + 0.9 * times.SECOND
    before = get(client)
    is_kept = get(client, headers={"If-None-Match": before.headers["ETag"]})
    if times.now() < ends_at - 0.1 * times.SECOND:  # the machine is not that slow
        assert before.json["sales24h"] == 1
        assert is_kept.status_code == 304
    time.sleep(0.95)  # nothing is committed
    assert sales(client) == (1, 60, 0, 0, last)


def test_a_collection_without_stored_nfts_is_a_404(client):
    assert_error(get(client), 404, f"No NFT of {TOKEN} is stored", "POST /v1/add one first")


def test_listed_and_floor_follow_the_order_book(app, client, ledger, lister):
    lister((TOKEN, 7), listing_price=50)
    lister((TOKEN, 8), listing_price=40)
    lister(("0.0.7002", 9), listing_price=1)
    assert collection(client)["floorPrice"] == 40
    lister((TOKEN, 8), listing_price=60)
    assert collection(client)["floorPrice"] == 50
    ledger.hand_over((TOKEN, 7), BOB)
    follow(app)
    shown = collection(client)
    assert (shown["listed"], shown["floorPrice"]) == (1, 60)


def test_it_has_an_etag_that_outlives_other_writes(client, nft):
    r = get(client)
    add(client, "0.0.7002", 1)
    again = get(client, headers={"If-None-Match": r.headers["ETag"]})
    assert again.status_code == 304


# What the ledger does not tell


@both_engines
def test_a_mirror_node_that_fails_does_not_stop_an_add(app, client, mirror):
    mirror.fail(TOKENS)
    add(client)
    assert collection(client) == {"token": TOKEN} | UNKNOWN | NOTHING
    follow(app)
    assert client.get("/status").json["lastSync"]  # a round is done all the same
    mirror.heal()
    hurry(app)
    assert follow(app)[Done.COLLECTIONS] == 1
    assert collection(client)["name"] == f"Sandbox {TOKEN}"


def test_the_next_add_reads_a_collection_that_is_not_known(client, mirror):
    mirror.fail(TOKENS)
    add(client)
    mirror.heal()
    add(client, serial_no=8)
    assert collection(client)["symbol"] == "SAND"


def test_failed_reads_of_a_collection_are_retried_ever_later(app, client, mirror):
    mirror.answer(TOKENS, MISSING)
    add(client)
    pauses = []
    for attempt in range(1, 25):
        now = times.now()
        assert read_again(app)[Done.COLLECTIONS_LATE] == 1
        row = stored(app)
        assert row["attempts"] == attempt
        pauses.append(round((times.from_iso(row["retry_at"]) - now / times.SECOND) / 60))
    assert pauses[:10] == [2, 4, 8, 16, 32, 64, 128, 256, 512, 1024]
    assert set(pauses[10:]) == {24 * 60}


@both_engines
def test_an_nft_whose_collection_is_not_stored_yet(app, client):
    sql = """
        INSERT INTO nft (token, serial_no, name, file_type, owner, ledger_at)
        VALUES (:token, 1, 'x', 'x/x', :owner, '2026')
    """
    write_sql(app, sql, token=TOKEN, owner=ALICE)
    assert collection(client) == {"token": TOKEN} | UNKNOWN | NOTHING


# What the ledger says, however strange

ROYALTY = {
    "amount": {"numerator": 5, "denominator": 100},
    "collector_account_id": "0.0.8001",
    "fallback_fee": None,
    "all_collectors_are_exempt": False,
}
SHOWN = {"accountId": "0.0.8001", "numerator": 5, "denominator": 100, "fallbackFee": None}
FEE = {"amount": 7, "denominating_token_id": None}
FIXED = {
    "all_collectors_are_exempt": False,
    "amount": 500,
    "collector_account_id": "0.0.2001",
    "denominating_token_id": None,
}
SHOWN_FIXED = {"accountId": "0.0.2001", "amount": 500, "token": None}


def fees(*royalties, **changes):
    return {"custom_fees": {"royalty_fees": [ROYALTY | changes, *royalties], "fixed_fees": []}}


def royalties_shown(*royalties, **changes):
    return {"royalties": [SHOWN | changes, *royalties], "symbol": "SAND"}


def fixed(*listed):
    return {"custom_fees": {"royalty_fees": [ROYALTY], "fixed_fees": listed}}


def fixed_shown(*listed):
    return {"royalties": [SHOWN], "fixedFees": [*listed]}


# An invalid entry hides its whole list, since the rest alone would be incomplete. Valid lists are kept.
NO_ROYALTIES = {"royalties": None, "symbol": "SAND"}
NO_FIXED = {"royalties": [SHOWN], "fixedFees": None}
SHOWN_FIELDS = [
    (fees(), royalties_shown()),
    (fees(ROYALTY), royalties_shown(SHOWN)),
    (fees(fallback_fee=FEE), royalties_shown(fallbackFee={"amount": 7, "token": None})),
    (
        fees(fallback_fee={"amount": MAX, "denominating_token_id": "0.0.9"}),
        royalties_shown(fallbackFee={"amount": MAX, "token": "0.0.9"}),
    ),
    (
        fees(amount={"numerator": MAX, "denominator": MAX}),
        royalties_shown(numerator=MAX, denominator=MAX),
    ),
    ({"custom_fees": None}, {"royalties": []}),
    ({"custom_fees": {"royalty_fees": None}}, {"royalties": []}),
    (fees(amount={"numerator": 5, "denominator": 0}), NO_ROYALTIES),
    (fees(amount={"numerator": -5, "denominator": 100}), NO_ROYALTIES),
    (fees(amount={"numerator": 10**400, "denominator": 100}), NO_ROYALTIES),
    (fees(amount={"numerator": True, "denominator": 100}), NO_ROYALTIES),
    (fees(amount=None), NO_ROYALTIES),
    (fees(fallback_fee={"amount": MAX + 1, "denominating_token_id": None}), NO_ROYALTIES),
    (fees(fallback_fee={"amount": 1, "denominating_token_id": "x"}), NO_ROYALTIES),
    (fees(collector_account_id=["0.0.1"]), NO_ROYALTIES),
    (fees(None), NO_ROYALTIES),
    ({"custom_fees": "x"}, NO_ROYALTIES),
    ({"custom_fees": {"royalty_fees": {"x": 5}}}, NO_ROYALTIES),
    (fixed(FIXED), fixed_shown(SHOWN_FIXED)),
    (fixed(FIXED | {"amount": "500"}), fixed_shown(SHOWN_FIXED)),
    (fixed(FIXED | {"amount": MAX}), fixed_shown(SHOWN_FIXED | {"amount": MAX})),
    (
        fixed(FIXED | {"denominating_token_id": "0.0.9"}, FIXED),
        fixed_shown(SHOWN_FIXED | {"token": "0.0.9"}, SHOWN_FIXED),
    ),
    ({"custom_fees": {"royalty_fees": [ROYALTY], "fixed_fees": None}}, fixed_shown()),
    (fixed(FIXED | {"amount": MAX + 1}), NO_FIXED),
    (fixed(FIXED | {"amount": 0.5}), NO_FIXED),
    (fixed(FIXED | {"collector_account_id": "x"}), NO_FIXED),
    (fixed(FIXED | {"denominating_token_id": "0.0"}), NO_FIXED),
    (fixed(FIXED, 5), NO_FIXED),
    ({"total_supply": str(MAX)}, {"totalSupply": MAX}),
    ({"total_supply": "0"}, {"totalSupply": 0}),
    *[
        ({"total_supply": written}, {"totalSupply": None})
        for written in (str(MAX + 1), "-1", "1e3", "٣", "", None)
    ],
    ({"name": "  Tides\0 ", "symbol": "<b>"}, {"name": "Tides", "symbol": "<b>"}),
    ({"name": "x" * 5000, "symbol": "x" * 5000}, {"name": "x" * 1000, "symbol": "x" * 1000}),
    ({"name": "a\ud800b", "symbol": ""}, {"name": "ab", "symbol": None}),
    ({"name": "", "symbol": {"x": 1}}, {"name": None, "symbol": '{"x":1}'}),
    ({"treasury_account_id": None}, {"treasury": None, "symbol": "SAND"}),
    ({"treasury_account_id": "0.0"}, {"treasury": None}),
    ({"treasury_account_id": "0.0.9223372036854775808"}, {"treasury": None}),
    *[
        (changes, UNKNOWN)
        for changes in ({"type": "FUNGIBLE_COMMON"}, {"type": None}, {"name": None}, {"name": 5})
    ],
]


def test_valid_fields_of_a_partly_wrong_answer_are_shown(client, mirror):
    for number, (changes, shown) in enumerate(SHOWN_FIELDS):
        mirror.heal()
        mirror.alter(TOKENS, lambda document, changes=changes: document.update(changes))
        token = f"0.0.{8000 + number}"
        add(client, token)
        assert collection(client, token) | shown == collection(client, token), changes


# It is read again


def test_a_collection_that_is_due_is_read_again(app, client, nft, mirror):
    mirror.alter(
        TOKENS, lambda document: document.update({"name": "Renamed", "total_supply": "77"} | fees())
    )
    follow(app)
    assert mirror.count(TOKENS) == 0
    assert read_again(app)[Done.COLLECTIONS] == 1
    assert Done.COLLECTIONS not in follow(app)
    assert mirror.count(TOKENS) == 1
    shown = collection(client)
    assert (shown["name"], shown["totalSupply"], shown["royalties"]) == ("Renamed", 77, [SHOWN])


def test_a_collection_with_a_new_nft_is_read_again_within_a_minute(app, client, mirror):
    add(client, serial_no=1)
    assert seconds_until_read(app) > 3000
    add(client, serial_no=2)
    assert seconds_until_read(app) <= 61
    read_again(app)
    assert collection(client)["totalSupply"] == 2
    assert mirror.count(TOKENS) == 2


def test_a_collection_is_read_daily_and_hourly_once_something_is_listed(app, nft, lister):
    read_again(app)
    assert 86_300 < seconds_until_read(app) <= 86_400
    lister(nft)
    assert seconds_until_read(app) <= 60
    read_again(app)
    lister(nft, listing_price=99)
    assert 3500 < seconds_until_read(app) <= 3600


@both_engines
@pytest.mark.parametrize("what", ["stored", "listed"])
def test_changes_while_a_collection_is_read_are_not_forgotten(
    app, client, nft, mirror, what, lister
):
    def change(_):
        mirror.heal()  # a listing asks for the token, too
        if what == "stored":
            add(client, serial_no=8)
        else:
            lister(nft)

    mirror.alter(TOKENS, change)
    assert read_again(app)[Done.COLLECTIONS] == 1
    assert seconds_until_read(app) <= (60 if what == "stored" else 3600)


@both_engines
def test_a_collection_whose_reader_was_killed_is_read_again_soon(app, nft, mirror):
    class Killed(BaseException):
        """The process ends here."""

    def die(_):
        raise Killed

    mirror.alter(TOKENS, die)
    hurry(app)
    with app.app_context(), pytest.raises(Killed):
        collection_facts.refresh(TOKEN)
    assert seconds_until_read(app) <= 600


@both_engines
def test_a_failing_mirror_node_keeps_the_stored_collection(app, client, nft, mirror):
    before = collection(client)
    mirror.answer(TOKENS, MISSING)
    assert read_again(app)[Done.COLLECTIONS_LATE] == 1
    assert collection(client) == before


def test_an_older_answer_replaces_no_newer_collection(app, client, nft):
    with app.app_context():
        row = dict(nft_collections.get_collection(read(), TOKEN))
        late = row | {"name": "Old", "read_at": "2026-01-01T00:00:00.000000000Z"}
        with write() as db:
            assert nft_collections.mark_collection_read(db, late) is None
    assert collection(client)["name"] == f"Sandbox {TOKEN}"


def test_collections_that_wait_the_longest_are_read_first(app, client, mirror):
    for number, token in enumerate(("0.0.7003", "0.0.7001", "0.0.7002")):
        add(client, token, 1)
        hurry(app, token, since=f"202{number}")
    with app.app_context():
        mirror.asked.clear()
        maintenance.refresh_collections()
    assert mirror.asked == ["/tokens/0.0.7003", "/tokens/0.0.7001", "/tokens/0.0.7002"]


# However its first NFT comes


def test_an_import_stores_it(app, client, ledger, mirror):
    for serial_no in (1, 2, 3):
        ledger.mint((TOKEN, serial_no), ALICE, 1_700_000_000 * times.SECOND)
    with app.app_context():
        list(
            collection_import.import_collection(
                nfts.require_collection(TOKEN), collection_import.Tally()
            )
        )
    assert collection(client)["totalSupply"] == 3
    assert mirror.count(TOKENS) == 1


def test_the_watcher_stores_it_with_what_it_finds_listed(app, client, ledger, lister):
    lister((TOKEN, 7))  # whoever has listed something is asked about
    token = "0.0.7005"
    ledger.mint((token, 1), ALICE, 1_700_000_000 * times.SECOND)
    memo = f"Listing NFT with {token} and Serial Number 1 for 12 HBAR on Elsewhere"
    ledger.approve((token, 1), ALICE, "0.0.9001", memo)
    follow(app)
    shown = collection(client, token)
    assert (shown["name"], shown["listed"], shown["floorPrice"]) == (f"Sandbox {token}", 1, 12)


@both_engines
def test_two_first_adds_at_once_make_one_record(app, client, nft):
    with app.app_context():
        row = dict(nft_collections.get_collection(read(), TOKEN))
        later = row | {"name": "Later", "read_at": times.to_iso(times.now())}
        with write() as db:
            collection_facts.store(db, TOKEN, later)
            collection_facts.store(db, TOKEN, row)
    assert collection(client)["name"] == "Later"
