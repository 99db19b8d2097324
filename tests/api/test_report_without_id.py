"""A report without a transaction id is about the newest one that its caller prepared, and about no other.

What was seen to fail; stress/lives has random stories.
"""

import pytest

from harness.apps import authorized_client
from harness.cast import ALICE, BOB, KEYS
from marketplace.services import services
from tests import actions
from tests.actions import expire
from tests.answers import assert_error
from tests.engines import both_engines


@pytest.fixture
def prepare(client):
    """Prepare a listing, a withdrawal or a purchase; its bytes."""

    def prepare(what, account_id=ALICE, **fields):
        answer = client.post(
            f"/v1/{what}/extwallet", json=KEYS | {"accountId": account_id} | fields
        )
        assert answer.status_code == 200, answer.json
        return answer.json["byteArray"]

    return prepare


@pytest.fixture
def report(client):
    return lambda account_id=ALICE: actions.report(client, accountId=account_id)


def test_a_report_with_a_null_id_counts_as_one_without(client, listed):
    """What a generated client may send for a field that it was not given."""
    answer = client.post("/v1/comingsoon", json=KEYS | {"transactionId": None})
    assert answer.json["result"] == "OK"


@both_engines
def test_a_gift_is_no_purchase(listed, ledger, prepare, report):
    """Nothing is stored of a purchase that is prepared and not handed in."""
    prepare("buy", BOB)
    ledger.hand_over(listed, BOB)
    assert report(BOB).status_code == 404


@both_engines
def test_a_purchase_that_failed_stays_so(listed, client, ledger, prepare, report):
    """Also once the buyer has the NFT by other means, or it is for sale again."""
    sandbox = services(client.application).sandbox
    submit = sandbox.submit

    def withdraw_and_submit(transaction):
        ledger.withdraw(listed, ALICE)
        return submit(transaction)

    content = prepare("buy", BOB)
    sandbox.submit = withdraw_and_submit
    result = {"ledger": {"result": ["SPENDER_DOES_NOT_HAVE_ALLOWANCE"]}}
    assert actions.hand_in(client, content).json["errors"] == result
    sandbox.submit = submit
    actions.list_nft(client)
    for _ in range(3):
        assert assert_error(report(BOB), 409)["errors"] == result
        assert actions.hand_in(client, content).json["errors"] == result
    ledger.hand_over(listed, BOB)
    assert assert_error(report(BOB), 409)["errors"] == result
    [purchase] = actions.list_purchases(client.application)
    assert (purchase["is_settled"], purchase["is_sold"]) == (1, 0)


def test_each_listing_and_each_withdrawal_is_awaited(nft, ledger, prepare, report):
    for what, fields in [("list", {"listingPrice": 5}), ("delist", {})] * 2:
        content = prepare(what, **fields)
        assert report().status_code == 202
        ledger.sign_and_submit(content)
        assert report().json["result"] == "OK"


@pytest.fixture(params=["another access token", "another end user"])
def stranger(request, app, client):
    """Prepares whatever it likes in Alice's name, and again and again."""
    if request.param == "another access token":
        stranger = authorized_client(app, "write")
    else:
        stranger = from_address(app, client, "192.0.2.7")

    def prepare(what, **fields):
        for _ in range(6):
            r = stranger.post(f"/v1/{what}/extwallet", json=KEYS | fields)
            assert r.status_code == 200

    return prepare


def from_address(app, client, address):
    """The same access token, from another address."""
    other = app.test_client()
    other.environ_base |= client.environ_base | {"REMOTE_ADDR": address}
    return other


@both_engines
def test_a_strangers_preparations_undo_no_listing_and_no_withdrawal(
    nft, ledger, prepare, report, stranger, app
):
    listing, withdrawal = ("list", {"listingPrice": 5}), ("delist", {})
    for (mine, mine_more), (theirs, their_more) in ((listing, withdrawal), (withdrawal, listing)):
        ledger.sign_and_submit(prepare(mine, **mine_more))
        for _ in range(2):
            stranger(theirs, **their_more)
            assert report().json["result"] == "OK"
            expire(app)
            assert report().json["result"] == "OK"


def test_an_owner_whose_address_changed_reports_the_newest_of_all(
    app, nft, ledger, client, prepare
):
    ledger.sign_and_submit(prepare("list", listingPrice=5))
    elsewhere = from_address(app, client, "192.0.2.8")
    assert actions.report(elsewhere).json["result"] == "OK"
    prepare("delist")
    assert actions.report(elsewhere).status_code == 202


def test_a_listing_that_came_by_another_token_stands(app, listed, ledger, prepare, report):
    ledger.sign_and_submit(prepare("delist"))
    other = authorized_client(app, "write")
    body = KEYS | {"listingPrice": 9}
    ledger.sign_and_submit(other.post("/v1/list/extwallet", json=body).json["byteArray"])
    assert report().json["result"] == "OK"
