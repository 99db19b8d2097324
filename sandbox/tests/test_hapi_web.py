"""gRPC-web on the port of REST: as the JavaScript SDK speaks it in a browser, and as nobody should."""

import io
from base64 import b64decode, b64encode

import pytest

from hiero_sandbox.hapi.services import MAX_REQUEST_BYTES
from sandbox.tests import hapi
from sandbox.tests.bodies import approval, sign
from sandbox.tests.hapi import APPROVE, RECEIPTS
from sandbox.tests.people import ALICE

CONTENT_TYPE = "application/grpc-web+proto"
OK = b"\x80\0\0\0\x0fgrpc-status:0\r\n"


def framed(content, kind=0):
    return bytes((kind,)) + len(content).to_bytes(4) + content


@pytest.fixture
def post(app):
    client = app.test_client()

    def post(path, body, **options):
        headers = {"Origin": "https://dapp.example", "Content-Type": CONTENT_TYPE}
        return client.post(path, data=body, headers=headers | options.pop("headers", {}), **options)

    return post


def assert_readable(response):
    """The parts of an answer that a page of another origin may read, with its status."""
    assert response.headers["Access-Control-Allow-Origin"] == "*"
    exposed = response.headers["Access-Control-Expose-Headers"]
    assert {"grpc-status", "grpc-message"} <= set(exposed.replace(" ", "").split(","))


def assert_refused(response, status, *words):
    """In the headers alone: the JavaScript SDK takes both together for an error."""
    assert response.status_code == 200
    assert response.headers["grpc-status"] == str(status), response.headers
    for word in words:
        assert word in response.headers["grpc-message"]
    assert response.data == b""
    assert_readable(response)


def test_a_transaction_and_its_receipt(app, nft, post):
    body = approval(ALICE)
    r = post(APPROVE, framed(sign(body, ALICE)))
    assert_readable(r)
    assert r.content_type == CONTENT_TYPE
    assert "grpc-status" not in r.headers
    assert r.data[:5] == bytes(5)  # an answer without fields: OK is zero
    assert r.data[5:] == OK

    asked = hapi.query("transactionGetReceipt", transactionID=body.transactionID)
    r = post(RECEIPTS, framed(asked))
    length = int.from_bytes(r.data[1:5])
    response, code = hapi.answer(r.data[5 : 5 + length], "transactionGetReceipt")
    assert (code, response.receipt.status) == ("OK", 22)
    assert r.data[5 + length :] == OK


TEXT = "application/grpc-web-text"


@pytest.mark.parametrize("kind", [TEXT, f"{TEXT}+proto"])
def test_react_native_sends_and_reads_text(nft, post, kind):
    body = framed(sign(approval(ALICE), ALICE))
    # Its parts may be encoded one by one.
    content = b"".join(b64encode(part) for part in (body[:5], body[5:]))
    r = post(APPROVE, content, headers={"Content-Type": kind})
    assert_readable(r)
    assert r.content_type == f"{TEXT}+proto"
    assert b64decode(r.data) == bytes(5) + OK
    r = post("/proto.Nobody/nothing", content, headers={"Content-Type": kind})
    assert_refused(r, 12)
    assert r.content_type == f"{TEXT}+proto"


@pytest.mark.parametrize("content", [b"", b"=", b"AAAA!", b"AAA", b64encode(b"abc"), b"\xff"])
def test_text_without_a_grpc_web_frame_is_refused(post, content):
    assert_refused(post(APPROVE, content, headers={"Content-Type": TEXT}), 3)


def test_an_empty_post_tells_that_somebody_is_there(post):
    r = post("/", b"")
    assert r.status_code == 200
    assert "grpc-status" in r.headers
    assert_readable(r)


@pytest.mark.parametrize("path", ["/", APPROVE, "/proto.Nobody/nothing"])
def test_a_preflight(app, path):
    asked = {
        "Origin": "https://dapp.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-grpc-web,x-user-agent",
    }
    r = app.test_client().options(path, headers=asked)
    assert r.status_code == 204
    assert "POST" in r.headers["Access-Control-Allow-Methods"]
    allowed = set(r.headers["Access-Control-Allow-Headers"].replace(" ", "").split(","))
    assert {"content-type", "x-grpc-web", "x-user-agent"} <= allowed
    assert r.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/proto.NobodyService/nothing", "/proto.CryptoService/x\ny%00é"])
def test_an_unknown_service(post, path):
    assert_refused(post(path, framed(b"")), 12, "The sandbox has no method '/proto.")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        framed(b"abc")[:-1],
        framed(b"abc") + b"more",
        framed(b"", kind=0x80),
        b"\0\xff\xff\xff\xff",
    ],
)
def test_what_is_not_one_frame(post, body):
    assert_refused(post(APPROVE, body), 3, "not one frame")


def test_garbage_in_a_frame(post):
    assert_refused(post(RECEIPTS, framed(b"\xff" * 9)), 3, "not the bytes of a query")
    r = post(APPROVE, framed(b"\xff" * 9))
    assert hapi.precheck(r.data[5 : 5 + int.from_bytes(r.data[1:5])]) == "INVALID_TRANSACTION"


@pytest.mark.parametrize("kind", ["application/json", "application/grpc-web-json", "", "x" * 2000])
def test_another_content_type(post, kind):
    r = post(APPROVE, framed(b""), headers={"Content-Type": kind})
    assert_refused(r, 3, "Content-Type", CONTENT_TYPE)


@pytest.mark.parametrize("is_chunked", [True, False])
def test_ten_megabytes_are_not_read(post, is_chunked):
    body = io.BytesIO(framed(bytes(10_000_000)))
    options = {"environ_overrides": {"wsgi.input_terminated": True}} if is_chunked else {}
    assert_refused(post(APPROVE, body, **options), 8, str(MAX_REQUEST_BYTES))


def test_what_is_a_little_too_large_has_the_networks_own_code(nft, post):
    content = sign(approval(ALICE, memo="x" * 6144), ALICE)
    assert 6144 < len(content) < MAX_REQUEST_BYTES
    r = post(APPROVE, framed(content))
    assert hapi.precheck(r.data[5 : 5 + int.from_bytes(r.data[1:5])]) == "TRANSACTION_OVERSIZE"


@pytest.mark.parametrize(
    ("size", "result"), [(130_000, "MEMO_TOO_LONG"), (133_120, "TRANSACTION_OVERSIZE")]
)
def test_governance_sends_larger_transactions(post, size, result):
    content = sign(approval("0.0.50", memo="x" * size), "0.0.50")
    r = post(APPROVE, framed(content))
    assert hapi.precheck(r.data[5 : 5 + int.from_bytes(r.data[1:5])]) == result
