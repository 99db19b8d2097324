"""Traits: rows that follow from attributes; filters, counts and ranks against a plain model."""

import itertools
import json
import random
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from math import isclose, log2

import pytest

from harness.cast import ALICE, KEYS, TOKEN
from marketplace.api.paging import MAX_URL_LENGTH
from marketplace.hedera import times
from marketplace.market import reconciler
from marketplace.services import read, services, write
from marketplace.store import nfts, traits
from marketplace.watcher.maintenance import Ranker
from marketplace.watcher.sweep import sync
from tests.actions import rank
from tests.answers import assert_error
from tests.api.pages import all_rows, next_url
from tests.engines import both_engines
from tests.examples import SEEDS

TYPES = {"Eyes": ("Red", "Blue", "Grün"), "Hat": ("None", "Cap:Red", "%"), "T" * 100: ("v" * 200,)}
LONG = [{"trait_type": "T" * 101, "value": "x"}, {"trait_type": "x", "value": "v" * 201}]
NFT = {
    "serial_no": 1, "name": "x", "file_type": "x", "image": None, "original_image_url": None, "owner": ALICE,
    "attributes": '[{"trait_type": "Sky", "value": "Dusk"}]', "ledger_at": "2026-01-01T00:00:00.000000000Z",
    "ledger_state": "decided",
    "metadata": None, "missing": None, "attempts": 1, "retry_at": None,
}  # fmt: skip
COLLECTION = "INSERT INTO collection (token, retry_at) VALUES (:token, '9999')"


def add(client, *serials):
    for serial_no in serials:
        assert client.post("/v1/add", json=KEYS | {"serialNo": serial_no}).status_code == 200


def enrich(app, serial_no, pairs, hostile=(), unranked=()):
    """Store metadata as the watcher does."""
    attributes = [{"trait_type": kind, "value": value} for kind, value in pairs] + [*hostile]
    with app.app_context(), write() as db:
        stored = nfts.get_nft(db, TOKEN, serial_no)
        record = {**stored, "attributes": json.dumps(attributes) if attributes else None}
        record["unranked"] = json.dumps(unranked) if unranked else None
        nft = nfts.mark_enriched(db, record | {"attempts": stored["attempts"] + 1}, stored)
        traits.replace_traits(db, stored, nft)


def reconcile(app, serial_no, price=0, is_burned=False):
    """Store what the ledger shows, as the reconciler does."""
    listed_at = times.to_iso(times.now())
    with app.app_context(), write() as db:
        stored = nfts.get_nft(db, TOKEN, serial_no)
        state = {
            "token": TOKEN, "serial_no": serial_no, "is_for_sale": int(price > 0), "listing_price": price,
            "owner": ALICE, "last_listed_at": listed_at if price else None,
            "ledger_at": listed_at, "ledger_state": "gone" if is_burned else "decided",
        }  # fmt: skip
        nft = nfts.mark_reconciled(db, state, stored)
        reconciler.note_listed(db, TOKEN, nft["is_for_sale"] - stored["is_for_sale"])
        if is_burned:
            traits.replace_traits(db, nft, nft)


def rows(app):
    with app.app_context():
        return {
            (r["type"], r["value"], r["serial_no"])
            for r in traits.list_traits(read(), TOKEN, 10**6)
        }


def ranks_of(model):
    """By the formula, as it is written: a trait that an NFT lacks counts as a value of its own."""
    held = {serial_no: each["traits"] for serial_no, each in model.items() if each["traits"]}
    kinds, total = {kind for pairs in held.values() for kind, _ in pairs}, len(held)
    counts = Counter(pair for pairs in held.values() for pair in pairs)
    having = Counter(kind for pairs in held.values() for kind in {kind for kind, _ in pairs})
    weights = {
        serial_no: sum(-log2(counts[pair] / total) for pair in pairs)
        + sum(-log2(1 - having[kind] / total) for kind in kinds - {kind for kind, _ in pairs})
        for serial_no, pairs in held.items()
    }
    return {
        mine: 1 + sum(other > weight and not isclose(other, weight) for other in weights.values())
        for mine, weight in weights.items()
    }


@both_engines
@pytest.mark.parametrize("seed", SEEDS)
def test_traits_and_ranks_agree_with_a_model(app, client, seed):
    rng, model = random.Random(seed), {}
    for serial_no in range(1, 21):
        add(client, serial_no)
        model[serial_no] = {"traits": set(), "price": 0, "order": 0, "burned": False}
    for step in range(1, 151):
        serial_no = rng.randrange(1, 21)
        nft, act = model[serial_no], rng.choice("eeellwb" if step > 100 else "eeell")
        if act == "e":
            pairs = {
                (kind, rng.choice(TYPES[kind])) for kind in TYPES for _ in range(rng.randrange(3))
            }
            enrich(app, serial_no, pairs, hostile=LONG if rng.random() < 0.3 else ())
            nft["traits"] = set() if nft["burned"] else pairs
        elif not nft["burned"]:
            price = rng.randrange(1, 5) if act == "l" else 0
            reconcile(app, serial_no, price, is_burned=act == "b")
            nft |= {"price": price, "order": step}
            if act == "b":
                nft |= {"burned": True, "traits": set()}
    expected = {(*pair, serial_no) for serial_no, nft in model.items() for pair in nft["traits"]}
    assert rows(app) == expected
    rank(app)
    check_counts(client, model)
    check_filters(client, model, rng)
    ranks = ranks_of(model)
    for serial_no in model:
        shown = client.get(f"/v1/nft/{TOKEN}/{serial_no}/traits").json
        assert (shown["rank"], shown["ranked"]) == (ranks.get(serial_no), len(ranks))
        assert [shown["rank"]] == ranks_shown(client, serial_no)
        assert {(t["trait_type"], t["value"]) for t in shown["traits"]} == model[serial_no][
            "traits"
        ]
        assert all(t["share"] == t["count"] / len(ranks) for t in shown["traits"])


def check_counts(client, model):
    expected = defaultdict(dict)
    for kind, value in {pair for nft in model.values() for pair in nft["traits"]}:
        having = [nft for nft in model.values() if (kind, value) in nft["traits"]]
        prices = [nft["price"] for nft in having if nft["price"]]
        expected[kind][value] = {
            "value": value, "count": len(having), "listed": len(prices),
            "floorPrice": min(prices, default=None),
        }  # fmt: skip
    shown = client.get(f"/v1/collection/{TOKEN}/traits").json
    assert [each["trait_type"] for each in shown] == sorted(expected)
    for each in shown:
        values = sorted(
            expected[each["trait_type"]].values(), key=lambda v: (-v["count"], v["value"])
        )
        assert each["values"] == values


def check_filters(client, model, rng):
    pairs = [(kind, value) for kind in TYPES for value in (*TYPES[kind], "Nothing")]
    for number in range(12):
        asked = rng.sample(pairs, rng.randrange(1, 5))
        wanted = defaultdict(set)
        for kind, value in asked:
            wanted[kind].add((kind, value))
        low = rng.choice((0, 2))
        found = {
            serial_no: nft for serial_no, nft in model.items()
            if nft["price"] > 0 and nft["price"] >= low
            and all(nft["traits"] & some for some in wanted.values())
        }  # fmt: skip
        sort = ("lastListedDate", "price", "-price")[number % 3]
        keys = {
            n: (-nft["order"], nft["price"], -nft["price"])[number % 3] for n, nft in found.items()
        }
        in_order = sorted(found, key=lambda n, keys=keys: (keys[n], n))
        trait = [f"{kind}:{value}" for kind, value in asked]
        query = {"tokenId": TOKEN, "sort": sort, "trait": trait, "minPrice": low, "limit": 3}
        shown = [nft["serialNo"] for nft in all_rows(client, "/v1/orderbook", **query)]
        assert shown == in_order


def ranks(client, *serials):
    rank(client.application)
    return ranks_shown(client, *serials)


def ranks_shown(client, *serials):
    shown = client.get(f"/v1/collection/{TOKEN}/ranks", query_string={"serialNo": serials}).json
    assert [each["serialNo"] for each in shown] == [*serials]
    return [each["rank"] for each in shown]


def test_numbers_weigh_nothing_in_a_rank(app, client):
    add(client, 1, 2, 3, 4)
    for serial_no, eyes in enumerate(("Red", "Red", "Red", "Blue"), 1):
        pairs = [("Eyes", eyes), ("Level", str(serial_no if serial_no < 3 else 3))]
        enrich(app, serial_no, pairs)
    assert ranks(client, 1, 2, 3, 4) == [2, 2, 4, 1]
    for serial_no, eyes in enumerate(("Red", "Red", "Red", "Blue"), 1):
        pairs = [("Eyes", eyes), ("Level", str(serial_no if serial_no < 3 else 3))]
        enrich(app, serial_no, pairs, unranked=["Level"])
    assert ranks(client, 1, 2, 3, 4) == [2, 2, 2, 1]
    shown = client.get(f"/v1/nft/{TOKEN}/3/traits").json["traits"]
    assert [(each["trait_type"], each["count"]) for each in shown] == [("Eyes", 3), ("Level", 2)]


def test_a_rank_compares_without_case_and_outer_blanks(app, client):
    add(client, 1, 2, 3, 4)
    pairs = ("Eyes", "Red"), ("EYES", " red "), ("eyes ", "RED"), ("Eyes", "Blue")
    for serial_no, pair in enumerate(pairs, 1):
        enrich(app, serial_no, [pair])
    assert ranks(client, 1, 2, 3, 4) == [2, 2, 2, 1]
    [eyes] = client.get(f"/v1/nft/{TOKEN}/2/traits").json["traits"]
    assert eyes == {"trait_type": "EYES", "value": " red ", "count": 3, "share": 0.75}


@both_engines
def test_a_trait_whose_type_has_a_colon_is_found(app, client):
    add(client, 1, 2, 3)
    enrich(app, 1, [("Weapon: Main", "Sword")])
    enrich(app, 2, [("Weapon", " Main:Axe"), ("a:b:c", "d:e")])
    enrich(app, 3, [("Weapon: Main", "Axe"), ("Weapon: Main", "Bow")])
    for serial_no in (1, 2, 3):
        reconcile(app, serial_no, price=5)

    def found(*trait):
        query = {"tokenId": TOKEN, "trait": trait}
        return sorted(nft["serialNo"] for nft in all_rows(client, "/v1/orderbook", **query))

    assert found("Weapon: Main:Sword") == [1]
    assert found("Weapon: Main:Axe") == [2]  # the first colon that makes a trait
    assert found("Weapon: Main:Bow", "Weapon: Main:Sword") == [1, 3]
    assert found("a:b:c:d:e") == [2]
    assert found("Weapon: Main:Nothing") == found("a:b:c:d") == []


@both_engines
def test_writers_of_one_collection_agree(app, client):
    """Metadata and burnings at once: what is left follows from what is stored."""
    add(client, *range(1, 9))

    def write_some(seed):
        rng = random.Random(seed)
        for _ in range(15):
            pairs = {(kind, rng.choice(values)) for kind, values in TYPES.items()}
            try:
                enrich(app, rng.randrange(1, 9), pairs)
            except TypeError:  # another writer was first: nothing was written
                continue

    with ThreadPoolExecutor(4) as pool:
        [*pool.map(write_some, range(4))]
    with app.app_context():
        stored = [nfts.get_nft(read(), TOKEN, serial_no) for serial_no in range(1, 9)]
    assert rows(app) == {
        (*pair, nft["serial_no"])
        for nft in stored
        for pair in traits.read_traits(nft["attributes"])
    }


def test_the_watcher_writes_traits_and_a_burn_deletes_them(app, client, complete, ledger):
    body = KEYS | {"tokenId": "0.0.5001"}
    assert client.post("/v1/add", json=body).status_code == 200
    complete()
    rank(app)
    shown = client.get("/v1/nft/0.0.5001/7/traits").json
    assert shown["rank"] == 1
    attributes = json.loads(client.get("/v1/nft/0.0.5001/7").json["stringifiedAttributes"])
    assert [
        {name: each[name] for name in ("trait_type", "value")} for each in shown["traits"]
    ] == attributes
    ledger.delete_token("0.0.5001")
    with app.app_context():
        sync()
    rank(app)
    assert client.get("/v1/nft/0.0.5001/7/traits").json == {
        "token": "0.0.5001", "serialNo": 7, "rank": None, "ranked": 0, "traits": [],
    }  # fmt: skip
    assert client.get("/v1/collection/0.0.5001/traits").json == []


def test_a_listing_a_new_price_and_a_withdrawal_are_in_the_counts(client, nft, lister, ledger):
    def offers():
        rank(client.application)
        shown = client.get(f"/v1/collection/{TOKEN}/traits").json
        return {(v["listed"], v["floorPrice"]) for each in shown for v in each["values"]}

    assert offers() == {(0, None)}
    for price in (250, 240):
        lister(nft, price, add=False)
        assert offers() == {(1, price)}
    prepared = client.post("/v1/delist/extwallet", json=KEYS)
    ledger.sign_and_submit(prepared.json["byteArray"])
    assert client.post("/v1/comingsoon", json=KEYS).json["result"] == "OK"
    assert offers() == {(0, None)}


def test_the_traits_of_many_collections_in_turn_are_read_once(app, client):
    tokens = [f"0.0.{7100 + number}" for number in range(20)]
    with app.app_context(), write() as db:
        for token in tokens:
            db.execute(COLLECTION, {"token": token})
            stored = nfts.insert_nft(db, NFT | {"token": token})
            traits.replace_traits(db, {**stored, "attributes": None}, stored)
    rank(app)
    statements = []
    services(app).database.connection.set_trace_callback(statements.append)
    for turn in range(3):
        for token in tokens:
            for path in (f"/v1/collection/{token}/traits", f"/v1/nft/{token}/1/traits"):
                assert client.get(f"{path}?x={turn}").status_code == 200
    assert len([sql for sql in statements if "* FROM ranking" in sql]) == 2 * len(tokens)
    assert not [sql for sql in statements if "FROM nft_trait" in sql]


@both_engines
def test_a_read_counts_no_traits_and_the_watcher_counts_a_slow_collection_less_often(app, client):
    add(client, 1, 2)
    ranker = Ranker()
    with app.app_context():
        enrich(app, 1, [("Eyes", "Red")])
        ranker.step()
        assert client.get(f"/v1/nft/{TOKEN}/1/traits").json["ranked"] == 1
        enrich(app, 2, [("Eyes", "Blue")])
        assert client.get(f"/v1/nft/{TOKEN}/2/traits").json["rank"] is None
        ranker.delay(TOKEN, 60)  # as if it had taken two seconds
        ranker.step()
        assert client.get(f"/v1/nft/{TOKEN}/1/traits").json["ranked"] == 1
        ranker.delay(TOKEN, 0)
        ranker.step()
        assert client.get(f"/v1/nft/{TOKEN}/2/traits").json["rank"] == 1


def test_hostile_metadata_is_bounded():
    many = json.dumps([{"trait_type": f"t{n}", "value": "x"} for n in range(200)])
    assert len(traits.read_traits(many)) == traits.MAX_TRAITS
    assert traits.read_traits(json.dumps(LONG)) == traits.read_traits(None) == []


def test_it_rejects(client, nft):
    def ask(*trait, **query):
        return client.get("/v1/orderbook", query_string={"tokenId": TOKEN, "trait": trait} | query)

    for wrong in ("", "Eyes", ":Red", "Eyes:", f"{'T' * 101}:x", f"x:{'v' * 201}", "a:\0"):
        assert_error(ask(wrong), 422, "trait must be a trait's name, a colon and its value")
    assert_error(ask("a:b", tokenId=None), 422, "trait works only with tokenId")
    assert_error(ask(*(f"a:{n}" for n in range(21))), 422, "trait can be given at most 20 times")
    assert_error(client.get("/v1/collection/0.0.7999/traits"), 404, "No NFT of 0.0.7999 is stored")
    assert_error(client.get("/v1/nft/0.0.7999/1/traits"), 404, "NFT_NOT_STORED")
    ranks_of_none = client.get("/v1/collection/0.0.7999/ranks?serialNo=1")
    assert_error(ranks_of_none, 404, "No NFT of 0.0.7999 is stored")
    for query in ("", "serialNo=0", "serialNo=1&serialNo=x", "serialNo=1&" * 101):
        asked = client.get(f"/v1/collection/{TOKEN}/ranks?{query}")
        assert_error(asked, 422, "serialNo ")


COMPOSED, DECOMPOSED = ("Größe", "Grün"), ("Gro\u0308ße", "Gru\u0308n")  # equal, as Unicode says


@both_engines
def test_two_forms_of_the_same_letters_are_one_trait(app, client):
    add(client, 1, 2, 3)
    enrich(app, 1, [COMPOSED])
    enrich(app, 2, [DECOMPOSED], unranked=[DECOMPOSED[0]])
    enrich(app, 3, [COMPOSED, DECOMPOSED])
    rank(app)
    [shown] = client.get(f"/v1/collection/{TOKEN}/traits").json
    assert (shown["trait_type"], shown["values"][0]["value"]) == COMPOSED
    assert [value["count"] for value in shown["values"]] == [3]
    [trait] = client.get(f"/v1/nft/{TOKEN}/3/traits").json["traits"]
    assert (trait["trait_type"], trait["value"], trait["count"]) == (*COMPOSED, 3)
    for serial_no in (1, 2, 3):
        reconcile(app, serial_no, price=5)
    for pair in (COMPOSED, DECOMPOSED):
        query = {"tokenId": TOKEN, "trait": ":".join(pair)}
        assert len(client.get("/v1/orderbook", query_string=query).json) == 3
    enrich(app, 3, [DECOMPOSED])
    enrich(app, 3, [])
    assert rows(app) == {(*COMPOSED, 1), (*COMPOSED, 2)}


def write_filters(filler, length):
    """A query that selects an NFT with the trait Sky:Dusk, or with others that fill it up."""
    parts = []
    while length > 0:
        parts.append(f"&trait=Sky:{(filler * 60)[: min(length, 60)]}")
        length -= len(parts[-1])
    return f"limit=1&tokenId={TOKEN}&trait=Sky:Dusk{''.join(parts)}"


@both_engines
@pytest.mark.parametrize("filler", [":/", "|'", "%C3%A9"])
def test_the_link_of_every_query_that_is_taken_is_taken(app, client, filler):
    """Escaped to three times its length, it was refused by gunicorn; and nginx refused its header."""
    for serial_no in (1, 2):
        add(client, serial_no)
        enrich(app, serial_no, {("Sky", "Dusk")})
        reconcile(app, serial_no, price=5)
    taken = []
    for length in range(0, 1000, 60):
        r = client.get(f"/v1/orderbook?{write_filters(filler, length)}")
        if r.status_code == 414:
            break
        assert len(next_url(r)) <= MAX_URL_LENGTH
        assert client.get(next_url(r)).status_code == 200
        taken.append(length)
    assert len(taken) > 5


def test_a_query_whose_link_would_be_too_long_is_refused_however_little_it_selects(client):
    for path in ("/v1/orderbook", "/v1/collections", "/v1/events", f"/v1/nfts/{ALICE}"):
        assert client.get(f"{path}?x={'y' * 3900}").status_code != 414  # it is left out of the link
    r = client.get(f"/v1/orderbook?{write_filters('|', 1100)}")
    assert_error(r, 414, "REQUEST_URI_TOO_LONG", "The URL is longer than ")
    r = client.get(f"/v1/nfts?{'&'.join(['id=0.0.1234567:1'] * 90)}")  # it has no pages
    assert r.status_code == 200


@both_engines
def test_counts_under_filters_are_those_of_the_order_book(app, client):
    rng, kinds = random.Random(69), {"Eyes": ("Red", "Blue"), "Hat:": ("None", "Cap:Red")}
    add(client, *range(1, 13))
    for serial_no in range(1, 13):
        enrich(app, serial_no, [(kind, rng.choice(values)) for kind, values in kinds.items()])
        reconcile(app, serial_no, rng.choice((0, 5, 20, 60)))
    rank(app)
    filters = ({}, {"minPrice": 10}, {"maxPrice": 30})
    for prices, eyes, hat in itertools.product(filters, ("Red", None), ("Cap:Red", None)):
        chosen = {"Eyes": eyes, "Hat:": hat}
        terms = {kind: f"{kind}:{value}" for kind, value in chosen.items() if value}
        asked = prices | {"trait": [*terms.values()]}
        shown = client.get(f"/v1/collection/{TOKEN}/traits", query_string=asked).json
        for trait in shown:
            kind = trait["trait_type"]
            others = [term for of, term in terms.items() if of != kind]
            for value in trait["values"]:
                with_it = [*others, f"{kind}:{value['value']}"]
                book = all_rows(client, "/v1/orderbook", tokenId=TOKEN, **prices, trait=with_it)
                found = [nft["listingPrice"] for nft in book]
                expected = len(found), min(found, default=None)
                assert (value["listed"], value["floorPrice"]) == expected, (asked, value)


def test_filters_of_traits_are_refused_as_those_of_the_order_book(client):
    add(client, 1)
    for query in ("minPrice=x", "minPrice=7&maxPrice=6", "trait=x"):
        refused = client.get(f"/v1/collection/{TOKEN}/traits?{query}")
        book = client.get(f"/v1/orderbook?tokenId={TOKEN}&{query}")
        assert_error(refused, 422)
        assert refused.json == book.json
