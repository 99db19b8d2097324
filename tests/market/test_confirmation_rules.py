"""What the mirror node may show about a listing, and what is made of it."""

import pytest

from harness.cast import KEYS
from tests.actions import report, shown
from tests.answers import assert_error


@pytest.fixture
def submitted(client, nft, ledger):
    """A listing that is on the ledger, and not reported yet."""
    prepared = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 250})
    return ledger.sign_and_submit(prepared.json["byteArray"])


def set_transaction(**fields):
    return lambda document: document["transactions"][0].update(fields)


@pytest.mark.parametrize(
    "change",
    [
        set_transaction(nonce=1),
        set_transaction(scheduled=True),
        set_transaction(result="DUPLICATE_TRANSACTION"),
        lambda document: document.update(transactions=[]),
    ],
)
def test_rows_that_are_not_the_transaction_itself_decide_nothing(client, submitted, mirror, change):
    mirror.alter("/v1/transactions", change)
    assert report(client).status_code == 202
    assert shown(client)["isForSale"] is False


def test_a_duplicate_beside_the_success_does_no_harm(client, submitted, mirror):
    def add_duplicate(document):
        [row] = document["transactions"]
        later = {"result": "DUPLICATE_TRANSACTION", "consensus_timestamp": "4000000000.000000000"}
        document["transactions"].insert(0, row | later)

    mirror.alter("/v1/transactions", add_duplicate)
    assert report(client).json["result"] == "OK"


def test_a_memo_that_is_no_base64_is_a_wrong_answer(client, submitted, mirror):
    mirror.alter("/v1/transactions", set_transaction(memo_base64="!!!"))
    assert_error(report(client), 502)
    assert shown(client)["isForSale"] is False
