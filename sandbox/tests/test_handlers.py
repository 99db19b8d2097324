"""All about a type of transaction is in its module: its handler says what it costs, and whom it is about."""

from pathlib import Path

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import HederaFunctionality
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt

import hiero_sandbox
from hiero_sandbox.hapi.fee_schedules import name_of
from hiero_sandbox.ledger.consensus import HANDLERS, MODULES

BODY = TransactionBody.DESCRIPTOR.fields_by_name


@pytest.mark.parametrize("kind", HANDLERS)
def test_a_handler_names_fields_that_exist(kind):
    handler = HANDLERS[kind]
    assert not handler.about or handler.about in BODY[kind].message_type.fields_by_name
    assert not handler.creates or handler.creates in TransactionReceipt.DESCRIPTOR.fields_by_name
    assert not (handler.about and handler.creates)
    assert HederaFunctionality.Value(name_of(kind))


def test_no_type_has_two_handlers():
    assert sum(len(module.HANDLERS) for module in MODULES) == len(HANDLERS)


# What else names types: the network's lists of what schedules and batches may hold; payments; the faucet.
OTHERS = {
    "batches.py",
    "decoding.py",
    "schedule_transactions.py",
    "services.py",
    "topic_messages.py",
    "unsigned.py",
}


def test_nothing_but_its_module_knows_a_type():
    package = Path(hiero_sandbox.__file__).parent
    sources = [path for path in package.rglob("*.py") if "conformance" not in path.parts]
    texts = {path.name: path.read_text() for path in sources}
    for module in MODULES:
        own = Path(module.__file__).name
        for kind in module.HANDLERS:
            named = {name for name, text in texts.items() if f'"{kind}"' in text}
            assert named - OTHERS <= {own}, kind
