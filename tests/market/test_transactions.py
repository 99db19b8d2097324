import pytest
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key
from hiero_sdk_python.hapi.services.schedule_create_pb2 import ScheduleCreateTransactionBody

from harness.wallets import account
from hiero_sandbox.ledger import envelopes
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import (
    ScheduledSale,
    build_listing,
    build_offer,
    build_offer_signature,
    build_offer_withdrawal,
)
from marketplace.market.memos import (
    bulk_listing_memo,
    bulk_withdrawal_memo,
    is_bulk_listing_memo,
    is_withdrawal_memo,
    listing_memo,
    offer_memo,
    purchase_memo,
    read_listing_memo,
    read_offer_memo,
    withdrawal_memo,
)

# Built by @hashgraph/sdk 2.81.0: approveTokenNftAllowance(0.0.5005/7, 0.0.1001, 0.0.9001), transaction id
# 0.0.1001@1790000000.000000005, node 0.0.3, 5 hbar, 180 s, memo "hi", frozen, toBytes().
BY_JAVASCRIPT = (
    "0a572a550a510a150a080880f7c4d506100512070800100018e907180012060800100018031880ca"
    "b5ee01220308b40132026869820320121e0a0708001000188d2712070800100018e9071a07080010"
    "0018a9462201071200"
)


# Built by @hiero-ledger/sdk 2.87.0: the same, as ScheduleSign and ScheduleDelete of the schedule 0.0.7777.
SIGNATURE_BY_JAVASCRIPT, WITHDRAWAL_BY_JAVASCRIPT = (
    "0a402a3e0a3a0a150a080880f7c4d506100512070800100018e907180012060800100018031880cab5ee01"
    f"220308b40132026869{field}02090a070800100018e13c1200"
    for field in ("e2", "da")
)
ENVELOPE = {
    "transaction_id": TransactionId("0.0.1001", 1_790_000_000, 5),
    "memo": "hi",
    "max_fee_tinybars": 500_000_000,
    "valid_seconds": 180,
    "node_account_id": "0.0.3",
}


def build(**fields):
    values = {"token": "0.0.5005", "serial_nos": [7], "spender": "0.0.9001"}
    return build_listing(**ENVELOPE | values | fields)


def test_it_builds_the_bytes_that_the_javascript_sdk_builds():
    assert build().hex() == BY_JAVASCRIPT


def test_it_builds_an_offers_signature_and_withdrawal_as_the_javascript_sdk_does():
    named = ENVELOPE | {"schedule_id": "0.0.7777"}
    assert build_offer_signature(**named).hex() == SIGNATURE_BY_JAVASCRIPT
    assert build_offer_withdrawal(**named).hex() == WITHDRAWAL_BY_JAVASCRIPT


def test_an_offer_schedules_its_sale():
    sale = ScheduledSale(
        "0.0.5005", 7, "0.0.1001", "0.0.1002", 250, 0, "0.0.9001", "hi", 50_000_000
    )
    admin_keys = [Key(ed25519=bytes([200]) * 32), Key(ECDSA_secp256k1=bytes([2]) * 33)]
    bidder = {"transaction_id": TransactionId("0.0.1002", 1_790_000_000, 5)}
    content = build_offer(
        sale=sale, expires_at=1_795_000_000, admin_keys=admin_keys, **ENVELOPE | bidder
    )
    [transaction] = envelopes.read_list(content)
    body = envelopes.open_transaction(transaction).body
    assert body.scheduleCreate == ScheduleCreateTransactionBody(
        scheduledTransactionBody=sale.build(),
        memo="hi",
        adminKey={"thresholdKey": {"threshold": 1, "keys": {"keys": admin_keys}}},
        payerAccountID=account("0.0.1002"),
        expiration_time={"seconds": 1_795_000_000},
    )


@pytest.mark.parametrize("name", ["Market", "M" * 200, "é" * 90, "🦭" * 40, ""])
def test_an_offers_memo_is_read_as_it_was_written(name):
    for token, serial_no in (("0.0.49139498", 123456), ("0.0.9223372036854775807", 2**63 - 1)):
        memo = offer_memo(token, serial_no, 50_000_000_000, name)
        assert len(memo.encode()) <= 100
        assert memo.startswith("Offer of 50000000000 HBAR for ")
        assert read_offer_memo(memo.encode(), token, serial_no) == 50_000_000_000
        assert read_offer_memo(memo.encode(), token, serial_no - 1) is None
    assert read_offer_memo(b"Offer of 05 HBAR for 0.0.5 and Serial Number 1", "0.0.5", 1) is None
    assert read_offer_memo(b"Offer of 5 HBAR for 0.0.5 and Serial Number 12", "0.0.5", 1) is None


def test_its_bytes_mean_what_the_python_sdk_means():
    [transaction] = envelopes.read_list(build(memo="für 5", serial_nos=[2**63 - 1]))
    body, body_bytes, *_ = envelopes.open_transaction(transaction)
    assert body.memo == "für 5"
    assert list(body.cryptoApproveAllowance.nftAllowances[0].serial_numbers) == [2**63 - 1]
    # Without the zeros that JavaScript writes, nothing else is left over.
    assert len(body_bytes) - body.ByteSize() == 5 * 4 + 2


@pytest.mark.parametrize("name", ["Market", "M" * 200, "é" * 90, "🦭" * 40])
def test_a_memo_fits_and_keeps_the_price(name):
    memo = listing_memo("0.0.49139498", 123456, 50_000_000_000, name)
    assert len(memo.encode()) <= 100
    assert memo.startswith("Listing NFT with 0.0.49139498 and Serial Number 123456")
    assert " for 50000000000 HBAR on " in memo


@pytest.mark.parametrize("name", ["Market", "M" * 200, "é" * 90, "🦭" * 40])
@pytest.mark.parametrize("token", ["0.0.5005", "0.0.9223372036854775807"])
def test_memos_of_other_transactions_fit(name, token):
    for memo in (
        withdrawal_memo(token, 2**63 - 1, name),
        purchase_memo(token, 2**63 - 1, 50_000_000_000, name),
    ):
        assert len(memo.encode()) <= 100
        assert str(2**63 - 1) in memo
    assert " for 50000000000 HBAR" in memo


@pytest.mark.parametrize("name", ["Market", "M" * 200, "é" * 90, "🦭" * 40, ""])
def test_a_memo_of_several_names_the_token_and_the_price_of_each(name):
    memo = bulk_listing_memo("0.0.49139498", 50_000_000_000, name)
    assert memo.startswith("Listing NFTs of 0.0.49139498 for 50000000000 HBAR each")
    assert len(memo.encode()) <= 100
    assert is_bulk_listing_memo(memo.encode())
    for serial_no in (1, 2**63 - 1):
        assert read_listing_memo(memo.encode(), "0.0.49139498", serial_no) == 50_000_000_000
    assert read_listing_memo(memo.encode(), "0.0.4913949", 1) is None
    assert is_withdrawal_memo(bulk_withdrawal_memo("0.0.5", name).encode(), "0.0.5", 9)


def test_a_memo_of_several_has_no_other_form():
    for memo in (
        b"Listing NFTs of 0.0.5 for 10 HBAR on Foo",
        b"Listing NFTs of 0.0.5 for 10 HBAR eachon Foo",
        b"Listing NFTs of 0.0.5 and 0.0.6 for 10 HBAR each",
        b"Listing NFT of 0.0.5 for 10 HBAR each",
        b"Listing NFTs of 0.0.5 for 0 HBAR each",
    ):
        assert read_listing_memo(memo, "0.0.5", 1) is None
        assert not is_bulk_listing_memo(memo)


def test_a_withdrawals_memo_is_known_by_any_name():
    for name in ("Market", "", "M" * 200):
        memo = withdrawal_memo("0.0.5005", 7, name).encode()
        assert is_withdrawal_memo(memo, "0.0.5005", 7)
        assert not is_withdrawal_memo(memo, "0.0.5005", 8)
        assert not is_withdrawal_memo(memo, "0.0.500", 7)
    assert not is_withdrawal_memo(
        b"Delisting NFT with 0.0.5005 and Serial Number 77", "0.0.5005", 7
    )


def test_a_memo_of_the_longest_identifiers_keeps_the_price():
    largest = 2**63 - 1
    longest = f"{largest}.{largest}.{largest}"
    memo = bulk_listing_memo(longest, 50_000_000_000, "Market")
    assert memo == "Listing NFTs for 50000000000 HBAR each"
    memo = listing_memo(longest, largest, 50_000_000_000, "Market")
    assert memo == f"Listing NFT with Serial Number {largest} for 50000000000 HBAR"
