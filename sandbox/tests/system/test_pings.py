"""A client that pings as often as a node allows keeps its connection, with and without a subscription."""

import time

import grpc

from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.hapi.server import PING_SECONDS
from sandbox.tests import hapi
from sandbox.tests.command import running
from sandbox.tests.subscriptions import Topic

PINGS = 4  # without the setting, the third one is an "excess ping"
OPTIONS = (
    ("grpc.keepalive_time_ms", 1000 * PING_SECONDS + 200),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
)


def test_pings_do_not_end_an_idle_connection():
    with running() as (_, ports):
        topic = Topic(ports)
        node = grpc.insecure_channel(f"{HOST}:{ports['node']}", OPTIONS)
        with node, topic.listen(options=OPTIONS) as stream:
            states = []
            node.subscribe(states.append, try_to_connect=True)
            node.unary_unary(hapi.ACCOUNT)(
                hapi.query("cryptoGetInfo", hapi.COST, accountID={"accountNum": 1002})
            )
            time.sleep(PINGS * (PING_SECONDS + 0.2) + 1)
            topic.say(b"after a while")
            assert next(stream).message == b"after a while"
            assert states[-1] == grpc.ChannelConnectivity.READY
