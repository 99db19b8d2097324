"""Transactions that are not what was ordered, and some that are: cases of our rules and of clients/market.

Both test suites read tampered.json. After a change here: .venv/bin/python -m tests.market.tampered
"""

import base64
import json
from pathlib import Path

from hiero_sdk_python.hapi.services.basic_types_pb2 import (
    AccountAmount,
    Key,
    NftTransfer,
    TokenTransferList,
)
from hiero_sdk_python.hapi.services.crypto_approve_allowance_pb2 import (
    CryptoAllowance,
    TokenAllowance,
)
from hiero_sdk_python.hapi.services.schedulable_transaction_body_pb2 import (
    SchedulableTransactionBody,
)
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from harness import wallets
from harness.cast import ALICE, BOB, CHARLIE, MARKET, TOKEN
from marketplace.hedera import signatures, transactions
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import (
    ScheduledSale,
    make_account_id,
    make_schedule_id,
    make_token_id,
)
from marketplace.market.memos import (
    acceptance_memo,
    basket_memo,
    bulk_listing_memo,
    listing_memo,
    offer_memo,
    offer_withdrawal_memo,
    purchase_memo,
    withdrawal_memo,
)
from marketplace.market.offers.rule import MAX_FEE_TINYBARS

FILE = Path(__file__).with_suffix(".json")
START, DAY = 1_790_000_000, 86_400
BASIS_POINTS = 100
OFFER_ID, OTHER_TOKEN = "0.0.8001", "0.0.7002"
OTHER = make_token_id(OTHER_TOKEN)
UNKNOWN = b"\xf8\x3f\1"  # a field that no message has
MEMO = offer_memo(TOKEN, 7, 250, "Foo")
NFT = {"tokenId": TOKEN, "serialNo": 7}
ORDERS = {
    "list": {"accountId": ALICE, **NFT, "listingPrice": 250},
    "list several": {"accountId": ALICE, "tokenId": TOKEN, "serialNos": [7, 8], "listingPrice": 5},
    "withdraw": {"accountId": ALICE, **NFT},
    "buy": {"accountId": BOB, **NFT, "expectedPrice": 250},
    "buy several": {
        "accountId": BOB,
        "nfts": [
            NFT | {"expectedPrice": 250},
            {"tokenId": OTHER_TOKEN, "serialNo": 2**63 - 1, "expectedPrice": 50_000_000_000},
        ],
    },
    "offer": {"accountId": BOB, **NFT, "offerPrice": 250, "expiresIn": 7},
    "accept": {"accountId": ALICE, "offerId": OFFER_ID, "expectedPrice": 250},
    "withdrawOffer": {"accountId": BOB, "offerId": OFFER_ID},
}


def envelope(payer, memo, **fields):
    values = dict(transaction_id=TransactionId(payer, START, 5), memo=memo, valid_seconds=180)
    return values | dict(max_fee_tinybars=500_000_000, node_account_id="0.0.3") | fields


# What is ordered


def listing():
    memo = listing_memo(TOKEN, 7, 250, "Foo")
    return transactions.build_listing(
        token=TOKEN, serial_nos=[7], spender=MARKET, **envelope(ALICE, memo)
    )


def listings():
    memo = bulk_listing_memo(TOKEN, 5, "Foo")
    return transactions.build_listing(
        token=TOKEN, serial_nos=[7, 8], spender=MARKET, **envelope(ALICE, memo)
    )


def withdrawal():
    memo = withdrawal_memo(TOKEN, 7, "Foo")
    return transactions.build_withdrawal(token=TOKEN, serial_nos=[7], **envelope(ALICE, memo))


def purchase(*nfts, memo):
    return transactions.write_unsigned(
        transactions.build_purchase_body(
            nfts=nfts, buyer=BOB, fee_basis_points=BASIS_POINTS, **envelope(MARKET, memo)
        )
    )


def purchase_of_one():
    sold = transactions.SoldNft(TOKEN, 7, ALICE, 250)
    return purchase(sold, memo=purchase_memo(TOKEN, 7, 250, "Foo"))


def basket():
    sold = transactions.SoldNft(TOKEN, 7, ALICE, 250)
    other = transactions.SoldNft(OTHER_TOKEN, 2**63 - 1, CHARLIE, 50_000_000_000)
    return purchase(sold, other, memo=basket_memo(2, 50_000_000_250, "Foo"))


def acceptance():
    memo = acceptance_memo(TOKEN, 7, 250, "Foo")
    return transactions.build_offer_signature(schedule_id=OFFER_ID, **envelope(ALICE, memo))


def retraction():
    memo = offer_withdrawal_memo("Withdrawing", TOKEN, 7, 250, "Foo")
    return transactions.build_offer_withdrawal(schedule_id=OFFER_ID, **envelope(BOB, memo))


def sale(**fields):
    """What Bob offers: 250 HBAR for Alice's NFT, of which the marketplace gets a hundredth."""
    values = dict(token=TOKEN, serial_no=7, seller=ALICE, bidder=BOB, price=250, memo=MEMO)
    values |= dict(market=MARKET, part_tinybars=250_000_000, max_fee_tinybars=50_000_000)
    return ScheduledSale(**values | fields)


def offered(body=None, **fields):
    """A schedule: its facts, and the bytes of its SchedulableTransactionBody."""
    facts = dict(creator=BOB, payer=BOB, waits_for_expiry=False, memo=MEMO) | fields
    return facts | {"body": sale().build().SerializeToString() if body is None else body}


def creation(facts):
    """The ScheduleCreate of a schedule, unsigned."""
    key = Key(ed25519=bytes(range(32)))
    content = transactions.build_offer(
        sale=sale(), expires_at=START + 7 * DAY, admin_keys=[key], **envelope(BOB, facts["memo"])
    )
    body = wallets.body_of(content)
    body.transactionID.accountID.CopyFrom(make_account_id(facts["creator"]))
    schedule = body.scheduleCreate
    schedule.ClearField("scheduledTransactionBody")
    schedule.ClearField("payerAccountID")
    if facts["payer"]:
        schedule.payerAccountID.CopyFrom(make_account_id(facts["payer"]))
    schedule.memo, schedule.wait_for_expiry = facts["memo"], facts["waits_for_expiry"]
    # Its field 1, as it stands: the bytes may be no message.
    length = len(facts["body"])
    prefix = bytes([10, length]) if length < 128 else bytes([10, length % 128 | 128, length // 128])
    inner = prefix + facts["body"] + schedule.SerializeToString()
    body.ClearField("scheduleCreate")
    size = len(inner)
    return transactions.write_unsigned(
        body.SerializeToString()
        + bytes([42 * 8 % 128 | 2 | 128, 42 * 8 // 128, size % 128 | 128, size // 128])
        + inner
    )


# What is changed


def tampered(change, **fields):
    """The scheduled transaction with one more change."""
    body = sale(**fields).build()
    change(body)
    return body.SerializeToString()


def transfers(body):
    return body.cryptoTransfer.transfers.accountAmounts


def units(body):
    return body.cryptoTransfer.tokenTransfers


def nft(body):
    return units(body)[0].nftTransfers[0]


def amounts(**changes):
    """Another amount for each of these, in tinybars more."""

    def change(body):
        for each in transfers(body):
            name = {ALICE: "seller", BOB: "bidder", MARKET: "market"}[
                f"0.0.{each.accountID.accountNum}"
            ]
            each.amount += changes.get(name, 0)

    return change


def receive(account):
    return AccountAmount(accountID=make_account_id(account), amount=1)


def copy(target, account):
    target.CopyFrom(make_account_id(account))


SCHEDULES = {
    "another account created it": offered(creator=CHARLIE),
    "the marketplace created it": offered(creator=MARKET),
    "another account pays for its execution": offered(payer=CHARLIE),
    "nobody is named who pays for its execution": offered(payer=None),
    "it waits for its expiry": offered(waits_for_expiry=True),
    "its own memo is another": offered(memo=offer_memo(TOKEN, 7, 251, "Foo")),
    "its own memo is empty": offered(memo=""),
    "its transaction is empty": offered(b""),
    "its transaction is no message": offered(b"\xff\xff"),
    "its transaction is another": offered(
        SchedulableTransactionBody(tokenMint={"amount": 1}).SerializeToString()
    ),
    "its memo names another price": offered(tampered(lambda body: None, price=251)),
    "its memo names another NFT": offered(tampered(lambda body: None, serial_no=8)),
    "its memo names another token": offered(tampered(lambda body: None, token=OTHER_TOKEN)),
    "its memo is a listing's": offered(
        tampered(lambda body: None, memo=f"Listing NFT with {TOKEN} and Serial Number 7 for 250 HBAR")
    ),
    "the owner gives it to itself": offered(tampered(lambda body: None, seller=BOB)),
    "the marketplace bids": offered(tampered(lambda body: None, bidder=MARKET), payer=MARKET),
    "the NFT goes to somebody else": offered(
        tampered(lambda body: copy(nft(body).receiverAccountID, CHARLIE))
    ),
    "the NFT comes from somebody else": offered(
        tampered(lambda body: copy(nft(body).senderAccountID, CHARLIE))
    ),
    "the NFT is moved by an approval": offered(
        tampered(lambda body: setattr(nft(body), "is_approval", True))
    ),
    "it moves another NFT of the token, too": offered(
        tampered(lambda body: units(body)[0].nftTransfers.add(serialNumber=8,
            senderAccountID=make_account_id(ALICE), receiverAccountID=make_account_id(BOB)))
    ),
    "it moves an NFT of another token, too": offered(
        tampered(lambda body: units(body).add(
            token=make_token_id(OTHER_TOKEN), nftTransfers=[NftTransfer(serialNumber=1)]))
    ),
    "it moves another token, too": offered(
        tampered(lambda body: units(body).append(
            TokenTransferList(token=make_token_id("0.0.9999"), transfers=[receive(ALICE)])))
    ),
    "it moves units of the token, too": offered(
        tampered(lambda body: units(body)[0].transfers.append(receive(ALICE)))
    ),
    "it moves no NFT": offered(tampered(lambda body: units(body).pop())),
    "it names decimals": offered(tampered(lambda body: units(body)[0].expected_decimals.SetInParent())),
    "it pays somebody else, too": offered(tampered(lambda body: transfers(body).append(receive(CHARLIE)))),
    "it pays the owner twice": offered(tampered(lambda body: transfers(body).append(receive(ALICE)))),
    "the bidder pays by an approval": offered(
        tampered(lambda body: setattr(transfers(body)[1], "is_approval", True))
    ),
    "the bidder pays a tinybar more": offered(tampered(amounts(bidder=-1, seller=1))),
    "the bidder pays more than the owner is paid": offered(tampered(amounts(bidder=-TINYBARS))),
    "the bidder pays less than the owner is paid": offered(tampered(amounts(seller=1))),
    "the marketplace gets more than the price": offered(
        tampered(lambda body: None, part_tinybars=251 * TINYBARS)
    ),
    "the marketplace gets less than it asks for": offered(tampered(amounts(market=-1, seller=1))),
    "the marketplace pays": offered(tampered(lambda body: None, part_tinybars=-1)),
    "it costs nothing": offered(
        tampered(lambda body: None, price=0, part_tinybars=0, memo=MEMO.replace("250", "0"))
    ),
    "its fee has no cap": offered(tampered(lambda body: None, max_fee_tinybars=0)),
    "its fee is too high": offered(tampered(lambda body: None, max_fee_tinybars=MAX_FEE_TINYBARS + 1)),
    "it has custom fee limits": offered(tampered(lambda body: body.max_custom_fees.add())),
    "it has an unknown field": offered(sale().build().SerializeToString() + UNKNOWN),
    "its transfer has an unknown field": offered(
        tampered(lambda body: body.cryptoTransfer.MergeFromString(UNKNOWN))
    ),
    "its NFT has an unknown field": offered(tampered(lambda body: nft(body).MergeFromString(UNKNOWN))),
    "its owner is an alias": offered(
        tampered(lambda body: setattr(nft(body).senderAccountID, "alias", b"x"))
    ),
}  # fmt: skip
FORMS = {
    "as the service builds it": {},
    "with more for the marketplace than it asks for": {"part_tinybars": 300_000_000},
    "with all for the marketplace": {"part_tinybars": 250 * TINYBARS},
    "from the marketplace's own account": {"seller": MARKET, "part_tinybars": 0},
    "with the highest cap": {"max_fee_tinybars": MAX_FEE_TINYBARS},
}


def memo(text):
    return lambda body: setattr(body, "memo", text)


def pay(account, tinybars):
    """A further payment, from the buyer."""

    def change(body):
        transfers(body).add(accountID=make_account_id(account), amount=tinybars)
        [own] = [each for each in transfers(body) if each.amount < 0]
        own.amount -= tinybars

    return change


def pay_less(body):
    for amount in transfers(body):
        amount.amount //= 5


def pay_another(body):
    [seller] = [each for each in transfers(body) if each.accountID == make_account_id(ALICE)]
    copy(seller.accountID, CHARLIE)


def add_nft(body):
    units(body)[0].nftTransfers.add(
        serialNumber=8,
        senderAccountID=make_account_id(BOB),
        receiverAccountID=make_account_id(CHARLIE),
    )


# Each is a change of the body.
PURCHASES = {
    "it pays less": pay_less,
    "it pays more": lambda body: [setattr(each, "amount", each.amount * 2) for each in transfers(body)],
    "it pays another account": pay_another,
    "it pays another account, too": pay(CHARLIE, 1),
    "it moves an NFT of the buyer, too": add_nft,
    "it moves another NFT": lambda body: setattr(nft(body), "serialNumber", 8),
    "it moves an NFT of another token": lambda body: units(body)[0].token.CopyFrom(OTHER),
    "it moves no NFT": lambda body: units(body).pop(),
    "the NFT goes to somebody else": lambda body: copy(nft(body).receiverAccountID, CHARLIE),
    "the NFT is not moved by an approval": lambda body: setattr(nft(body), "is_approval", False),
    "its memo is another": memo("hello"),
    "the buyer pays for it": lambda body: copy(body.transactionID.accountID, BOB),
    "it has a nonce": lambda body: setattr(body.transactionID, "nonce", 1),
    "it has an unknown field": lambda body: body.MergeFromString(b"\xfa\x7f\x01x"),
}  # fmt: skip


def allowance(body):
    return body.cryptoApproveAllowance.nftAllowances[0]


def about(name, schedule_id):
    return lambda body: getattr(body, name).scheduleID.CopyFrom(make_schedule_id(schedule_id))


def approve(name, kind):
    """Of HBAR, or of units of a token, too."""
    own = kind(
        owner=make_account_id(ALICE),
        spender=make_account_id(CHARLIE),
        amount=1,
    )
    return lambda body: getattr(body.cryptoApproveAllowance, name).append(own)


LISTINGS = {
    "its spender is another": lambda body: copy(allowance(body).spender, CHARLIE),
    "its owner is another": lambda body: copy(allowance(body).owner, CHARLIE),
    "another pays for it": lambda body: copy(body.transactionID.accountID, CHARLIE),
    "it approves another NFT": lambda body: allowance(body).serial_numbers.__setitem__(0, 8),
    "it approves another NFT, too": lambda body: allowance(body).serial_numbers.append(8),
    "it approves an NFT of another token": lambda body: allowance(body).tokenId.CopyFrom(OTHER),
    "it approves an NFT of another token, too": lambda body: wallets.allow(
        body.cryptoApproveAllowance, (OTHER_TOKEN, 7), ALICE, MARKET),
    "it approves the whole token": lambda body: setattr(allowance(body).approved_for_all, "value", True),
    "it has a delegating spender": lambda body: copy(allowance(body).delegating_spender, CHARLIE),
    "it approves HBAR, too": approve("cryptoAllowances", CryptoAllowance),
    "it approves units of a token, too": approve("tokenAllowances", TokenAllowance),
    "its memo names another price": memo(listing_memo(TOKEN, 7, 25, "Foo")),
    "its memo names another NFT": memo(listing_memo(TOKEN, 8, 250, "Foo")),
    "its memo goes on after the price": memo(listing_memo(TOKEN, 7, 250, "") + "0"),
    "its memo is empty": memo(""),
    "its fee is too high": lambda body: setattr(body, "transactionFee", 10 * TINYBARS + 1),
    "it has custom fee limits": lambda body: body.max_custom_fees.add(),
    "it is a transfer": lambda body: body.cryptoTransfer.SetInParent(),
}  # fmt: skip


def removal(body):
    return body.cryptoDeleteAllowance.nftAllowances[0]


WITHDRAWALS = {
    "its owner is another": lambda body: copy(removal(body).owner, CHARLIE),
    "it is about another NFT, too": lambda body: removal(body).serial_numbers.append(8),
    "its memo lists the NFT": memo(listing_memo(TOKEN, 7, 250, "Foo")),
}  # fmt: skip
ACCEPTANCES = {
    "it is about another offer": about("scheduleSign", "0.0.8002"),
    "its memo names another price": memo(acceptance_memo(TOKEN, 7, 25, "Foo")),
    "another pays for it": lambda body: copy(body.transactionID.accountID, CHARLIE),
    "it deletes the offer": about("scheduleDelete", OFFER_ID),
}  # fmt: skip
RETRACTIONS = {
    "it is about another offer": about("scheduleDelete", "0.0.8002"),
    "it signs the offer": about("scheduleSign", OFFER_ID),
}  # fmt: skip


def change(content, act):
    """The bytes of a transaction whose body was changed."""
    body = TransactionBody.FromString(signatures.read(content).body)
    act(body)
    return transactions.write_unsigned(body.SerializeToString())


def cases():
    """Each case: {order, case, transaction, isRight}, and the facts of a schedule."""
    right = {
        "list": listing(),
        "list several": listings(),
        "withdraw": withdrawal(),
        "buy": purchase_of_one(),
        "buy several": basket(),
        "accept": acceptance(),
        "withdrawOffer": retraction(),
    }
    for order, content in right.items():
        yield _case(order, "as the service builds it", content, is_right=True)
    for case, fields in FORMS.items():
        yield _offer(case, offered(sale(**fields).build().SerializeToString()), is_right=True)
    for case, facts in SCHEDULES.items():
        yield _offer(case, facts, is_right=False)
    wrong = {
        "list": LISTINGS,
        "withdraw": WITHDRAWALS,
        "buy": PURCHASES,
        "accept": ACCEPTANCES,
        "withdrawOffer": RETRACTIONS,
    }
    for order, changes in wrong.items():
        for case, act in changes.items():
            yield _case(order, case, change(right[order], act), is_right=False)


def _case(order, case, content, *, is_right, **facts):
    transaction = base64.b64encode(content).decode()
    return {"order": order, "case": case, "isRight": is_right, "transaction": transaction, **facts}


def _offer(case, facts, *, is_right):
    schedule = facts | {"body": base64.b64encode(facts["body"]).decode()}
    return _case("offer", case, creation(facts), is_right=is_right, schedule=schedule)


def write():
    document = {
        "marketplace": MARKET,
        "feeBasisPoints": BASIS_POINTS,
        "orders": ORDERS,
        "cases": [*cases()],
    }
    return json.dumps(document, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(write())
