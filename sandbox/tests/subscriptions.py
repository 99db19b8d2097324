"""A topic of a sandbox in a process of its own, and subscriptions to it over gRPC."""

import base64
from contextlib import contextmanager

import grpc
from hiero_sdk_python.hapi.mirror.consensus_service_pb2 import (
    ConsensusTopicQuery,
    ConsensusTopicResponse,
)

from hiero_sandbox import messages, times
from hiero_sandbox.hapi.address import HOST
from hiero_sandbox.ledger.genesis import known_accounts
from sandbox.tests.bodies import sign
from sandbox.tests.command import ask
from sandbox.tests.topics import message, new_topic

OPERATOR = known_accounts()[0]
SUBSCRIBE = "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic"


class Topic:
    def __init__(self, ports):
        self.ports = ports
        self.id = self.create(new_topic("0.0.2"))

    def create(self, body):
        self.send(body)
        [row, *_] = ask(self.ports, "/api/v1/transactions")["transactions"]
        return row["entity_id"]

    def send(self, body):
        start = body.transactionID.transactionValidStart
        start.seconds, start.nanos = divmod(times.now() - times.SECOND, times.SECOND)
        content = base64.b64encode(sign(body, OPERATOR.private_key)).decode()
        assert ask(self.ports, "/transactions", {"transaction": content})["result"] == "SUCCESS"

    def say(self, content):
        self.send(message(self.id, content, payer="0.0.2"))

    @contextmanager
    def listen(self, topic=None, options=(), **asked):
        """What a subscription sends."""
        query = ConsensusTopicQuery(topicID=messages.topic(topic or self.id), **asked)
        with listening(self.ports, query, options) as stream:
            yield stream


@contextmanager
def listening(ports, query, options=()):
    with grpc.insecure_channel(f"{HOST}:{ports['mirror']}", options) as channel:
        yield channel.unary_stream(
            SUBSCRIBE, response_deserializer=ConsensusTopicResponse.FromString
        )(query.SerializeToString(), timeout=60)
