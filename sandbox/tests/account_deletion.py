"""The deletion of an account."""

from hiero_sandbox.messages import account
from sandbox.tests.bodies import make
from sandbox.tests.people import ALICE, BOB


def deletion(deleted, heir=BOB, payer=ALICE):
    fields = {"deleteAccountID": deleted, "transferAccountID": heir}
    return make(
        payer, "cryptoDelete", **{name: account(each) for name, each in fields.items() if each}
    )
