"""A consensus node that answers each transaction by a function, over gRPC."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import grpc

Handle = Callable[[bytes, grpc.ServicerContext], bytes | None]


@contextmanager
def serve_node(call: str, handle: Handle) -> Iterator[str]:
    """Serve one of HAPI's calls, such as /proto.CryptoService/cryptoTransfer. Yields the node's address."""
    server = grpc.server(ThreadPoolExecutor(1))
    service, method = call.removeprefix("/").split("/")
    methods = {method: grpc.unary_unary_rpc_method_handler(handle)}
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(service, methods)])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(0).wait()
