"""What the mirror node may show about a listing, and what is made of it."""

import pytest

from tests.conftest import KEYS, TOKEN, assert_error

pytestmark = pytest.mark.once("the rule asks no statement")


@pytest.fixture
def submitted(client, nft, ledger):
    """A listing that is on the ledger, and not reported yet."""
    prepared = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 250})
    return ledger.sign_and_submit(prepared.json["byteArray"])


def report(client):
    return client.post("/v1/comingsoon", json=KEYS)


def is_for_sale(client):
    return client.get(f"/v1/nft/{TOKEN}/7").json["isForSale"]


def set_transaction(**fields):
    return lambda document: document["transactions"][0].update(fields)


def set_nft(**fields):
    return lambda document: document.update(fields)


@pytest.mark.parametrize(
    "change",
    [
        set_transaction(nonce=1),
        set_transaction(scheduled=True),
        set_transaction(result="DUPLICATE_TRANSACTION"),
        lambda document: document.update(transactions=[]),
    ],
)
def test_rows_that_are_not_the_transaction_itself_decide_nothing(client, submitted, alter, change):
    alter("/v1/transactions", change)
    assert report(client).status_code == 202
    assert is_for_sale(client) is False


def test_a_duplicate_beside_the_success_does_no_harm(client, submitted, alter):
    def add_duplicate(document):
        [row] = document["transactions"]
        later = {"result": "DUPLICATE_TRANSACTION", "consensus_timestamp": "4000000000.000000000"}
        document["transactions"].insert(0, row | later)

    alter("/v1/transactions", add_duplicate)
    assert report(client).json == {"result": "OK"}


def test_an_nft_that_the_mirror_node_has_not_brought_up_to_date_is_awaited(
    client, submitted, alter
):
    alter(f"/tokens/{TOKEN}/nfts/7", set_nft(modified_timestamp="1700000000.000000000"))
    assert report(client).status_code == 202
    assert is_for_sale(client) is False


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (set_nft(spender=None), "withdrew the approval"),
        (set_nft(spender="0.0.6666"), "withdrew the approval"),
        (set_nft(account_id="0.0.1002"), "belongs to 0.0.1002 now"),
        (set_nft(deleted=True), "was burned"),
    ],
)
def test_only_the_owners_approval_of_the_marketplace_lists(client, submitted, alter, change, words):
    alter(f"/tokens/{TOKEN}/nfts/7", change)
    assert_error(report(client), 409, "no longer listed", words)
    assert is_for_sale(client) is False


def test_a_metadata_update_keeps_the_listing(client, submitted, alter):
    def update(document):
        if "transactions" in document:
            [approval, *others] = document["transactions"]
            later = approval | {
                "type": "TOKENUPDATENFTS",
                "consensus_timestamp": "4000000000.000000000",
            }
            document["transactions"] = [later, approval, *others]
        else:
            document["modified_timestamp"] = "4000000000.000000000"

    alter(f"/tokens/{TOKEN}/nfts/7", update)
    assert report(client).json == {"result": "OK"}
    assert is_for_sale(client) is True


@pytest.mark.parametrize("memo", ["", None, "AAAA", "!!!"])
def test_another_memo_is_another_transaction(client, submitted, alter, memo):
    alter("/v1/transactions", set_transaction(memo_base64=memo))
    r = report(client)
    assert_error(r, 502 if memo == "!!!" else 409)
    assert is_for_sale(client) is False
