from tests.conftest import BOB, TOKEN


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
    assert r.json[0] == client.get(f"/v1/nft/{TOKEN}/3").json


def test_it_leaves_out_what_is_not_listed(client, nft):
    assert get(client).json == []
    assert get(client, "0.0.999999").json == []
