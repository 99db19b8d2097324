"""The deletion of an account."""

from harness.cast import ALICE, BOB
from harness.wallets import account
from sandbox.tests.bodies import make


def deletion(deleted, heir=BOB, payer=ALICE):
    fields = {"deleteAccountID": deleted, "transferAccountID": heir}
    return make(
        payer, "cryptoDelete", **{name: account(each) for name, each in fields.items() if each}
    )
