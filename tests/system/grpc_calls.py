"""Calls of the sandbox's node by gRPC."""

import grpc

from harness.network import PATIENCE_SECONDS
from harness.wallets import account
from sandbox.tests import hapi
from sandbox.tests.hapi import ACCOUNT, COST

# As SDKs ping a node: the cost of an account's info.
PING = hapi.query("cryptoGetInfo", header=COST, accountID=account("0.0.2"))


def call(channel, path, content, **options):
    method = channel.unary_unary(path)
    return method(content, timeout=PATIENCE_SECONDS, **options)


def ping(port):
    # A connection of its own, which knows nothing of an earlier node.
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=options) as channel:
        _, code = hapi.answer(call(channel, ACCOUNT, PING), "cryptoGetInfo")
    assert code == "OK"
