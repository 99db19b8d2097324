"""Every field of every endpoint, wrong in every way: a 4xx in the one shape that names the field."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from marketplace.ids import MAX_HBAR
from tests.conftest import ALICE, TOKEN, assert_error

pytestmark = pytest.mark.once("it is refused before a statement is asked")


@pytest.fixture(scope="module")
def client(idle_client):
    return idle_client


GOOD = {"accountId": ALICE, "tokenId": TOKEN, "serialNo": 7, "listingPrice": 250}
BODIES = {
    "/v1/add": ("accountId", "tokenId", "serialNo"),
    "/v1/list/extwallet": ("accountId", "tokenId", "serialNo", "listingPrice"),
    "/v1/comingsoon": ("accountId", "tokenId", "serialNo"),
    "/sandbox/transfers": ("accountId", "tokenId", "serialNo"),
}
FIELDS = [(url, field) for url, fields in BODIES.items() for field in fields]

BAD_IDS = [
    "",
    "0.0",
    "0.0.1.2",
    "0.0.x",
    "0.0.1\n",
    "0.0.01",
    "0.0.١",
    "0.0.1\0",
    "0.0.\ud800",
    f"0.0.{2**63}",
    "0.0." + "9" * 4000,
    "0.0.1-vfmkw",
    "0x" + "0" * 40,
    5,
    True,
    ["0.0.1"],
]
BAD_NUMBERS = [0, -1, 2**63, 10**400, 1.5, 7.0, "7", "", True, False, [], {}, [7], "٧"]


PRICE = ("/v1/buy/extwallet", "expectedPrice")  # which may be absent


def values(field):
    if field.endswith("Id"):
        return BAD_IDS
    return [*BAD_NUMBERS, MAX_HBAR + 1] if field.endswith("Price") else BAD_NUMBERS


@pytest.mark.parametrize(("url", "field"), FIELDS)
def test_a_field_that_is_absent(client, url, field):
    body = {name: GOOD[name] for name in BODIES[url] if name != field}
    assert_error(client.post(url, json=body), 422, f"{field} is required")


@pytest.mark.parametrize(("url", "field"), [*FIELDS, PRICE])
def test_a_field_that_is_null(client, url, field):
    assert_error(client.post(url, json=GOOD | {field: None}), 422, f"{field} must not be null")


@pytest.mark.parametrize(("url", "field"), [*FIELDS, PRICE])
def test_a_field_that_is_wrong(client, url, field):
    for value in values(field):
        body = assert_error(client.post(url, json=GOOD | {field: value}), 422, f"{field} must be")
        assert field in body["errors"]["json"]


@pytest.mark.parametrize(
    "segment", ["0.0", "x", "0.0.01", "0.0.1%0A", "0.0.1%00", "%FF", f"0.0.{2**63}", "0.0.%D9%A1"]
)
def test_an_id_in_a_path_that_is_wrong(client, segment):
    assert_error(client.get(f"/v1/nft/{segment}/7"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/nftslisted/{segment}"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/collection/{segment}"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/user/{segment}/listed"), 422, "accountId must be")


@pytest.mark.parametrize(
    "segment", ["0", "-1", "x", "7.0", "07", "7%0A", "%D9%A7", str(2**63), "9" * 3000]
)
def test_a_serial_number_in_a_path_that_is_wrong(client, segment):
    assert_error(client.get(f"/v1/nft/{TOKEN}/{segment}"), 422, "serialNo must be")


anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(categories=None))
    | st.sampled_from(BAD_IDS),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3)
    ),
    max_leaves=5,
)


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    url=st.sampled_from([*BODIES, "/sandbox/transactions", "/sandbox/sign"]),
    body=anything
    | st.fixed_dictionaries({}, optional={name: anything for name in [*GOOD, "transaction"]}),
)
def test_no_body_at_all_causes_more_than_a_refusal(client, url, body):
    r = client.post(url, data=json.dumps(body), content_type="application/json")
    assert 400 <= r.status_code < 500, (url, body, r.text)
    assert_error(r, r.status_code)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(content=st.binary(max_size=300))
def test_no_bytes_at_all_cause_more_than_a_refusal(client, content):
    r = client.post("/v1/add", data=content, content_type="application/json")
    assert_error(r, r.status_code)
    assert r.status_code in (400, 422)
