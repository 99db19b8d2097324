"""Parameters and fields that we do not know: what is nearly ours is refused, others are ignored."""

import pytest

from harness.cast import BOB, KEYS
from tests.answers import assert_error


@pytest.mark.parametrize(
    ("name", "meant"),
    [("tokenid", "tokenId"), ("token_id", "tokenId"), ("sorted", "sort"), ("MINPRICE", "minPrice")],
)
def test_a_misspelt_parameter_is_refused_with_the_one_that_was_meant(client, name, meant):
    message = f"{name} is no parameter here: did you mean {meant}?"
    assert_error(client.get(f"/v1/orderbook?{name}=x"), 422, message)


def test_unknown_parameters_are_ignored(client):
    assert client.get("/v1/orderbook?utm_source=x&_=1").status_code == 200


def test_a_field_that_is_nearly_ours_is_refused_before_anything_is_signed(client, listed):
    body = KEYS | {"accountId": BOB, "expectedprice": 1}
    r = client.post("/v1/buy/extwallet", json=body)
    assert_error(r, 422, "expectedprice is no field here: did you mean expectedPrice?")
    for ignored in ({"expectedPrice": 250}, {"token": "x", "expectedPrice": 250}):
        r = client.post("/v1/buy/extwallet", json=body | ignored)
        assert r.status_code == 200, r.json
