import pytest

from tests.conftest import TOKEN, assert_error


def get(client, **query):
    return client.get("/v1/orderbook", query_string=query)


def serials(r):
    assert r.status_code == 200, r.text
    return [nft["serialNo"] for nft in r.json]


def test_it_works(client, lister):
    lister((TOKEN, 1))
    lister((TOKEN, 2))

    r = get(client)
    assert serials(r) == [2, 1]
    assert r.json[0] == client.get(f"/v1/nft/{TOKEN}/2").json
    assert "Link" not in r.headers


def test_it_is_empty_at_first(client):
    assert get(client).json == []


def test_it_ignores_other_query_parameters(client):
    assert get(client, colour="red", utm_source="price").status_code == 200


@pytest.mark.once("refused before a statement is asked")
@pytest.mark.parametrize("limit", [21, 0, -1, "x", "", "1.0", "٣", "+5", " 5", "05", 2**63])
def test_it_rejects_a_bad_limit(idle_client, limit):
    body = assert_error(
        get(idle_client, limit=limit), 422, "limit must be a whole number from 1 to 20"
    )
    assert body["errors"].keys() == {"query"}


@pytest.mark.once("refused before a statement is asked")
@pytest.mark.parametrize("offset", [-1, "x", "1e3", 2**63, "9" * 5000, "\0", "1\n"])
def test_it_rejects_a_bad_offset(idle_client, offset):
    assert_error(get(idle_client, offset=offset), 422, "offset must be a whole number from 0")
