from tests.conftest import ALICE, BOB, TOKEN


def get(client, token=TOKEN):
    return client.get(f"/v1/nftslisted/{token}")


def test_it_works(client, lister):
    lister((TOKEN, 20))
    lister((TOKEN, 3), account_id=BOB)
    lister(("0.0.7002", 1))

    r = get(client)
    assert r.status_code == 200
    assert [nft["serialNo"] for nft in r.json] == [3, 20]
    assert {nft["token"] for nft in r.json} == {TOKEN}
    assert all(nft["isForSale"] is True for nft in r.json)


def test_it_leaves_out_what_is_not_listed(client, nft):
    assert get(client).json == []


def test_it_handles_an_unknown_collection(client):
    r = get(client, "0.0.999999")
    assert r.status_code == 200
    assert r.json == []


def test_its_records_are_those_of_the_nft_itself(client, lister):
    lister((TOKEN, 5), account_id=ALICE)
    assert get(client).json == [client.get(f"/v1/nft/{TOKEN}/5").json]
