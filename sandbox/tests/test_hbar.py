"""The sandbox keeps HBAR: what everything costs, who pays it, and who can't."""

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox import times
from hiero_sandbox.database import read
from hiero_sandbox.hapi.services import answer
from hiero_sandbox.ledger import keys, network_fees
from hiero_sandbox.ledger.consensus import HANDLERS
from hiero_sandbox.ledger.envelopes import open_transaction, read_list
from hiero_sandbox.ledger.genesis import OPERATOR, known_accounts
from hiero_sandbox.messages import account
from hiero_sandbox.world import World
from sandbox.tests import hapi
from sandbox.tests.bodies import (
    FIRST,
    HBAR,
    MINTED_AT,
    NFT,
    allow,
    amounts,
    approval,
    association,
    id_of,
    make,
    minting,
    move,
    new_body,
    seal,
    sign,
    token_id,
    transfer,
)
from sandbox.tests.people import ALICE, BOB, CHARLIE, TOKEN, private_key

FEES = "0.0.802"
TREASURY = "0.0.1000"
ROYAL = ("0.0.5001", 1)  # an NFT of a collection with custom fees


def test_every_account_begins_with_10_000(get):
    shown = get("/accounts/0.0.4444")["balance"]
    assert (shown["balance"], shown["tokens"]) == (FIRST, [])
    [row] = get("/balances?account.id=0.0.4444")["balances"]
    assert row == {"account": "0.0.4444", "balance": FIRST, "tokens": []}


def test_the_payer_pays_the_fee(done, balance, minted):
    shown = done(approval(ALICE), ALICE)
    assert balance(ALICE) == FIRST - HBAR // 2
    assert balance(FEES) == FIRST + HBAR // 2
    assert (shown["charged_tx_fee"], shown["max_fee"]) == (HBAR // 2, "500000000")
    assert shown["transfers"] == [
        {"account": FEES, "amount": HBAR // 2, "is_approval": False},
        {"account": ALICE, "amount": -HBAR // 2, "is_approval": False},
    ]


def schedule(payer):
    body = new_body(payer, "")
    inner = body.scheduleCreate.scheduledTransactionBody
    inner.transactionFee = body.transactionFee
    allow(inner.cryptoApproveAllowance, NFT, ALICE, "0.0.9001")
    return body


def withdrawal(payer):
    deleted = {"token_id": token_id(NFT), "serial_numbers": NFT[1:]}
    return make(payer, "cryptoDeleteAllowance", nftAllowances=[deleted])


# In micro-dollars, by https://docs.hedera.com/networks/fees: at ten cents an HBAR, 1,000 tinybars each.
PRICES = {
    "an approval": (lambda: approval(ALICE), [ALICE], 50_000),
    "a withdrawal": (lambda: withdrawal(ALICE), [ALICE], 50_000),
    "HBAR": (lambda: transfer(ALICE, {ALICE: -5, BOB: 5}), [ALICE], 100),
    "HBAR of three": (lambda: transfer(ALICE, {ALICE: -5, BOB: 3, CHARLIE: 2}), [ALICE], 200),
    "HBAR, two signatures": (lambda: transfer(ALICE, {BOB: -5, ALICE: 5}), [ALICE, BOB], 200),
    # Bob is associated by the transfer: its payer pays for that, too.
    "an NFT": (lambda: transfer(ALICE, nfts=[(NFT, ALICE, BOB)]), [ALICE], 1_000 + 50_000),
    "an NFT with royalties": (
        lambda: transfer(ALICE, nfts=[(ROYAL, ALICE, BOB)]),
        [ALICE],
        2_000 + 50_000,
    ),
    "an association": (lambda: association(BOB, TOKEN), [BOB], 50_000),
    "two associations": (lambda: association(BOB, TOKEN, "0.0.7002"), [BOB], 100_000),
    "an NFT minted": (lambda: minting(TREASURY, TOKEN, b"a"), [TREASURY], 20_000),
    "two NFTs minted": (lambda: minting(TREASURY, TOKEN, b"a", b"b"), [TREASURY], 40_000),
    # The approval that it executes is paid by itself, without the fees of node and network.
    "a schedule": (lambda: schedule(ALICE), [ALICE], 10_000, 49_900),
}


@pytest.mark.parametrize("case", PRICES)
def test_it_costs_what_the_network_charges(done, rows, balance, ledger, minted, case):
    ledger.mint(ROYAL, ALICE, MINTED_AT)
    make_body, signers, *prices = PRICES[case]
    body, payer = make_body(), signers[0]
    done(body, *signers)
    charged = [shown["charged_tx_fee"] for shown in rows(body)]
    assert charged == [price * 1000 for price in prices]
    given = sum(
        amount.amount
        for amount in body.cryptoTransfer.transfers.accountAmounts
        if account(payer) == amount.accountID
    )
    assert balance(payer) == FIRST - sum(charged) + given


@pytest.mark.parametrize(("less", "result"), [(0, "SUCCESS"), (1, "INSUFFICIENT_TX_FEE")])
def test_a_fee_that_covers_the_price_is_enough(submit, balance, minted, less, result):
    body = approval(ALICE)
    body.transactionFee = HBAR // 2 - less
    assert submit(body, ALICE).result == result
    assert balance(ALICE) == FIRST - (HBAR // 2 if result == "SUCCESS" else 0)


def test_a_negative_fee_is_refused(submit, minted):
    body = approval(ALICE)
    body.transactionFee = 2**64 - 1  # -1, as SDKs send it
    assert submit(body, ALICE).result == "INSUFFICIENT_TX_FEE"


FAILURES = [
    ("INVALID_SIGNATURE", lambda: transfer(ALICE, {BOB: -1, ALICE: 1})),
    ("INVALID_SIGNATURE", lambda: approval(ALICE, owner=BOB)),
    ("INSUFFICIENT_ACCOUNT_BALANCE", lambda: transfer(ALICE, {BOB: -FIRST - 1, ALICE: FIRST + 1})),
    ("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT", lambda: transfer(ALICE, nfts=[(NFT, BOB, CHARLIE)])),
    ("TOKEN_NOT_ASSOCIATED_TO_ACCOUNT", lambda: approval(ALICE, owner=BOB)),
    ("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO", lambda: transfer(ALICE, nfts=[((TOKEN, 8), ALICE, BOB)])),
    ("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO", lambda: approval(ALICE, (TOKEN, 8))),
    ("SPENDER_DOES_NOT_HAVE_ALLOWANCE", lambda: transfer(ALICE, nfts=[(NFT, BOB, CHARLIE, True)])),
    ("SPENDER_ACCOUNT_SAME_AS_OWNER", lambda: approval(ALICE, spender=ALICE)),
    ("INVALID_TOKEN_NFT_SERIAL_NUMBER", lambda: approval(ALICE, (TOKEN, 0))),
    ("MAX_ALLOWANCES_EXCEEDED", lambda: approval(ALICE, *((TOKEN, n) for n in range(1, 22)))),
    ("ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON", lambda: fungible(ALICE)),
    (
        "TRANSFER_TO_FEE_COLLECTION_ACCOUNT_NOT_ALLOWED",
        lambda: transfer(ALICE, {ALICE: -1, FEES: 1}),
    ),
    (
        "TRANSFER_LIST_SIZE_LIMIT_EXCEEDED",
        lambda: transfer(ALICE, {ALICE: -10} | {f"0.0.{n}": 1 for n in range(3000, 3010)}),
    ),
]


def fungible(payer):
    moved = {"token": token_id(NFT), "transfers": amounts((ALICE, -1), (BOB, 1))}
    return make(payer, "cryptoTransfer", tokenTransfers=[moved])


@pytest.mark.parametrize(("result", "body"), FAILURES)
def test_what_fails_at_consensus_costs_the_fee_and_nothing_else(
    submit, row, balance, get, minted, result, body
):
    signers = [ALICE] if result == "INVALID_SIGNATURE" else [ALICE, BOB]
    receipt = submit(body(), *signers)
    assert (receipt.result, receipt.reached_consensus) == (result, True)
    shown = row(receipt)
    assert shown["result"] == result
    assert shown["charged_tx_fee"] > 0
    assert balance(ALICE) == FIRST - shown["charged_tx_fee"]
    assert balance(BOB) == FIRST
    assert {change["account"] for change in shown["transfers"]} == {ALICE, FEES}
    assert shown["nft_transfers"] == []
    nft = get(f"/tokens/{TOKEN}/nfts/7")
    assert (nft["account_id"], nft["spender"]) == (ALICE, None)


EDGE = 2**63 - 1


def repeated(*changes):
    return make(ALICE, "cryptoTransfer", transfers={"accountAmounts": amounts(*changes)})


def moved_twice():
    body = transfer(ALICE, nfts=[(NFT, ALICE, BOB)])
    move(body, NFT, ALICE, CHARLIE)
    return body


def empty_list():
    return make(ALICE, "cryptoTransfer", tokenTransfers=[{"token": token_id(NFT)}])


def lasting(seconds):
    body = approval(ALICE)
    body.transactionValidDuration.seconds = seconds
    return body


REFUSALS = [
    ("MEMO_TOO_LONG", lambda: approval(ALICE, memo="é" * 51)),
    ("INVALID_ZERO_BYTE_IN_STRING", lambda: approval(ALICE, memo="a\0b")),
    ("INVALID_TRANSACTION_DURATION", lambda: lasting(181)),
    ("INVALID_TRANSACTION_DURATION", lambda: lasting(5)),
    ("EMPTY_ALLOWANCES", lambda: make(ALICE, "cryptoApproveAllowance")),
    ("EMPTY_ALLOWANCES", lambda: make(ALICE, "cryptoDeleteAllowance")),
    ("INVALID_ACCOUNT_AMOUNTS", lambda: transfer(ALICE, {ALICE: -5, BOB: 4})),
    ("INVALID_ACCOUNT_AMOUNTS", lambda: transfer(ALICE, {ALICE: EDGE, BOB: EDGE})),
    # In 64 bits, these would add up to nothing.
    ("INVALID_ACCOUNT_AMOUNTS", lambda: transfer(ALICE, {ALICE: EDGE, BOB: EDGE, CHARLIE: 2})),
    ("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS", lambda: repeated((ALICE, -5), (BOB, 2), (BOB, 3))),
    ("INVALID_ACCOUNT_ID", lambda: repeated(("0.0.0", -5), (BOB, 5))),
    ("INVALID_TOKEN_NFT_SERIAL_NUMBER", lambda: transfer(ALICE, nfts=[((TOKEN, 0), ALICE, BOB)])),
    ("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS", lambda: transfer(ALICE, nfts=[(NFT, ALICE, ALICE)])),
    ("INVALID_TRANSFER_ACCOUNT_ID", lambda: transfer(ALICE, nfts=[(NFT, ALICE, "0.0.0")])),
    ("INVALID_ACCOUNT_AMOUNTS", moved_twice),
    ("EMPTY_TOKEN_TRANSFER_ACCOUNT_AMOUNTS", empty_list),
    ("INSUFFICIENT_PAYER_BALANCE", lambda: transfer(ALICE, {ALICE: -FIRST, BOB: FIRST})),
    ("INSUFFICIENT_PAYER_BALANCE", lambda: transfer(ALICE, {ALICE: -EDGE, BOB: EDGE})),
    (
        "INSUFFICIENT_PAYER_BALANCE",
        lambda: transfer(ALICE, {ALICE: -EDGE - 1, BOB: EDGE, CHARLIE: 1}),
    ),
    ("TOKEN_ID_REPEATED_IN_TOKEN_LIST", lambda: association(ALICE, TOKEN, TOKEN)),
    ("INSUFFICIENT_TX_FEE", lambda: association(ALICE, *(f"0.0.{n}" for n in range(11, 31)))),
]


@pytest.mark.parametrize(("result", "body"), REFUSALS)
def test_what_a_node_refuses_costs_nothing(submit, balance, get, minted, result, body):
    body = body()
    receipt = submit(body, ALICE, BOB)
    assert (receipt.result, receipt.reached_consensus) == (result, False)
    assert {balance(account_id) for account_id in (ALICE, BOB, FEES)} == {FIRST}
    assert "_status" in get(f"/transactions/{id_of(seal(body)).dashed}")


def purchase(buyer, price=250 * HBAR):
    return transfer("0.0.9001", {buyer: -price, ALICE: price}, [(NFT, ALICE, buyer, True)])


def test_who_signs_a_purchase_first_does_not_become_its_payer(submit, get, minted):
    submit(approval(ALICE), ALICE)
    assert submit(purchase(BOB), BOB, "0.0.9001").result == "SUCCESS"
    for account_id in (BOB, "0.0.9001"):
        own = private_key(account_id).public_key().to_bytes_raw().hex()
        assert get(f"/accounts/{account_id}")["key"]["key"] == own


def test_a_purchase_is_shown_whole(submit, done, minted):
    submit(approval(ALICE), ALICE)
    shown = done(purchase(BOB), "0.0.9001", BOB)
    # Two signatures, and the association of Bob.
    fee = HBAR // 100 + HBAR // 1000 + HBAR // 2
    assert shown["charged_tx_fee"] == fee
    assert [(change["account"], change["amount"]) for change in shown["transfers"]] == [
        (FEES, fee),
        (ALICE, 250 * HBAR),
        (BOB, -250 * HBAR),
        ("0.0.9001", -fee),
    ]
    assert shown["nft_transfers"] == [
        {
            "is_approval": True,
            "receiver_account_id": BOB,
            "sender_account_id": ALICE,
            "serial_number": 7,
            "token_id": TOKEN,
        }
    ]


def test_nobody_gets_more_than_64_bits_hold(submit, balance, ledger):
    submit(transfer(ALICE, {ALICE: -1, BOB: 1}), ALICE)
    ledger.change_account(BOB, balance=EDGE - 5)
    results = [submit(transfer(ALICE, {ALICE: -n, BOB: n}), ALICE).result for n in (6, 5, 1)]
    assert results == ["INVALID_ACCOUNT_AMOUNTS", "SUCCESS", "INVALID_ACCOUNT_AMOUNTS"]
    assert (balance(ALICE), balance(BOB)) == (FIRST - 6 - 4 * HBAR // 1000, EDGE)


def test_balances_are_paged(submit, follow):
    for number in range(5):
        submit(transfer(ALICE, {ALICE: -1, f"0.0.{3000 + number}": 1}), ALICE)
    rows = follow("/balances?limit=2&account.id=gte:0.0.1001", "balances")
    shown = [row["account"] for row in rows]
    assert shown == ["0.0.3004", "0.0.3003", "0.0.3002", "0.0.3001", "0.0.3000", ALICE]


def keys_of(count):
    """A list of simple keys."""
    return Key(keyList={"keys": [Key(ed25519=bytes([n]) * 32) for n in range(count)]})


ONE = Key(ed25519=bytes(32))
SIX = dict.fromkeys(
    ("freezeKey", "wipeKey", "supplyKey", "kycKey", "pause_key", "fee_schedule_key"), ONE
)
# In micro-dollars, as the network's calculators count keys.
KEYS = [
    ("consensusCreateTopic", {}, 10_000),
    ("consensusCreateTopic", {"adminKey": ONE, "submitKey": ONE}, 30_000),
    ("consensusCreateTopic", {"fee_exempt_key_list": [ONE, ONE]}, 10_000),
    ("consensusUpdateTopic", {"submitKey": keys_of(3)}, 220),
    ("consensusUpdateTopic", {"adminKey": ONE, "submitKey": keys_of(3)}, 10_220),
    ("cryptoCreateAccount", {"key": keys_of(3)}, 70_000),
    ("cryptoUpdateAccount", {"key": keys_of(2)}, 10_220),
    ("scheduleCreate", {"adminKey": keys_of(2)}, 20_000),
    ("tokenCreation", SIX, 1_050_000),
    ("tokenUpdate", SIX, 51_000),
]


@pytest.mark.parametrize(("kind", "fields", "price"), KEYS)
def test_each_key_beyond_those_included_costs_a_cent(ledger, kind, fields, price):
    with ledger.sandbox.app_context():
        body = make(ALICE, kind, **fields)
        signed = open_transaction(read_list(sign(body, ALICE))[0])
        fee = HANDLERS[kind].fee
        assert network_fees.price(read(), fee, signed) == price * HBAR // 100_000


def test_the_treasury_pays_no_fees(alone):
    """Nor for what a transfer creates by itself."""
    key = PrivateKey.generate_ecdsa()
    before = alone.balance(OPERATOR)
    body = transfer(OPERATOR, {OPERATOR: -5})
    to_alias = {"alias": keys.evm_address(key.public_key().to_bytes_raw())}
    body.cryptoTransfer.transfers.accountAmounts.add(accountID=to_alias, amount=5)
    body.transactionFee = 0
    assert alone.submit(body, OPERATOR) == "SUCCESS"
    assert alone.balance(OPERATOR) == before - 5
    assert alone.balance(FEES) == 0


def test_the_treasury_pays_for_no_query(alone):
    before = alone.balance(OPERATOR)
    with alone.app.app_context():
        [operator] = [each for each in known_accounts() if each.account_id == OPERATOR]
        body = transfer(OPERATOR, {OPERATOR: -100_000, "0.0.3": 100_000})
        paid = hapi.query(
            "cryptoGetInfo",
            payment=sign(body, operator.private_key),
            accountID=account("0.0.1002"),
        )
        [content] = answer(paid, times.now())
    assert hapi.answer(content, "cryptoGetInfo")[1] == "OK"
    assert alone.balance(OPERATOR) == before
    assert alone.get("/transactions").json["transactions"] == []


@pytest.mark.parametrize(("cents", "charged"), [(None, 83_333), (10, 100_000), (7, 142_857)])
def test_an_hbar_has_a_rate(alone, cents, charged):
    """Twelve cents as at hiero-local-node and Solo, unless the world has another one."""
    world = World()
    if cents:
        world.cents_per_hbar = cents
    alone = type(alone)(world=world)
    body = transfer("0.0.1002", {"0.0.1002": -1, "0.0.3": 1})
    assert alone.submit(body, "0.0.1002") == "SUCCESS"
    [row] = alone.get("/transactions").json["transactions"]
    assert row["charged_tx_fee"] == charged
    rate = alone.get("/network/exchangerate").json["current_rate"]
    assert rate["cent_equivalent"] / rate["hbar_equivalent"] == (cents or 12)
    content = sign(body, PrivateKey.generate_ed25519())
    estimate = alone.client.post("/api/v1/network/fees", data=content).json
    assert estimate["total"] == 1_000_000  # tinycents
