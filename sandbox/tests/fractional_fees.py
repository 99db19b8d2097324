"""Tokens with fractional fees."""

from hiero_sdk_python.hapi.services.basic_types_pb2 import TokenID
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from hiero_sandbox.messages import account
from sandbox.tests.tokens import COLLECTOR, fixed

OTHER = "0.0.802001"  # another collector


def fractional(part=(1, 10), collector=COLLECTOR, *, all_are_exempt=False, **fields):
    numerator, denominator = part
    fields["fractional_amount"] = {"numerator": numerator, "denominator": denominator}
    return CustomFee(
        fee_collector_account_id=account(collector),
        fractional_fee=fields,
        all_collectors_are_exempt=all_are_exempt,
    )


def in_own_units(amount, collector=COLLECTOR):
    fee = fixed(amount, collector)
    fee.fixed_fee.denominating_token_id.CopyFrom(TokenID())
    return fee
