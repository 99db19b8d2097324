"""HAPI over gRPC, for Hedera SDKs, on a port of this machine only.

It has a process of its own: gRPC must not start before a fork, and the web server forks its workers.
"""

import asyncio
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import grpc
from flask import Flask
from google.protobuf.message import DecodeError

from marketplace import times
from marketplace.sandbox.hapi.address import HOST, announced
from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS, Answer

OPEN_FILES = 4096  # a connection is one
THREADS = 4  # writes run one at a time anyway
AT_ONCE = 2000  # concurrent requests; further ones are answered RESOURCE_EXHAUSTED
# A request whose message takes longer is dropped. SDKs send it together with the headers.
SILENT_CLIENT_SECONDS = 5
# A request that waits longer is told to try again, before the SDK's own timeout.
TURN_SECONDS = 5
GRACE_SECONDS = 1  # for requests under way at shutdown
OPTIONS = (
    ("grpc.so_reuseport", 0),  # two servers must not share a port
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.server_handshake_timeout_ms", SILENT_CLIENT_SECONDS * 1000),
    # SDKs open another connection when they need one.
    ("grpc.max_connection_idle_ms", 300_000),
)


class Handlers(grpc.GenericRpcHandler):
    """Finds the handler of a method. gRPC answers UNIMPLEMENTED to all others."""

    def __init__(self, sandbox: Flask) -> None:
        self._sandbox = sandbox
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="hapi")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        answer = METHODS.get(details.method)
        if answer is None:
            return None

        async def stream(
            requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
        ) -> AsyncIterator[bytes]:
            for message in await self._answer(answer, requests, context):
                yield message

        # A stream looks the same on the wire, and only a stream can stop waiting for a request.
        return grpc.stream_stream_rpc_method_handler(stream)

    async def _answer(
        self, answer: Answer, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> list[bytes]:
        try:
            content = await asyncio.wait_for(anext(aiter(requests)), SILENT_CLIENT_SECONDS)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "The request did not come")
        except StopAsyncIteration:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "There is no request")
        loop, came = asyncio.get_running_loop(), time.monotonic()
        try:
            return await loop.run_in_executor(self._pool, self._work, answer, content, came)
        except TimeoutError:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too much is asked at once")
        except DecodeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        raise AssertionError("abort() raises")

    def _work(self, answer: Answer, content: bytes, came: float) -> list[bytes]:
        if time.monotonic() - came > TURN_SECONDS:
            raise TimeoutError
        with self._sandbox.app_context():
            return answer(content, times.now())


async def serve(
    sandbox: Flask,
    token: str,
    wanted: int,
    further: Iterable[int],
    announce: Callable[[int, list[int]], None],
) -> None:
    """Serve until SIGTERM or SIGINT, on the wanted port or, if it is taken, on another.

    Serve on further ports, too, if they are free. Announce which ones. The files of addresses have ``token``.
    """
    _raise_open_files()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = grpc.aio.server(
        handlers=(Handlers(sandbox),), options=OPTIONS, maximum_concurrent_rpcs=AT_ONCE
    )
    port = server.add_insecure_port(f"{HOST}:{wanted if _is_free(wanted) else 0}")
    others = []
    for each in filter(_is_free, further):
        with suppress(RuntimeError):  # another node was quicker
            others.append(server.add_insecure_port(f"{HOST}:{each}"))
    await server.start()
    with announced(sandbox, token, port, next(iter(others), None)):
        announce(port, others)
        await stop.wait()
    await server.stop(GRACE_SECONDS)


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < OPEN_FILES:
        limit = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _is_free(port: int) -> bool:
    """Whether a port is free. gRPC itself would print a line of its own if it is not."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
