"""The relay's calls: JSON-RPC over WebSocket, as sign-client and walletkit make them.

Source: https://specs.walletconnect.com/2.0/specs/servers/relay/relay-server-rpc; wc_proposeSession and
wc_approveSession are those of sign-client 2.21.6 and newer.
"""

import asyncio
import hashlib
import json
import logging
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Event
from typing import Any
from urllib.parse import parse_qs, urlsplit

from websockets.asyncio.server import ServerConnection
from websockets.asyncio.server import serve as serve_websockets
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response

from hiero_sandbox.relay.identity import Unauthorized, read_did
from hiero_sandbox.relay.mailbox import Mailbox, Message

CONNECTIONS = 500
FRAME_BYTES = 256 * 1024
TOPICS = 1000  # of a connection
WAITING_BYTES = 2 * 2**20  # of frames that a slow reader has not taken; then it is disconnected
FRAMES_A_SECOND, FRAMES_OF_ALL = 100, 1000  # what is faster waits
PING_SECONDS = 20  # Node.js hangs up after 31 without a ping
TTL_SECONDS = 300
TOPIC = re.compile(r"[0-9a-f]{64}\Z")
PROPOSAL, PROPOSAL_RESPONSE, SETTLEMENT = 1100, 1101, 1102  # tags of messages
PARSE_ERROR, INVALID_REQUEST, NO_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
Values = dict[str, Any]
# The result of a call, and what to deliver after it, to whom.
Done = tuple[Any, list[tuple["Message", "Client"]]]


class Refused(Exception):
    def __init__(self, code: int, why: str) -> None:
        super().__init__(why)
        self.code = code


class Pace:
    """Lets a number of frames pass in a second; further ones wait."""

    def __init__(self, frames: int) -> None:
        self._frames, self._second, self._passed = frames, 0, 0

    async def wait(self) -> None:
        while True:
            now = time.monotonic()
            if int(now) != self._second:
                self._second, self._passed = int(now), 0
            self._passed += 1
            if self._passed <= self._frames:
                return
            await asyncio.sleep(self._second + 1 - now)


class Client:
    """A connection: who it is, and what it has subscribed to."""

    def __init__(self, socket: ServerConnection, did: str) -> None:
        self.did, self.topics, self.pace = did, set[str](), Pace(FRAMES_A_SECOND)
        self._socket, self._frames, self._bytes = socket, asyncio.Queue[str](), 0

    def send(self, frame: Values) -> None:
        """Send a frame without waiting. Who does not read is disconnected; what it misses is kept."""
        text = json.dumps({"jsonrpc": "2.0"} | frame, separators=(",", ":"))
        self._bytes += len(text)
        if self._bytes > WAITING_BYTES:
            self._socket.transport.abort()
        else:
            self._frames.put_nowait(text)

    async def write(self) -> None:
        with suppress(ConnectionClosed):
            while True:
                text = await self._frames.get()
                await self._socket.send(text)
                self._bytes -= len(text)


class Relay:
    def __init__(self) -> None:
        self._mailbox = Mailbox(time.time)
        self._subscribers: dict[str, set[Client]] = {}
        self._pace = Pace(FRAMES_OF_ALL)
        self._connections = 0
        self._calls: dict[str, Callable[[Client, Values], Done]] = {
            "irn_publish": self._publish,
            "irn_batchPublish": self._publish_all,
            "irn_subscribe": self._subscribe,
            "irn_batchSubscribe": self._subscribe_to_all,
            "irn_unsubscribe": self._unsubscribe,
            "irn_batchUnsubscribe": self._unsubscribe_from_all,
            "irn_fetchMessages": self._fetch,
            "irn_batchFetchMessages": self._fetch_all,
            "wc_proposeSession": self._propose,
            "wc_approveSession": self._approve,
        }

    def check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a connection of nobody, or one too many."""
        if self._connections >= CONNECTIONS:
            return connection.respond(503, f"The relay has {CONNECTIONS} connections already\n")
        try:
            find_did(request)
        except Unauthorized as error:
            return connection.respond(401, f"{error}\n")
        return None

    async def serve_client(self, connection: ServerConnection) -> None:
        assert connection.request is not None  # noqa: S101
        client = Client(connection, find_did(connection.request))
        self._connections += 1
        writer = asyncio.create_task(client.write())
        try:
            async for content in connection:
                await client.pace.wait()
                await self._pace.wait()
                self._take(client, content)
        except ConnectionClosed:
            pass
        finally:
            writer.cancel()
            self._connections -= 1
            for topic in [*client.topics]:
                self._leave(client, topic)

    def _take(self, client: Client, content: str | bytes) -> None:
        """Answer a frame, and then deliver what it has caused."""
        number = None
        try:
            frame = _parse(content)
            number = frame.get("id")
            if "method" not in frame:
                return self._acknowledge(client, number)
            call, params = self._calls.get(str(frame["method"])), frame.get("params")
            if call is None:
                raise Refused(NO_METHOD, f"The relay has no method {frame['method']!a:.50}")
            if not isinstance(params, dict):
                raise Refused(INVALID_PARAMS, "'params' is no object")
            result, deliveries = call(client, params)
        except Refused as refusal:
            error = {"code": refusal.code, "message": str(refusal)}
            return client.send({"id": number, "error": error})
        client.send({"id": number, "result": result})
        for message, receiver in deliveries:
            _deliver(message, receiver)

    def _acknowledge(self, client: Client, number: Any) -> None:
        message = self._mailbox.get(number) if isinstance(number, int) else None
        if message and message.topic in client.topics and message.sender != client.did:
            self._mailbox.drop(message.id)

    def _send(self, client: Client, topic: Any, content: Any, tag: Any, ttl: Any) -> Done:
        _require(isinstance(content, str) and content, "'message' is no text")
        _require(isinstance(tag, int) and isinstance(ttl, int), "'tag' or 'ttl' is no number")
        _require(ttl > 0, "'ttl' is not positive")
        message = self._mailbox.put(_topic(topic), client.did, content, tag, ttl)
        others = [each for each in self._subscribers.get(topic, ()) if each.did != client.did]
        return True, [(message, each) for each in others]

    def _publish(self, client: Client, params: Values) -> Done:
        tag, ttl = params.get("tag", 0), params.get("ttl", TTL_SECONDS)
        return self._send(client, params.get("topic"), params.get("message"), tag, ttl)

    def _publish_all(self, client: Client, params: Values) -> Done:
        each = _list(params, "messages")
        _require(all(isinstance(one, dict) for one in each), "'messages' has what is no object")
        return True, [delivery for one in each for delivery in self._publish(client, one)[1]]

    def _propose(self, client: Client, params: Values) -> Done:
        self._join(client, params.get("pairingTopic"))
        return self._send_named(client, params, "pairingTopic", "sessionProposal", PROPOSAL)

    def _approve(self, client: Client, params: Values) -> Done:
        self._join(client, params.get("sessionTopic"))
        name, answer = "sessionProposalResponse", "sessionSettlementRequest"
        _, first = self._send_named(client, params, "pairingTopic", name, PROPOSAL_RESPONSE)
        _, then = self._send_named(client, params, "sessionTopic", answer, SETTLEMENT)
        return True, first + then

    def _send_named(
        self, client: Client, params: Values, topic: str, content: str, tag: int
    ) -> Done:
        ttl = params.get("ttl", TTL_SECONDS)
        return self._send(client, params.get(topic), params.get(content), tag, ttl)

    def _subscribe(self, client: Client, params: Values) -> Done:
        return self._join(client, params.get("topic"))

    def _subscribe_to_all(self, client: Client, params: Values) -> Done:
        joined = [self._join(client, each) for each in _list(params, "topics")]
        return [number for number, _ in joined], [each for _, some in joined for each in some]

    def _unsubscribe(self, client: Client, params: Values) -> Done:
        self._leave(client, _topic(params.get("topic")))
        return True, []

    def _unsubscribe_from_all(self, client: Client, params: Values) -> Done:
        for each in _list(params, "subscriptions"):
            self._leave(client, _topic(each.get("topic") if isinstance(each, dict) else None))
        return True, []

    def _fetch(self, client: Client, params: Values) -> Done:
        found = self._mailbox.find(_topic(params.get("topic")), client.did)
        return {"messages": [_show(each) for each in found], "hasMore": False}, []

    def _fetch_all(self, client: Client, params: Values) -> Done:
        topics = [_topic(each) for each in _list(params, "topics")]
        found = [each for topic in topics for each in self._mailbox.find(topic, client.did)]
        return {"messages": [_show(each) for each in found], "hasMore": False}, []

    def _join(self, client: Client, named: Any) -> Done:
        topic = _topic(named)
        is_full = len(client.topics) >= TOPICS and topic not in client.topics
        _require(not is_full, f"A connection may subscribe to {TOPICS} topics")
        client.topics.add(topic)
        self._subscribers.setdefault(topic, set()).add(client)
        waiting = self._mailbox.find(topic, client.did)
        return _subscription(topic, client), [(each, client) for each in waiting]

    def _leave(self, client: Client, topic: str) -> None:
        client.topics.discard(topic)
        others = self._subscribers.get(topic, set())
        others.discard(client)
        if not others:
            self._subscribers.pop(topic, None)


def find_did(request: Request) -> str:
    """Raises Unauthorized."""
    query = parse_qs(urlsplit(request.path).query)
    return read_did(query.get("auth", [""])[0], time.time())


def _parse(content: str | bytes) -> Values:
    try:
        frame = json.loads(content)
    except (ValueError, RecursionError):
        raise Refused(PARSE_ERROR, "The frame is no JSON") from None
    if not isinstance(frame, dict):
        raise Refused(INVALID_REQUEST, "The frame is no JSON-RPC: it is no object")
    return frame


def _require(is_so: Any, why: str) -> None:
    if not is_so:
        raise Refused(INVALID_PARAMS, why)


def _topic(value: Any) -> str:
    _require(isinstance(value, str) and TOPIC.match(value), "A topic is 64 hexadecimal digits")
    return str(value)


def _list(params: Values, name: str) -> list[Any]:
    values = params.get(name)
    _require(
        isinstance(values, list) and len(values) <= TOPICS, f"{name!r} is no list, or too long"
    )
    return list(values or ())


def _subscription(topic: str, client: Client) -> str:
    """A subscription's id, which clients compute, too."""
    return hashlib.sha256(f"{topic}{client.did}".encode()).hexdigest()


def _deliver(message: Message, receiver: Client) -> None:
    params = {"id": _subscription(message.topic, receiver), "data": _show(message)}
    receiver.send({"id": message.id, "method": "irn_subscription", "params": params})


def _show(message: Message) -> Values:
    shown = {"topic": message.topic, "message": message.content, "tag": message.tag}
    return shown | {"publishedAt": int(1000 * message.sent_at)}


async def serve(listener: socket.socket, is_served: Event) -> None:
    """Serve on a socket for ever. Sets ``is_served`` at the beginning."""
    relay, logger = Relay(), logging.getLogger("hiero_sandbox.relay")
    logger.setLevel(logging.CRITICAL)  # what strangers send is no news
    async with serve_websockets(
        relay.serve_client,
        sock=listener,
        process_request=relay.check,
        max_size=FRAME_BYTES,
        ping_interval=PING_SECONDS,
        open_timeout=10,
        close_timeout=1,
        compression=None,
        logger=logger,
        server_header=None,
    ) as server:
        is_served.set()
        await server.serve_forever()
