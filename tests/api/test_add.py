from concurrent.futures import ThreadPoolExecutor

from harness.cast import ALICE, BOB, KEYS, TOKEN
from tests.answers import assert_error
from tests.engines import both_engines


def add(client, **fields):
    return client.post("/v1/add", json=KEYS | fields)


def stored(client, serial_no=7):
    return client.get(f"/v1/nft/{TOKEN}/{serial_no}")


def test_it_works(client):
    r = add(client)
    assert r.status_code == 200
    assert r.json == {"result": "OK"}
    assert stored(client).json["owner"] == {"accountId": ALICE}


def test_it_leaves_a_stored_nft_alone(client, nft, lister):
    lister(nft, add=False)
    before = stored(client).json

    assert add(client, accountId=BOB).json == {"result": "OK"}
    assert stored(client).json == before


def test_it_believes_the_ledger_about_the_owner(client, nft, ledger):
    ledger.hand_over((TOKEN, 8), BOB)

    assert add(client, accountId=ALICE, serialNo=8).json == {"result": "OK"}
    assert stored(client, 8).json["owner"] == {"accountId": BOB}


@both_engines
def test_it_makes_one_record_of_adds_at_once(client):
    with ThreadPoolExecutor(4) as pool:
        answers = [*pool.map(lambda _: add(client).json, range(4))]
    assert answers == [{"result": "OK"}] * 4
    assert stored(client).status_code == 200


def test_it_takes_the_largest_identifiers(client):
    largest = 2**63 - 1
    token = f"{largest}.{largest}.{largest}"
    assert add(client, tokenId=token, serialNo=largest).json == {"result": "OK"}
    assert client.get(f"/v1/nft/{token}/{largest}").json["serialNo"] == largest


def test_it_ignores_unknown_keys(client):
    assert add(client, colour="blue", **{"a\0\ud800": "\0"}).status_code == 200


def test_it_stores_nothing_of_a_refused_request(client):
    assert_error(add(client, accountId="nobody"), 422, "accountId must be three integers")
    assert_error(stored(client), 404)
