"""Files inscribed in a topic (HCS-1): joined, decompressed within a size, checked by hash."""

import base64
import hashlib
import json
import random
from urllib.parse import parse_qs

import brotli
import pytest
import zstandard
from werkzeug.wrappers import Response

from marketplace.ledger import Deadline
from marketplace.ledger.http import FetchError
from marketplace.ledger.objects import Message, Part
from marketplace.services import mirror_node
from marketplace.watcher.strangers.inscriptions import join, join_parts
from marketplace.watcher.strangers.resolver import Resolver
from marketplace.watcher.strangers.uri import Gateways

CONTENT = json.dumps({"name": "Inscribed", "type": "image/png"}).encode()


def inscribed(content=CONTENT, algorithm="zstd", chunk=40):
    compress = {"zstd": zstandard.compress, "brotli": brotli.compress}[algorithm]
    uri = "data:application/json;base64," + base64.b64encode(compress(content)).decode()
    chunks = [uri[at : at + chunk] for at in range(0, len(uri), chunk)]
    messages = [json.dumps({"o": order, "c": text}).encode() for order, text in enumerate(chunks)]
    return f"{hashlib.sha256(content).hexdigest()}:{algorithm}:base64", messages


@pytest.mark.parametrize("algorithm", ["zstd", "brotli"])
def test_chunks_are_joined_and_decompressed(algorithm):
    assert join(*inscribed(algorithm=algorithm), 10_000) == CONTENT


def test_the_order_of_messages_does_not_matter():
    memo, messages = inscribed()
    random.Random(5).shuffle(messages)
    assert join(memo, messages, 10_000) == CONTENT


def test_messages_of_others_on_the_topic_are_passed_over():
    memo, messages = inscribed()
    noise = [b"", b"hello", b"[1]", b'{"o": "0", "c": "x"}', b'{"o": 0, "c": "late"}', b"null"]
    assert join(memo, messages + noise, 10_000) == CONTENT


def row(content, number, total, valid_start=1, payer="0.0.5"):
    return Message(content, "0.0.7", Part(payer, valid_start, number, total))


def test_parts_are_joined_by_their_first_transaction_in_any_order():
    rows = [
        row(b"c", 3, 3),
        row(b"x", 1, 2, valid_start=2),
        Message(b"whole"),
        row(b"y", 2, 2, payer="0.0.6"),
        row(b"alone", 1, 1),
        row(b"a", 1, 3),
        row(b"late", 1, 3),
        row(b"none", 4, 3),
        row(b"b", 2, 3),
        row(b"z", 2, 2, valid_start=2),
        row(b"never", 1, 9, valid_start=3),
    ]
    assert [*join_parts(rows)] == [b"whole", b"alone", b"abc", b"xz"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda memo, messages: ("invalid", messages), "not an inscription"),
        (lambda memo, messages: ("0" * 64 + memo[64:], messages), "does not have the hash"),
        (lambda memo, messages: (memo.replace("zstd", "brotli"), messages), "damaged"),
        (lambda memo, messages: (memo, messages[:-1]), "damaged|not complete|hash"),
        (lambda memo, messages: (memo, []), "damaged|hash"),
    ],
)
def test_an_incomplete_inscription_is_refused(change, reason):
    with pytest.raises(FetchError, match=reason):
        join(*change(*inscribed()), 10_000)


@pytest.mark.parametrize("algorithm", ["zstd", "brotli"])
def test_a_bomb_is_stopped(algorithm):
    memo, messages = inscribed(b"\0" * 5_000_000, algorithm, chunk=1000)
    with pytest.raises(FetchError, match="larger than 1000000 bytes"):
        join(memo, messages, 1_000_000)


def test_too_many_messages_are_stopped():
    endless = (json.dumps({"o": n, "c": "x" * 1000}).encode() for n in range(10**9))
    with pytest.raises(FetchError, match="larger than 10000 bytes"):
        join(inscribed()[0], endless, 10_000)


# Of a registry, the newest first
REGISTERED = [
    b"hello",
    b'{"p": "hcs-2", "op": "register", "t_id": "0.0.1"}',
    b'{"p": "hcs-6", "op": "delete", "t_id": "0.0.1"}',
    b'{"p": "hcs-6", "op": "register", "t_id": "0.0.777/../1"}',
    b'{"p": "hcs-6", "op": "register", "t_id": "0.0.777", "m": "the second season"}',
    b'{"p": "hcs-6", "op": "register", "t_id": "0.0.776"}',
]


@pytest.fixture
def fetch(app, mirror):
    """Fetch what a URI leads to, in the topic 0.0.777 of a mirror node whose pages have two messages."""
    memo, messages = inscribed()
    shown = [{"message": base64.b64encode(message).decode()} for message in messages]

    def show_page(environ, start_response):
        query = parse_qs(environ["QUERY_STRING"])
        assert query["order"] == ["asc"]
        first = int(query.get("sequencenumber", ["gt:0"])[0].removeprefix("gt:"))
        following = f"/api/v1/topics/0.0.777/messages?order=asc&sequencenumber=gt:{first + 2}"
        links = {"next": following if len(shown) > first + 2 else None}
        page = {"messages": shown[first : first + 2], "links": links}
        return Response(json.dumps(page))(environ, start_response)

    mirror.answer("/topics/0.0.777$", Response(json.dumps({"topic_id": "0.0.777", "memo": memo})))
    mirror.answer("/topics/0.0.777/messages$", show_page)
    registry = {"topic_id": "0.0.666", "memo": "hcs-6:1:86400"}
    entries = [{"message": base64.b64encode(entry).decode()} for entry in REGISTERED]
    mirror.answer("/topics/0.0.666$", Response(json.dumps(registry)))
    page = Response(json.dumps({"messages": entries, "links": {"next": None}}))
    mirror.answer("/topics/0.0.666/messages$", page)
    entry = Response(json.dumps(entries[-2]))
    mirror.answer("/topics/messages/1713509435.878762003$", entry)
    document = {"message": base64.b64encode(CONTENT).decode()}
    mirror.answer("/topics/messages/1702922262.173894003$", Response(json.dumps(document)))

    def fetch(uri):
        with app.app_context():
            resolver = Resolver(None, mirror_node(), Gateways((), ()))
            return resolver.fetch(uri, Deadline(5), lambda content: content.body)

    return fetch


@pytest.mark.parametrize(
    "uri",
    [
        "hcs://1/0.0.777",
        "1702922262.173894003",
        "hcs://6/0.0.666",
        "0.0.666",
        "1713509435.878762003",
    ],
)
def test_an_inscription_is_read_from_the_mirror_node(fetch, uri):
    assert fetch(uri) == CONTENT


@pytest.mark.parametrize("uri", ["hcs://1/0.0.778", "1702922262.173894004"])
def test_an_unknown_topic_is_refused(fetch, uri):
    with pytest.raises(FetchError, match="does not exist"):
        fetch(uri)
