"""HAPI over gRPC, for Hedera SDKs, on a port of this machine only.

gRPC must not start before a fork: a web server that forks its workers starts it in a worker.
"""

import asyncio
import resource
import signal
import socket
from collections.abc import AsyncIterator, Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import partial

import grpc
from flask import Flask
from google.protobuf.message import DecodeError

from hiero_sandbox.conditions import now
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.hapi.services import MAX_REQUEST_BYTES, METHODS, Answer

OPEN_FILES = 4096  # each connection needs one
THREADS = 4  # writes run one at a time anyway
AT_ONCE = 2000  # concurrent requests; further ones are answered RESOURCE_EXHAUSTED
# A request whose message takes longer is dropped. SDKs send it together with the headers.
SILENT_CLIENT_SECONDS = 5
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
    """Finds the handler of a method."""

    def __init__(self, sandbox: Flask) -> None:
        self._sandbox = sandbox
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="hapi")

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        answer = METHODS.get(details.method)
        if answer is None:
            return grpc.stream_stream_rpc_method_handler(partial(_refuse_unknown, details.method))
        # A stream looks the same on the wire, and only its handler can stop waiting for a request.
        return grpc.stream_stream_rpc_method_handler(partial(self._stream, answer))

    async def _stream(
        self, answer: Answer, requests: AsyncIterator[bytes], context: grpc.aio.ServicerContext
    ) -> None:
        try:
            content = await asyncio.wait_for(anext(aiter(requests)), SILENT_CLIENT_SECONDS)
            # A request that waits for a thread ends with the SDK's own timeout.
            loop = asyncio.get_running_loop()
            for message in await loop.run_in_executor(self._pool, self._work, answer, content):
                await context.write(message)
        except TimeoutError:
            await context.abort(grpc.StatusCode.DEADLINE_EXCEEDED, "The request came too late")
        except StopAsyncIteration:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, "The stream has no request")
        except DecodeError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    def _work(self, answer: Answer, content: bytes) -> list[bytes]:
        with self._sandbox.app_context():
            return answer(content, now())


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
        handlers=(Handlers(sandbox),), options=OPTIONS, maximum_concurrent_rpcs=AT_ONCE
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
