"""A sale has the price that the marketplace's own transaction named, whatever its buyer received in it."""

import pytest

from harness import wallets
from harness.apps import authorized_client, settings, write_sql
from harness.cast import ALICE, BOB, MARKET, TOKEN
from harness.mirror import Mirror
from marketplace import create_app
from marketplace.hedera import times
from marketplace.market.memos import purchase_memo
from marketplace.services import read
from tests.actions import buy_unseen, list_nft, shown
from tests.engines import both_engines
from tests.watcher.conftest import Watcher

HBAR = 100_000_000
REWARDER = "0.0.800"  # pays staking rewards
TIDES, ORBITS = "0.0.2001", "0.0.2002"  # collect the royalties of these two collections
ROYALTIES = {TIDES: ("0.0.5001", 1), ORBITS: ("0.0.5002", 1)}


def forget(app):
    """Let the purchases be prepared by another database."""
    write_sql(app, "DELETE FROM prepared_transaction")


def newest_event(app, nft=(TOKEN, 7)):
    """The newest event of an NFT: kind, from, to, price."""
    sql = """
        SELECT kind, from_account, to_account, price FROM event
        WHERE token = :token AND serial_no = :serial_no
        ORDER BY id DESC LIMIT 1
    """
    with app.app_context():
        row = read().execute(sql, {"token": nft[0], "serial_no": nft[1]}).fetchone()
    return row["kind"], row["from_account"], row["to_account"], row["price"]


def reward(mirror, account_id, amount):
    """Let an account have this many tinybars pending as a reward: its next transaction pays them out."""

    def change(document):
        for row in document["transactions"]:
            accounts = [transfer["account"] for transfer in row["transfers"]]
            if account_id in accounts:
                row["transfers"][accounts.index(account_id)]["amount"] += amount
                row["transfers"].append({"account": REWARDER, "amount": -amount})
                row["staking_reward_transfers"] = [{"account": account_id, "amount": amount}]

    mirror.alter("/api/v1/transactions", change)


@pytest.mark.parametrize("is_prepared_here", [True, False])
@pytest.mark.parametrize(("price", "amount"), [(100, 1), (100, 30 * HBAR), (1, HBAR)])
def test_a_buyer_with_a_staking_reward_pays_the_price(
    app, client, nft, lister, buy, watcher, mirror, is_prepared_here, price, amount
):
    lister(nft, price, add=False)
    buy_unseen(client, buy())
    if not is_prepared_here:
        forget(app)
    reward(mirror, BOB, amount)
    watcher.follow()
    assert newest_event(app) == ("SOLD", ALICE, BOB, price)
    collection = client.get(f"/v1/collection/{TOKEN}").json
    assert (collection["sales"], collection["volume"]) == (1, price)
    assert collection["lastSale"]["price"] == price


@pytest.mark.parametrize("is_prepared_here", [True, False])
@pytest.mark.parametrize("collector", ROYALTIES)
def test_a_collector_of_the_royalty_pays_the_price(
    app, client, lister, buy, watcher, collector, is_prepared_here
):
    nft = ROYALTIES[collector]
    lister(nft, 10)
    buy_unseen(client, buy(nft, collector), collector)
    if not is_prepared_here:
        forget(app)
    watcher.follow()
    assert newest_event(app, nft) == ("SOLD", ALICE, collector, 10)


@pytest.mark.parametrize("is_prepared_here", [True, False])
def test_the_marketplaces_part_is_in_the_price(tmp_path, is_prepared_here):
    app = create_app(**settings(tmp_path) | {"SALE_FEE_BASIS_POINTS": "250"})
    client, watcher = authorized_client(app, "read", "write"), Watcher(app)
    watcher.read()
    list_nft(client, 3)
    keys = {"accountId": BOB, "tokenId": TOKEN, "serialNo": 7}
    buy_unseen(client, client.post("/v1/buy/extwallet", json=keys), BOB)
    if not is_prepared_here:
        forget(app)
    reward(Mirror(app), BOB, 3 * HBAR + 1)
    watcher.follow()
    watcher.rechecker.close()
    assert newest_event(app) == ("SOLD", ALICE, BOB, 3)


def move_by_hand(ledger, nft, paid, memo):
    """A transfer that the owner of the marketplace's account made in another program. Bob pays Alice."""
    body = wallets.new_body(MARKET, memo)
    for account_id, amount in ((BOB, -paid), (ALICE, paid)):
        if paid:
            body.cryptoTransfer.transfers.accountAmounts.add(
                accountID=wallets.account(account_id), amount=amount
            )
    moved = body.cryptoTransfer.tokenTransfers.add(token=wallets.token_id(nft))
    moved.nftTransfers.add(
        senderAccountID=wallets.account(ALICE),
        receiverAccountID=wallets.account(BOB),
        serialNumber=nft[1],
        is_approval=True,
    )
    content = wallets.seal(body)
    for signer in (MARKET, BOB):
        content = ledger.sign_bytes(content, signer)
    assert ledger.submit(content).result == "SUCCESS"


@pytest.mark.parametrize(
    ("paid", "memo", "kind"),
    [
        (5 * HBAR, purchase_memo(TOKEN, 7, 5, "Foo"), "SOLD"),
        (5 * HBAR, purchase_memo(TOKEN, 7, 500, "Foo"), "TRANSFERRED"),
        (0, purchase_memo(TOKEN, 7, 5, "Foo"), "TRANSFERRED"),
        (5 * HBAR, purchase_memo(TOKEN, 8, 5, "Foo"), "TRANSFERRED"),
        (5 * HBAR, "for 5 HBAR", "TRANSFERRED"),
        (5 * HBAR, "", "TRANSFERRED"),
    ],
)
def test_a_transfer_by_the_account_is_a_sale_only_if_its_memo_has_the_paid_price(
    app, client, nft, lister, ledger, watcher, paid, memo, kind
):
    lister(nft, 5, add=False)
    move_by_hand(ledger, nft, paid, memo)
    watcher.follow()
    assert newest_event(app) == (kind, ALICE, BOB, 5 if kind == "SOLD" else None)
    assert shown(client)["owner"] == {"accountId": BOB}


@both_engines
def test_a_sale_whose_transaction_is_not_shown_yet_is_not_called_a_gift(
    client, app, nft, lister, buy, watcher, mirror
):
    lister(nft, 5, add=False)
    buy_unseen(client, buy())
    forget(app)
    mirror.alter("/api/v1/transactions/", lambda document: document["transactions"].clear())
    watcher.follow()
    assert newest_event(app)[0] == "LISTED"
    mirror.heal()
    watcher.recheck(60)
    assert newest_event(app) == ("SOLD", ALICE, BOB, 5)


@both_engines
def test_a_strangers_transfer_says_nothing_of_a_price(app, nft, ledger, watcher):
    """Whoever pays for it, the marketplace did not."""
    body = wallets.new_body(ALICE, purchase_memo(TOKEN, 7, 1_000_000, "Foo"))
    moved = body.cryptoTransfer.tokenTransfers.add(token=wallets.token_id(nft))
    moved.nftTransfers.add(
        senderAccountID=wallets.account(ALICE),
        receiverAccountID=wallets.account(BOB),
        serialNumber=7,
    )
    assert ledger.submit(ledger.sign_bytes(wallets.seal(body)), times.now()).result == "SUCCESS"
    watcher.follow()
    assert newest_event(app) == ("TRANSFERRED", ALICE, BOB, None)
