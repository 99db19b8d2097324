"""HAPI over gRPC, for Hedera SDKs, on a port of this machine only.

gRPC must not start before a fork: a web server that forks its workers starts it in a worker.
"""

import asyncio
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial
from typing import TypeVar

import grpc
from flask import Flask
from google.protobuf.message import DecodeError

from hiero_sandbox import database, node
from hiero_sandbox.conditions import conditions, mirror_now, now
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.hapi.errors import Failed
from hiero_sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS, SUBSCRIPTIONS, Answer, Subscribe

OPEN_FILES = 4096  # each connection needs one
THREADS = 4  # writes run one at a time anyway
AT_ONCE = 2000  # concurrent requests; further ones are answered RESOURCE_EXHAUSTED
# A request whose message takes longer is dropped. SDKs send it together with the headers.
SILENT_CLIENT_SECONDS = 5
POLL_SECONDS = 0.1  # between looks for new messages of a topic
PING_SECONDS = 10  # between a client's pings, at least
GRACE_SECONDS = 1  # for requests under way at shutdown
OPTIONS = (
    ("grpc.so_reuseport", 0),  # two servers must not share a port
    ("grpc.max_receive_message_length", MAX_REQUEST_BYTES),
    ("grpc.max_concurrent_streams", 64),
    ("grpc.server_handshake_timeout_ms", SILENT_CLIENT_SECONDS * 1000),
    # SDKs open another connection when they need one.
    ("grpc.max_connection_idle_ms", 300_000),
    # As on a node, pings may come each 10 s, and without a request. SDKs send one each 90 s.
    ("grpc.http2.min_ping_interval_without_data_ms", PING_SECONDS * 1000),
    ("grpc.keepalive_permit_without_calls", 1),
)

Answered = TypeVar("Answered")
Work = Callable[[bytes], AsyncIterator[bytes]]  # from a request to the messages of its answer


class Handlers(grpc.GenericRpcHandler):
    """Finds the handler of a method."""

    def __init__(self, sandbox: Flask, stop: asyncio.Event) -> None:
        self._sandbox, self._stop = sandbox, stop
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="hapi")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        method = details.method
        if method in METHODS:
            work = partial(self._answer, METHODS[method])
        elif method in SUBSCRIPTIONS:
            work = partial(self._follow, SUBSCRIPTIONS[method])
        else:
            return grpc.stream_stream_rpc_method_handler(partial(_refuse_unknown, method))
        # A stream looks the same on the wire, and only its handler can stop waiting for a request.
        return grpc.stream_stream_rpc_method_handler(partial(self._stream, work))

    async def _stream(
        self, work: Work, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> None:
        try:
            content = await asyncio.wait_for(anext(aiter(requests)), SILENT_CLIENT_SECONDS)
            async for message in work(content):
                await context.write(message)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "The request came too late")
        except StopAsyncIteration:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The stream has no request")
        except DecodeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
        except Failed as failure:
            await context.abort(failure.status, str(failure))

    async def _answer(self, answer: Answer, content: bytes) -> AsyncIterator[bytes]:
        for message in await self._run(lambda: answer(content, now())):
            yield message

    async def _follow(self, subscribe: Subscribe, content: bytes) -> AsyncIterator[bytes]:
        """The messages of a subscription to the mirror node, which may lag."""
        steps: Iterator[list[bytes]] | None = None

        def step() -> list[bytes] | None:
            nonlocal steps
            node.end_expired_schedules(now())
            if conditions().lag:
                database.look_back(mirror_now())
            steps = steps or subscribe(content, now())
            return next(steps, None)

        while (messages := await self._run(step)) is not None:
            for message in messages:
                yield message
            if not messages:
                await asyncio.sleep(POLL_SECONDS)
            if self._stop.is_set():
                raise Failed(grpc.StatusCode.UNAVAILABLE, "The sandbox stops")

    async def _run(self, work: Callable[[], Answered]) -> Answered:
        """Do work in a thread. A request that waits for one ends with the SDK's own timeout."""

        def run() -> Answered:
            with self._sandbox.app_context():
                try:
                    return work()
                finally:
                    database.look_at_present()

        return await asyncio.get_running_loop().run_in_executor(self._pool, run)


async def _refuse_unknown(
    method: str, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
) -> None:
    await context.abort(grpc.StatusCode.UNIMPLEMENTED, f"The sandbox has no method {method!a}")


async def serve(
    sandbox: Flask,
    wanted: int,
    further: Iterable[int],
    announced: Callable[[int, list[int]], AbstractContextManager[None]],
    ending: Collection[signal.Signals] = (signal.SIGTERM, signal.SIGINT),
    host: str = HOST,
) -> None:
    """Serve until one of the ``ending`` signals, on the wanted port or, if it is taken, on another.

    Serve on those of the further ports that are free, too. ``announced(port, others)`` is a context that is
    entered when the ports are served, and left at the end. Only the main thread can wait for signals.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(OPEN_FILES, hard), hard))
    stop = asyncio.Event()
    for number in ending:
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    server = grpc.aio.server(
        handlers=(Handlers(sandbox, stop),), options=OPTIONS, maximum_concurrent_rpcs=AT_ONCE
    )
    port = _listen(server, wanted, host) or server.add_insecure_port(f"{host}:0")
    others = [taken for each in further if (taken := _listen(server, each, host))]
    await server.start()
    with announced(port, others):
        await stop.wait()
    await server.stop(GRACE_SECONDS)


def _listen(server: grpc.aio.Server, port: int, host: str) -> int | None:
    """Make the server listen on a port; None if it is taken. A socket tries first: gRPC prints failures."""
    try:
        socket.create_server((host, port)).close()
        return int(server.add_insecure_port(f"{host}:{port}"))
    except (OSError, RuntimeError):
        return None
