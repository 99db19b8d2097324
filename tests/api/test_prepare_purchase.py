import pytest

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, CHARLIE, KEYS, MARKET, TESTNET, TOKEN
from harness.mirror import MISSING
from hiero_sandbox.database import write
from hiero_sandbox.ledger import accounts
from marketplace import create_app
from marketplace.hedera import times
from tests.actions import list_nft, list_purchases, settle_purchase, shown
from tests.answers import assert_error, handed_out, opened

HBAR = 100_000_000


def amounts(body):
    return {
        f"0.0.{amount.accountID.accountNum}": amount.amount
        for amount in body.cryptoTransfer.transfers.accountAmounts
    }


def test_it_works(app, listed, buy):
    before = times.now()
    transaction = handed_out(buy(expectedPrice=250), BOB, returns=True)
    body = transaction.body
    assert not transaction.pairs
    assert amounts(body) == {ALICE: 250 * HBAR, BOB: -250 * HBAR}
    [moved] = body.cryptoTransfer.tokenTransfers
    assert moved.token.tokenNum == 7001
    [transfer] = moved.nftTransfers
    assert (transfer.senderAccountID.accountNum, transfer.receiverAccountID.accountNum) == (
        1001,
        1002,
    )
    assert transfer.serialNumber == 7
    assert transfer.is_approval
    assert not any(a.is_approval for a in body.cryptoTransfer.transfers.accountAmounts)
    assert body.transactionID.accountID.accountNum == 9001
    assert body.nodeAccountID.accountNum == 3
    assert body.transactionFee == HBAR // 2
    assert body.transactionValidDuration.seconds == 180
    start = body.transactionID.transactionValidStart
    assert 0 <= before - (start.seconds * times.SECOND + start.nanos) < 30 * times.SECOND
    assert body.memo == (
        f"Buying NFT with {TOKEN} and Serial Number 7 for 250 HBAR on NFT Marketplace"
    )
    assert list_purchases(app) == []


def test_the_buyer_pays_and_the_seller_is_paid(client, listed, ledger, buy):
    before = {account: ledger.balance(account) for account in (ALICE, BOB, MARKET)}
    settle_purchase(client, buy())
    assert ledger.balance(BOB) == before[BOB] - 250 * HBAR
    assert ledger.balance(ALICE) == before[ALICE] + 250 * HBAR
    assert 0 < before[MARKET] - ledger.balance(MARKET) < HBAR


@pytest.mark.parametrize(
    ("basis_points", "price", "part"),
    [(250, 250, 625_000_000), (1, 1, 10_000), (5000, 3, 150_000_000), (3333, 1, 33_330_000)],
)
def test_the_marketplace_has_its_part(tmp_path, basis_points, price, part):
    app = create_app(SALE_FEE_BASIS_POINTS=basis_points, **settings(tmp_path))
    client = authorized_client(app, "read", "write")
    list_nft(client, price)
    r = client.post("/v1/buy/extwallet", json=KEYS | {"accountId": BOB})
    body = opened(r).body
    assert amounts(body) == {ALICE: price * HBAR - part, BOB: -price * HBAR, MARKET: part}
    settle_purchase(client, r)


def test_it_handles_a_price_at_the_edge_of_63_bits(nft, ledger, lister, buy):
    lister(nft, 50_000_000_000)
    assert_error(buy(), 409, "50,000,000,000 HBAR", "INSUFFICIENT_ACCOUNT_BALANCE")
    ledger.change_account(BOB, balance=50_000_000_000 * HBAR)
    body = opened(buy()).body
    assert amounts(body)[BOB] == -50_000_000_000 * HBAR


def test_it_rejects_what_is_not_stored_or_not_for_sale(client, buy):
    assert_error(buy(), 404, "NFT_NOT_STORED")
    client.post("/v1/add", json=KEYS)
    assert_error(buy(), 409, "NOT_LISTED")


@pytest.mark.parametrize(
    ("end", "owner"),
    [
        (lambda ledger, nft: ledger.withdraw(nft, ALICE), ALICE),
        (lambda ledger, nft: ledger.hand_over(nft, CHARLIE), CHARLIE),
    ],
)
def test_it_rejects_what_was_withdrawn_or_sold_a_second_ago(
    client, listed, ledger, buy, end, owner
):
    end(ledger, listed)
    assert_error(buy(), 409, "NOT_LISTED")
    assert shown(client)["owner"] == {"accountId": owner}


def test_it_rejects_ones_own_and_the_marketplace_itself(listed, buy):
    assert_error(buy(account_id=ALICE), 409, "BUYER_IS_OWNER", ALICE)
    assert_error(buy(account_id=MARKET), 409, f"{MARKET} is the marketplace's own account")


def test_it_rejects_another_price_than_was_expected(client, listed, ledger, buy):
    again = client.post("/v1/list/extwallet", json=KEYS | {"listingPrice": 300})
    ledger.sign_and_submit(again.json["byteArray"])
    body = assert_error(buy(expectedPrice=250), 409, "costs 300 HBAR now, not 250")
    assert body["errors"] == {"json": {"expectedPrice": ["is now 300"]}}
    transfer = opened(buy(expectedPrice=300)).body
    assert amounts(transfer)[BOB] == -300 * HBAR


@pytest.mark.parametrize("price", [250 * HBAR - 1, 0])
def test_it_rejects_who_cannot_pay(listed, ledger, buy, price):
    ledger.change_account(BOB, balance=price)
    body = assert_error(buy(), 409, "BUYER_BALANCE_TOO_LOW", f"{BOB} has ", "the price is 250 HBAR")
    assert body["errors"] == {"ledger": {"result": ["INSUFFICIENT_ACCOUNT_BALANCE"]}}
    ledger.change_account(BOB, balance=250 * HBAR)
    assert buy().status_code == 200


def test_it_rejects_who_is_not_associated(listed, ledger, buy):
    ledger.change_account(BOB, automatic_associations=0)
    body = assert_error(
        buy(),
        409,
        "BUYER_NOT_ASSOCIATED",
        f"{BOB} is not associated with {TOKEN}",
        "associate it first",
    )
    assert body["errors"] == {"ledger": {"result": ["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"]}}
    with ledger.sandbox.app_context(), write() as db:
        accounts.associate(db, BOB, TOKEN, times.now())
    assert buy().status_code == 200


def test_it_rejects_who_has_no_automatic_association_left(client, nft, ledger, lister, buy):
    ledger.change_account(BOB, automatic_associations=1)
    lister(nft)
    settle_purchase(client, buy())
    lister(("0.0.7002", 1))
    body = assert_error(
        buy(("0.0.7002", 1)), 409, "BUYER_NOT_ASSOCIATED", "may have no automatic association left"
    )
    assert body["errors"] == {"ledger": {"result": ["NO_REMAINING_AUTOMATIC_ASSOCIATIONS"]}}
    ledger.change_account(BOB, automatic_associations=2)
    assert buy(("0.0.7002", 1)).status_code == 200


def update(**fields):
    return lambda document: document.update(fields)


def update_token(**fields):
    one = {"token_id": TOKEN, "automatic_association": False, "balance": 0}
    answer = {"tokens": [one | fields], "links": {"next": None}}
    return lambda document: (document.clear(), document.update(answer))


@pytest.mark.parametrize(
    ("part", "change", "result"),
    [
        (f"/accounts/{BOB}", update(deleted=True), "ACCOUNT_DELETED"),
        (f"/accounts/{ALICE}", update(deleted=True), "ACCOUNT_DELETED"),
        (f"/accounts/{ALICE}", update(receiver_sig_required=True), "INVALID_SIGNATURE"),
        (f"/accounts/{BOB}/tokens", update_token(freeze_status="FROZEN"), "ACCOUNT_FROZEN"),
        (f"/accounts/{BOB}/tokens", update_token(kyc_status="REVOKED"), "ACCOUNT_KYC_NOT_GRANTED"),
        (f"/accounts/{ALICE}/tokens", update_token(freeze_status="FROZEN"), "ACCOUNT_FROZEN"),
        (f"/tokens/{TOKEN}", update(pause_status="PAUSED"), "TOKEN_IS_PAUSED"),
        # Of who is not associated yet: what the transfer's association begins with.
        (f"/tokens/{TOKEN}", update(freeze_default=True), "ACCOUNT_FROZEN"),
        (f"/tokens/{TOKEN}", update(kyc_key={"_type": "ED25519"}), "ACCOUNT_KYC_NOT_GRANTED"),
    ],
)
def test_it_rejects_what_the_ledger_would_refuse(listed, buy, mirror, part, change, result):
    mirror.alter(f"{part}$", change)
    assert_error(buy(), 409, result)


@pytest.mark.parametrize(
    ("part", "change"),
    [
        (f"/accounts/{BOB}", update(balance=None)),
        (f"/accounts/{BOB}", update(balance={"balance": -1})),
        (f"/accounts/{BOB}", update(max_automatic_token_associations="many")),
        ("/network/exchangerate", update(current_rate=None)),
        ("/network/exchangerate", update(next_rate={"cent_equivalent": 0, "hbar_equivalent": 1})),
        (f"/accounts/{BOB}/tokens", update(tokens="none")),
        (f"/accounts/{BOB}/tokens", update_token(token_id="0.0.7002")),
    ],
)
def test_an_answer_that_makes_no_sense_is_a_502(app, listed, buy, mirror, part, change):
    mirror.alter(f"{part}$", change)
    assert_error(buy(), 502, "invalid answer")
    assert list_purchases(app) == []


def test_it_says_what_is_missing_without_rest_java(listed, buy, mirror):
    mirror.answer("/network/", MISSING)
    assert_error(buy(), 502, "/network/exchangerate", "Buying needs its module rest-java")


def test_nulls_that_the_mirror_nodes_schema_allows_are_read(listed, buy, mirror):
    nulls = {"automatic_association": None, "freeze_status": None, "kyc_status": None}
    mirror.alter(f"/accounts/{BOB}/tokens$", update_token(**nulls))
    mirror.alter(f"/tokens/{TOKEN}/nfts/7$", update(deleted=None))
    mirror.alter(
        "/v1/transactions", lambda document: document["transactions"][0].update(charged_tx_fee=None)
    )
    assert buy().status_code == 200


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda mirror: mirror.set_present(times.now() - 17 * times.SECOND), "is 17 s behind"),
        (
            lambda mirror: mirror.alter(
                "/nfts/7/transactions", lambda it: it["transactions"].pop(0)
            ),
            "contradicts itself",
        ),
    ],
)
def test_it_rejects_replicas_that_are_behind_or_disagree(app, listed, buy, mirror, spoil, words):
    spoil(mirror)
    r = buy()
    assert_error(r, 503, words)
    assert r.headers["Retry-After"]
    assert list_purchases(app) == []


def test_it_is_valid_from_what_the_mirror_node_had_come_to(listed, buy, mirror):
    then = times.now() - 12 * times.SECOND
    mirror.set_present(then)
    body = opened(buy()).body
    start = body.transactionID.transactionValidStart
    assert then - times.SECOND < start.seconds * times.SECOND + start.nanos <= then


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (TESTNET, ("MARKETPLACE_ACCOUNT_KEY_FILE", "create_app(sign=...)")),
        ({"SALE_FEE_BUDGET": "0"}, ["MARKETPLACE_SALE_FEE_BUDGET is 0"]),
    ],
    ids=["no signer", "no budget"],
)
def test_without_a_signer_or_a_budget_nothing_is_bought(tmp_path, own, words):
    client = authorized_client(create_app(**settings(tmp_path), **own), "write")
    r = client.post("/v1/buy/extwallet", json=KEYS | {"accountId": BOB})
    assert_error(r, 501, *words)
