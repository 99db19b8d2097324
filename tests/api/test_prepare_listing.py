import pytest

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, CHARLIE, KEYS, TOKEN
from marketplace import create_app
from marketplace.hedera import times
from marketplace.ledger import mirror as mirror_client
from tests.answers import assert_error, handed_out, opened


def prepare(client, wallet="extwallet", **fields):
    return client.post(f"/v1/list/{wallet}", json=KEYS | {"listingPrice": 250} | fields)


def test_it_works(client, nft):
    transaction = handed_out(prepare(client), ALICE, sellerReceives="25000000000")
    body = transaction.body
    assert transaction.pairs == []
    [approval] = body.cryptoApproveAllowance.nftAllowances
    assert approval.tokenId.tokenNum == 7001
    assert approval.owner.accountNum == 1001
    assert approval.spender.accountNum == 9001
    assert list(approval.serial_numbers) == [7]
    assert not approval.HasField("approved_for_all")
    assert body.transactionID.accountID.accountNum == 1001
    assert (
        body.memo == f"Listing NFT with {TOKEN} and Serial Number 7 for 250 HBAR on NFT Marketplace"
    )
    assert body.transactionFee == 500_000_000
    assert body.transactionValidDuration.seconds == 180
    assert body.nodeAccountID.accountNum == 3


def starts_after(mirror, client, seconds, path="list"):
    """When the validity begins, in seconds after the mirror node's present, which our clock is behind."""
    present = times.now() + seconds * times.SECOND
    mirror.set_present(present)
    body = KEYS | ({"listingPrice": 250} if path == "list" else {})
    start = opened(client.post(f"/v1/{path}/extwallet", json=body)).body.transactionID
    valid_start = start.transactionValidStart
    return valid_start.seconds - present / times.SECOND


@pytest.fixture
def no_recall(monkeypatch):
    """The mirror node is asked each time how far it is."""
    monkeypatch.setattr(mirror_client, "AHEAD_RECALLED", 0)


@pytest.mark.usefixtures("no_recall")
@pytest.mark.parametrize("path", ["list", "delist"])
@pytest.mark.parametrize("ahead", [0, 3, 10, 100])
def test_a_service_whose_clock_is_ahead_prepares_what_is_valid(client, lister, mirror, path, ahead):
    """Ten seconds ahead, each listing was INVALID_TRANSACTION_START.

    With a start at the end of the last block one of three still was: clocks of nodes differ.
    """
    lister((TOKEN, 7))
    assert -10 < starts_after(mirror, client, -ahead, path) <= -2


@pytest.mark.usefixtures("no_recall")
@pytest.mark.parametrize("path", ["list", "delist"])
def test_a_service_whose_clock_is_behind_prepares_what_is_valid(client, lister, mirror, path):
    lister((TOKEN, 7))
    # It begins earlier by the time until the answer comes: two seconds at most.
    assert -18 < starts_after(mirror, client, 170, path) <= -14


@pytest.mark.usefixtures("no_recall")
@pytest.mark.parametrize("path", ["list", "delist"])
def test_a_mirror_node_that_is_far_behind_is_said(client, lister, mirror, path):
    lister((TOKEN, 7))
    mirror.set_present(times.now() - 130 * times.SECOND)
    body = KEYS | ({"listingPrice": 250} if path == "list" else {})
    assert_error(client.post(f"/v1/{path}/extwallet", json=body), 503, "130 s behind")


def test_many_listings_ask_once_how_far_the_mirror_node_is(client, lister, mirror):
    lister((TOKEN, 7))
    asked = len(mirror.asked)
    for _ in range(5):
        opened(prepare(client))
    assert len(mirror.asked) <= asked + 5 + 1  # each about the fees of the token


def test_it_follows_the_settings(tmp_path):
    app = create_app(
        ACCOUNT_ID="0.0.4321",
        NAME="Kunsthalle",
        NODE_ACCOUNT_IDS="0.0.4",
        MAX_TRANSACTION_FEE="0.75",
        WALLETS="blade,hashpack",
        **settings(tmp_path),
    )
    client = authorized_client(app, "read", "write")
    client.post("/v1/add", json=KEYS)

    first = opened(prepare(client, "hashpack")).body
    assert first.cryptoApproveAllowance.nftAllowances[0].spender.accountNum == 4321
    assert first.memo.endswith("for 250 HBAR on Kunsthalle")
    assert first.nodeAccountID.accountNum == 4
    assert first.transactionFee == 75_000_000
    assert_error(prepare(client, "extwallet"), 404, "extwallet", "blade, hashpack")


def test_it_prepares_a_new_transaction_each_time(client, nft):
    assert opened(prepare(client)).id != opened(prepare(client)).id


@pytest.mark.parametrize("what", ["list", "delist", "buy"])
def test_it_handles_an_unknown_wallet(idle_client, what):
    r = idle_client.post(f"/v1/{what}/myspace", json=KEYS | {"listingPrice": 250})
    assert_error(r, 404, '"myspace" is not a wallet', "extwallet")


def test_it_handles_an_nft_that_is_not_stored(client):
    assert_error(prepare(client), 404, f"{TOKEN} #7 is not stored: POST /v1/add it first")


def test_it_refuses_who_is_not_the_owner(client, nft):
    r = prepare(client, accountId=CHARLIE)
    assert_error(r, 409, f"{TOKEN} #7 belongs to {ALICE}, not to {CHARLIE}")


@pytest.mark.parametrize("is_listed", [True, False])
def test_it_asks_the_ledger_about_a_new_owner(client, nft, lister, ledger, is_listed):
    if is_listed:
        lister(nft, add=False)
    ledger.hand_over(nft, BOB)
    assert prepare(client, accountId=BOB).json["metadata"]["accountToSign"] == BOB
    assert client.get("/v1/orderbook").json == []
    shown = client.get(f"/v1/nft/{TOKEN}/7").json
    assert (shown["owner"], shown["listingPrice"]) == ({"accountId": BOB}, 0)


def test_the_marketplace_itself_cannot_sell(client, nft, ledger):
    ledger.hand_over(nft, "0.0.9001")
    assert_error(prepare(client, accountId="0.0.9001"), 409, "ACCOUNT_IS_MARKETPLACE")
