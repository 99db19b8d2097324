"""Parameters that we do not know: what is nearly ours is refused, others are ignored, unless Prefer says."""

import pytest

from tests.conftest import assert_error

pytestmark = pytest.mark.once("no statement is asked")


@pytest.mark.parametrize(
    ("name", "meant"),
    [("tokenid", "tokenId"), ("token_id", "tokenId"), ("sorted", "sort"), ("MINPRICE", "minPrice")],
)
def test_it_says_which_was_meant(client, name, meant):
    message = f"{name} is no parameter here: did you mean {meant}?"
    for handling in ("strict", "respond-async"):
        r = client.get(f"/v1/orderbook?{name}=x", headers={"Prefer": f"handling={handling}"})
        assert_error(r, 422, message)
    lenient = {"Prefer": "handling=lenient"}
    assert client.get(f"/v1/orderbook?{name}=x", headers=lenient).status_code == 200
    assert_error(client.get(f"/v1/orderbook?{name}=x"), 422, message)  # nothing kept is answered


def test_others_are_ignored_unless_it_is_to_be_strict(client):
    assert client.get("/v1/orderbook?utm_source=x&_=1").status_code == 200
    r = client.get("/v1/orderbook?utm_source=x&_=1", headers={"Prefer": "handling=strict"})
    assert_error(r, 422, "is no parameter here")
