"""gRPC: the door that a Hedera SDK comes through, on a port of this machine alone.

It has a process of its own: gRPC must not be begun before a fork, and every worker of the web is one.
"""

import asyncio
import resource
import signal
import socket
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
from flask import Flask

from marketplace import times
from marketplace.sandbox.hapi.address import HOST, announced
from marketplace.sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS, Malformed, Method

OPEN_FILES = 4096  # a connection is one
THREADS = 4  # writes take turns anyway
AT_ONCE = 2000  # requests under way; one beyond them is answered RESOURCE_EXHAUSTED
# A request that has not come after so long is dropped; an SDK sends it together with its head.
SILENT_CLIENT_SECONDS = 5
# Who has waited so long for its turn is told to come again, before its own patience ends.
TURN_SECONDS = 5
GRACE_SECONDS = 1  # for requests under way at the end
OPTIONS = (
    ("grpc.so_reuseport", 0),  # a port that is taken is taken
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.server_handshake_timeout_ms", SILENT_CLIENT_SECONDS * 1000),
    # Connections do not pile up: an SDK opens another one when it needs it.
    ("grpc.max_connection_idle_ms", 300_000),
)


class Handlers(grpc.GenericRpcHandler):
    """Finds what answers a method. gRPC itself answers UNIMPLEMENTED to all others."""

    def __init__(self, sandbox: Flask) -> None:
        self._sandbox = sandbox
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="hapi")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        method = METHODS.get(details.method)
        if method is None:
            return None

        async def answer(requests: AsyncIterator[bytes], context) -> AsyncIterator[bytes]:
            for message in await self._answer(method, requests, context):
                yield message

        # As streams, which on the wire are the same: only so may one stop waiting for a request.
        return grpc.stream_stream_rpc_method_handler(answer)

    async def _answer(self, method: Method, requests: AsyncIterator[bytes], context) -> list[bytes]:
        try:
            content = await asyncio.wait_for(anext(aiter(requests)), SILENT_CLIENT_SECONDS)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "The request did not come")
        except StopAsyncIteration:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "There is no request")
        loop, came = asyncio.get_running_loop(), time.monotonic()
        try:
            return await loop.run_in_executor(self._pool, self._work, method, content, came)
        except TimeoutError:
            await context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "Too much is asked at once")
        except Malformed as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    def _work(self, method: Method, content: bytes, came: float) -> list[bytes]:
        if time.monotonic() - came > TURN_SECONDS:
            raise TimeoutError
        with self._sandbox.app_context():
            return method.answer(content, times.now())


async def serve(sandbox: Flask, wanted: int, tell: Callable[[int], None]) -> None:
    """Serve until SIGTERM or SIGINT, on a port, or on another where it is taken. Tell which one."""
    _raise_open_files()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = grpc.aio.server(
        handlers=(Handlers(sandbox),), options=OPTIONS, maximum_concurrent_rpcs=AT_ONCE
    )
    port = server.add_insecure_port(f"{HOST}:{wanted if _is_free(wanted) else 0}")
    await server.start()
    with announced(sandbox, port):
        tell(port)
        await stop.wait()
    await server.stop(GRACE_SECONDS)


def _raise_open_files() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < OPEN_FILES:
        limit = OPEN_FILES if hard < 0 else min(OPEN_FILES, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _is_free(port: int) -> bool:
    """Tell whether a port may be listened on. (gRPC itself writes a line of its own where it may not.)"""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True
