"""All about a type of transaction is in its module: its handler says what it costs, and whom it is about."""

import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import HederaFunctionality
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt

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
