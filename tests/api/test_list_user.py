import pytest

from marketplace import create_app
from tests.conftest import (
    ALICE,
    BOB,
    TOKEN,
    assert_error,
    authorized_client,
    list_nft,
    settings,
)


def get(client, account_id=ALICE, **query):
    return client.get(f"/v1/user/{account_id}/listed", query_string=query)


def test_it_works(client, lister):
    lister((TOKEN, 1))
    lister((TOKEN, 2))
    lister((TOKEN, 3), account_id=BOB)

    r = get(client)
    assert r.status_code == 200
    assert [nft["serialNo"] for nft in r.json] == [2, 1]
    assert all(nft["owner"] == {"accountId": ALICE} for nft in r.json)
    assert get(client, "0.0.999999").json == []


def test_it_shows_ten_by_default(client):
    for serial_no in range(1, 12):
        list_nft(client, serialNo=serial_no)

    r = get(client)
    assert [nft["serialNo"] for nft in r.json] == list(range(11, 1, -1))
    url = r.headers["Link"].removeprefix("<").removesuffix('>; rel="next"')
    assert url.startswith(f"/v1/user/{ALICE}/listed?limit=10&page=")
    assert [nft["serialNo"] for nft in client.get(url).json] == [1]
    assert len(get(client, limit=11).json) == 11
    assert len(get(client, limit=3).json) == 3


@pytest.mark.once("refused before a statement is asked")
@pytest.mark.parametrize(("setting", "most"), [({}, 1000), ({"USER_LIMIT_MAX": 50}, 50)])
def test_its_maximum_is_a_setting(tmp_path, setting, most):
    client = authorized_client(create_app(**setting, **settings(tmp_path)), "read")
    assert get(client, limit=most).status_code == 200
    words = f"limit must be a whole number from 1 to {most}"
    assert_error(get(client, limit=most + 1), 422, words)
