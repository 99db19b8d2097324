"""A shop that delivers when the mirror node shows the payment, tested with hiero-sandbox: run pytest here."""

import pytest
import requests
from hiero_sdk_python import AccountId, Client, Hbar, PrivateKey, TransferTransaction

SHOP = AccountId.from_string("0.0.1003")


@pytest.fixture
def client(hiero_sandbox):
    _, buyer, *_ = hiero_sandbox.accounts()
    client = Client.for_network({hiero_sandbox.node: AccountId.from_string("0.0.3")})
    key = PrivateKey.from_string_ecdsa(buyer["privateKey"])
    client.set_operator(AccountId.from_string(buyer["accountId"]), key)
    yield client
    client.close()


def test_it_delivers_once_and_in_time(hiero_sandbox, client):
    def payments():
        asked = {"account.id": str(SHOP), "type": "credit", "result": "success"}
        answer = requests.get(f"{hiero_sandbox.mirror}/transactions", asked, timeout=10)
        return [float(each["consensus_timestamp"]) for each in answer.json()["transactions"]]

    unpaid = hiero_sandbox.snapshot()
    hiero_sandbox.set_lag(5)
    payment = TransferTransaction().add_hbar_transfer(SHOP, Hbar(20))
    payment.add_hbar_transfer(client.operator_account_id, Hbar(-20)).execute(client)
    assert payments() == []  # paid, and the mirror node does not know
    hiero_sandbox.move_clock(5)
    [paid_at] = payments()

    hiero_sandbox.move_clock(86_400)  # the offer ends
    late = TransferTransaction().add_hbar_transfer(SHOP, Hbar(20))
    late.add_hbar_transfer(client.operator_account_id, Hbar(-20)).execute(client)
    hiero_sandbox.move_clock(5)
    assert max(payments()) - paid_at >= 86_400

    hiero_sandbox.restore(unpaid)
    assert payments() == []
