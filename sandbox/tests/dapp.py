"""A client of the relay, by hand: its token, its calls, and what it receives."""

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from contextlib import asynccontextmanager

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from websockets.asyncio.client import connect

from hiero_sandbox.relay.identity import BASE58, MULTICODEC, PREFIX

TOPIC = "ab" * 32


def encode(content):
    return urlsafe_b64encode(content).decode().rstrip("=")


def did_of(key, codec=MULTICODEC):
    number, text = int.from_bytes(codec + key.public_key().public_bytes_raw()), ""
    while number:
        number, digit = divmod(number, len(BASE58))
        text = BASE58[digit] + text
    return PREFIX + text


def make_token(key=None, signer=None, header=None, **claims):
    key = key or Ed25519PrivateKey.generate()
    claims = {
        "iss": did_of(key),
        "sub": "x",
        "aud": "wss://elsewhere",
        "exp": time.time() + 60,
    } | claims
    parts = (header or {"alg": "EdDSA", "typ": "JWT"}, claims)
    signed = ".".join(encode(json.dumps(part).encode()) for part in parts)
    return f"{signed}.{encode((signer or key).sign(signed.encode()))}"


class Client:
    def __init__(self, socket):
        self.socket, self.last = socket, 0
        self.received = []  # what came while an answer was awaited

    async def call(self, method, **params):
        """The whole answer to a call, whose id is as large as JavaScript's clients make it."""
        self.last += 1
        number = 1_764_000_000_000_000 + self.last
        frame = {"id": number, "jsonrpc": "2.0", "method": method, "params": params}
        await self.socket.send(json.dumps(frame))
        while (frame := await self.read()).get("id") != number:
            self.received.append(frame)
        return frame

    async def read(self):
        return json.loads(await asyncio.wait_for(self.socket.recv(), 10))

    async def next(self):
        """The next message of a subscription, which is acknowledged."""
        frame = self.received.pop(0) if self.received else await self.read()
        assert frame["method"] == "irn_subscription", frame
        await self.socket.send(json.dumps({"id": frame["id"], "jsonrpc": "2.0", "result": True}))
        return frame["params"]["data"]

    async def publish(self, message, topic=TOPIC, ttl=300, tag=1108):
        return await self.call("irn_publish", topic=topic, message=message, ttl=ttl, tag=tag)


@asynccontextmanager
async def connected(url, key=None, **options):
    token = make_token(key)
    async with connect(f"{url}/?auth={token}&projectId=x&ua=y", **options) as socket:
        yield Client(socket)
