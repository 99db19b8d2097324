"""Custom fees paid in tokens that have fees themselves."""

from sandbox.tests.bodies import token_id
from sandbox.tests.tokens import COLLECTOR, fixed


def paid_in(token, amount, collector=COLLECTOR):
    fee = fixed(amount, collector)
    fee.fixed_fee.denominating_token_id.CopyFrom(token_id((token, 0)))
    return fee
