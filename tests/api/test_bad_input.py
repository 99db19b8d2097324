"""Every field of every endpoint, wrong in every way: a 4xx in the one shape that names the field."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cast import KEYS, TOKEN
from marketplace.hedera.ids import MAX_HBAR
from tests.answers import assert_error


@pytest.fixture(scope="module")
def client(idle_client):
    return idle_client


GOOD = KEYS | {"listingPrice": 250}
BODIES = {
    "/v1/add": ("accountId", "tokenId", "serialNo"),
    "/v1/list/extwallet": ("accountId", "tokenId", "serialNo", "listingPrice"),
    "/v1/delist/extwallet": ("accountId", "tokenId", "serialNo"),
    "/v1/buy/extwallet": ("accountId", "tokenId", "serialNo"),
    "/v1/comingsoon": ("accountId", "tokenId", "serialNo"),
    "/sandbox/transfers": ("accountId", "tokenId", "serialNo"),
    "/sandbox/rewards": ("accountId",),
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
    *("0x" + "0" * 39, "0" * 40, "0x" + "0" * 40 + "\n", "0X" + "0" * 40, "0x" + "g" * 40),
    5,
    True,
    ["0.0.1"],
]
EVM = "0x" + "0" * 40  # an address stands for an account in a body alone
BAD_NUMBERS = [0, -1, 2**63, 10**400, 1.5, 7.0, "7", "", True, False, [], {}, [7], "٧"]


BAD_TRANSACTION_IDS = [
    *("", "0.0.1001", "0.0.1001@5", "0.0.1001@5.1\n", "0.0.1001@-5.1", "0.0.x@1.2", 5, "٠.0.1@1.2"),
    *("0.0.1@5.1\0", "\ud800"),
]
# Which may be absent.
PRICE, TRANSACTION_ID = ("/v1/buy/extwallet", "expectedPrice"), ("/v1/comingsoon", "transactionId")


def values(field):
    if field == "transactionId":
        return BAD_TRANSACTION_IDS
    if field == "tokenId":
        return [*BAD_IDS, EVM]
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


@pytest.mark.parametrize(("url", "field"), [*FIELDS, PRICE, TRANSACTION_ID])
def test_a_field_that_is_wrong(client, url, field):
    for value in values(field):
        body = assert_error(client.post(url, json=GOOD | {field: value}), 422, f"{field} must be")
        assert field in body["errors"]["json"]


@pytest.mark.parametrize(
    "segment",
    [*("0.0", "x", "0.0.01", "0.0.1%0A", "0.0.1%00", "%FF", f"0.0.{2**63}", "0.0.%D9%A1"), EVM],
)
def test_an_id_in_a_path_that_is_wrong(client, segment):
    assert_error(client.get(f"/v1/nft/{segment}/7"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/nftslisted/{segment}"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/collection/{segment}"), 422, "tokenId must be")
    assert_error(client.get(f"/v1/user/{segment}/listed"), 422, "accountId must be")
    assert client.get(f"/v1/events?accountId={segment}").status_code in (400, 422)


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


@given(
    url=st.sampled_from([*BODIES, "/sandbox/transactions", "/sandbox/sign"]),
    body=anything
    | st.fixed_dictionaries({}, optional={name: anything for name in [*GOOD, "transaction"]}),
)
def test_random_json_bodies_are_refused(client, url, body):
    r = client.post(url, data=json.dumps(body), content_type="application/json")
    assert 400 <= r.status_code < 500, (url, body, r.text)
    assert_error(r, r.status_code)


@given(content=st.binary(max_size=300))
def test_random_bytes_are_refused(client, content):
    r = client.post("/v1/add", data=content, content_type="application/json")
    assert_error(r, r.status_code)
    assert r.status_code in (400, 422)


# What is no request at all


@pytest.mark.parametrize(
    "path", ["/v1/nowhere", "/v2/orderbook", "/favicon.ico", "/v1", "/v1/nft/0.0.1"]
)
def test_an_unknown_route(client, path):
    assert_error(client.get(path), 404, f'There is nothing at "{path}"')


def test_a_method_that_is_not_allowed(client):
    r = client.delete("/v1/orderbook")
    assert_error(r, 405, "DELETE is not allowed here", "GET")
    assert "GET" in r.headers["Allow"]


@pytest.mark.parametrize(
    "body", ["", "{", "{'a': 1}", '{"a": NaN}', "[" * 20_000, b'{"a": "\xff"}']
)
def test_a_body_that_is_not_json(client, body):
    r = client.post("/v1/add", data=body, content_type="application/json")
    assert_error(r, 400, "The body is not JSON")


def test_a_number_longer_than_python_reads(client):
    r = client.post("/v1/add", data="9" * 5000, content_type="application/json")
    assert_error(r, 422, "body must be a JSON object")
    body = json.dumps(KEYS).replace("7", "9" * 5000)
    r = client.post("/v1/add", data=body, content_type="application/json")
    assert_error(r, 422, 'serialNo must be a whole number from 1 to 9223372036854775807, not "999')


@pytest.mark.parametrize("body", ["null", "[]", "7", '"text"', "true", "[{}]"])
def test_a_body_that_is_not_an_object(client, body):
    r = client.post("/v1/add", data=body, content_type="application/json")
    assert_error(r, 422, "body must be a JSON object")


@pytest.mark.parametrize(
    "content_type", [None, "", "text/plain", "application/x-www-form-urlencoded"]
)
def test_a_wrong_content_type(client, content_type):
    r = client.post("/v1/add", data='{"accountId": "0.0.1"}', content_type=content_type)
    assert_error(r, 415, "Content-Type must be application/json")


def test_a_body_that_is_too_large(client):
    r = client.post("/v1/add", data=b" " * 10_000_000, content_type="application/json")
    assert_error(r, 413, "larger than 65536 bytes")


def test_a_chunked_body_that_is_too_large(client):
    body = json.dumps(KEYS) + " " * 80_000 + "GARBAGE"
    r = client.post(
        "/v1/add",
        input_stream=io.BytesIO(body.encode()),
        content_type="application/json",
        headers={"Transfer-Encoding": "chunked"},
        environ_overrides={"wsgi.input_terminated": True},
    )
    assert_error(r, 413, "larger than 65536 bytes")


def test_several_wrong_fields_are_all_named(client):
    body = assert_error(client.post("/v1/add", json={"serialNo": "7", "tokenId": None}), 422)
    assert body["message"] == (
        "accountId is required; tokenId must not be null;"
        ' serialNo must be a whole number from 1 to 9223372036854775807, not "7"'
    )
    assert body["errors"]["json"].keys() == {"accountId", "tokenId", "serialNo"}
