"""Topics, their messages and their fees."""

from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox import messages
from hiero_sandbox.messages import account
from sandbox.tests.bodies import make, token_id
from sandbox.tests.people import ALICE

ADMIN, SUBMITTER, NEW = (PrivateKey.generate_ed25519() for _ in range(3))
COLLECTOR = "0.0.2001"
DAYS = 24 * 3600


def key(private):
    return Key(ed25519=private.public_key().to_bytes_raw())


def new_topic(payer=ALICE, **fields):
    return make(
        payer, "consensusCreateTopic", **{"autoRenewPeriod": {"seconds": 90 * DAYS}} | fields
    )


def message(topic, content=b"hello", payer=ALICE, **fields):
    fields |= {"topicID": messages.topic(topic), "message": content}
    return make(payer, "consensusSubmitMessage", **fields)


def fee(amount, unit=None, collector=COLLECTOR):
    made = {"amount": amount} | ({"denominating_token_id": token_id((unit, 0))} if unit else {})
    return {"fixed_fee": made, "fee_collector_account_id": account(collector)}
