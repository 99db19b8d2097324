"""A body in chunks that are none, over a real server: it is the client's mistake, and nobody else's."""

import json
import re
import socket

import pytest

from harness.network import PATIENCE_SECONDS, read_all
from harness.serving import serve

MALFORMED = {
    "a size that is none": b"xyz\r\n{}\r\n0\r\n\r\n",
    "an endless size": b"0" * 9000,
    "half a chunk": b'40\r\n{"a": ',
    "a chunk without its CRLF": b"2\r\n{}0\r\n\r\n",
    "no last chunk": b"2\r\n{}\r\n",
    "a trailer that is none": b"2\r\n{}\r\n0\r\nno trailer\r\n\r\n",
}
READ = ["POST /v1/add", "POST /sandbox/sign"]
NOT_READ = {
    "GET /v1/orderbook": 200,
    "POST /status": 405,
    "POST /v1/nothing": 404,
}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """One worker with two threads: one that hung would be missed."""
    with serve(tmp_path_factory.mktemp("chunks"), "--workers", "1", "--threads", "2") as service:
        yield service
        assert service.answers()
    assert "Traceback" not in service.output, service.output


def call(service, request, body):
    """All that comes back on a connection whose client sends this and no more."""
    head = [f"{request} HTTP/1.1", "Host: x", f"Authorization: Bearer {service.token}"]
    head += ["Content-Type: application/json", "Transfer-Encoding: chunked", "", ""]
    with socket.create_connection(("127.0.0.1", service.port), timeout=PATIENCE_SECONDS) as client:
        client.sendall("\r\n".join(head).encode() + body)
        client.shutdown(socket.SHUT_WR)
        received = read_all(client)
    status, *others = map(int, re.findall(rb"HTTP/1.1 ([0-9]+)", received))
    # Past a body that was not read, the server may find no next request, and say so.
    assert others in ([], [400])
    return status, received.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("request_line", READ)
def test_it_is_refused_where_a_body_is_read(service, request_line, body):
    status, answer = call(service, request_line, body)
    assert status == 400
    assert json.loads(answer)["code"] == 400


@pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("request_line", NOT_READ)
def test_it_changes_nothing_where_no_body_is_read(service, request_line, body):
    assert call(service, request_line, body)[0] == NOT_READ[request_line]


def test_a_valid_chunked_body_is_read(service):
    status, answer = call(service, "POST /v1/add", b"1\r\n{\r\n1;a=b\r\n}\r\n0\r\nX: y\r\n\r\n")
    assert status == 422
    assert "accountId is required" in json.loads(answer)["message"]
