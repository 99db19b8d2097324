"""List, withdraw and buy an NFT with clients that were generated from our two documents."""

import json
import sys

from market import AuthenticatedClient
from market.api.collections import get_collection
from market.api.listings import (
    prepare_listing,
    prepare_purchase,
    prepare_withdrawal,
    report_transaction,
)
from market.api.nft import add_nft, get_nft
from market.api.order_book import list_orderbook
from market.api.status import show_status
from market.api.users import list_user_listings
from market.models import (
    AddNftRequest,
    AddNftsRequest,
    ApiError,
    CollectionRecord,
    Nft,
    NftToBuyRequest,
    NftToReportRequest,
    PrepareBasketRequest,
    PreparedListing,
    PreparedTransaction,
    PrepareListingRequest,
    PrepareListingsRequest,
    PreparePurchaseRequest,
    PrepareWithdrawalRequest,
    PrepareWithdrawalsRequest,
    ReportBasketRequest,
    ReportNftsRequest,
    ReportTransactionRequest,
    Result,
    ServiceStatus,
)
from sandbox.api.sandbox import sign_transaction, submit_transaction
from sandbox.models import (
    SignedTransaction,
    SignTransactionRequest,
    SubmitTransactionRequest,
    TransactionReceipt,
)

from sandbox import Client

url, token = sys.argv[1:]
ACCOUNT_ID, TOKEN_ID, SERIAL_NO = "0.0.2002", "0.0.7007", 7
BUYER = {"account_id": "0.0.2003", "token_id": TOKEN_ID, "serial_no": SERIAL_NO}

with AuthenticatedClient(url, token) as market, Client(f"{url}/sandbox") as sandbox:
    status = show_status.sync(client=market)
    assert isinstance(status, ServiceStatus)

    missing = get_nft.sync(TOKEN_ID, SERIAL_NO, client=market)
    assert isinstance(missing, ApiError)
    assert (missing.code, missing.reason) == (404, "NFT_NOT_STORED")

    nft = {"account_id": ACCOUNT_ID, "token_id": TOKEN_ID, "serial_no": SERIAL_NO}
    added = add_nft.sync(client=market, body=AddNftRequest(**nft))
    assert added == Result("OK")

    def complete(prepared, report):
        """Sign what was prepared, submit it and report it, or hand it in."""
        assert isinstance(prepared, PreparedListing | PreparedTransaction)
        assert prepared.metadata.account_to_sign == report.account_id
        unsigned = SignTransactionRequest(prepared.metadata.account_to_sign, prepared.byte_array)
        signed = sign_transaction.sync(client=sandbox, body=unsigned)
        assert isinstance(signed, SignedTransaction)
        if prepared.metadata.return_transaction:
            report.signed_transaction = signed.transaction
            assert report_transaction.sync(client=market, body=report).result == "OK"
            return
        receipt = submit_transaction.sync(
            client=sandbox, body=SubmitTransactionRequest(signed.transaction)
        )
        assert isinstance(receipt, TransactionReceipt)
        report.transaction_id = receipt.transaction_id
        assert report_transaction.sync(client=market, body=report).result == "OK"

    report = ReportTransactionRequest(**nft)
    listing = PrepareListingRequest(listing_price=250, **nft)
    complete(prepare_listing.sync("extwallet", client=market, body=listing), report)
    listed = list_orderbook.sync(client=market, limit=1)
    assert isinstance(listed, list)
    assert listed == list_user_listings.sync(ACCOUNT_ID, client=market)
    [record] = listed
    assert isinstance(record, Nft)
    assert record.last_listed_date.tzinfo is not None
    bounds = {"token_id": TOKEN_ID, "min_price": 250, "max_price": 250}
    assert listed == list_orderbook.sync(client=market, sort="-price", **bounds)
    collection = get_collection.sync(TOKEN_ID, client=market)
    assert isinstance(collection, CollectionRecord)
    assert (collection.listed, collection.floor_price) == (1, 250)
    assert (collection.treasury.account_id, collection.royalties) == ("0.0.1000", [])

    withdrawal = PrepareWithdrawalRequest(**nft)
    complete(prepare_withdrawal.sync("extwallet", client=market, body=withdrawal), report)
    assert list_orderbook.sync(client=market) == []

    complete(prepare_listing.sync("extwallet", client=market, body=listing), report)
    dearer = PreparePurchaseRequest(expected_price=249, **BUYER)
    refused = prepare_purchase.sync("extwallet", client=market, body=dearer)
    assert isinstance(refused, ApiError)
    assert refused.reason == "PRICE_CHANGED"
    purchase = PreparePurchaseRequest(expected_price=250, **BUYER)
    prepared = prepare_purchase.sync("extwallet", client=market, body=purchase)
    complete(prepared, ReportTransactionRequest(**BUYER))
    bought = get_nft.sync(TOKEN_ID, SERIAL_NO, client=market)
    assert isinstance(bought, Nft)
    assert bought.owner.account_id == BUYER["account_id"]

    # Several at once: the other form of each body.
    several = {"account_id": ACCOUNT_ID, "token_id": TOKEN_ID, "serial_nos": [8, 9, 10]}
    assert add_nft.sync(client=market, body=AddNftsRequest(**several)) == Result("OK")
    listings = PrepareListingsRequest(listing_price=30, **several)
    prepared = prepare_listing.sync("extwallet", client=market, body=listings)
    complete(prepared, ReportNftsRequest(**several))
    last = several | {"serial_nos": [10]}
    withdrawals = PrepareWithdrawalsRequest(**last)
    prepared = prepare_withdrawal.sync("extwallet", client=market, body=withdrawals)
    complete(prepared, ReportNftsRequest(**last))
    assert sorted(nft.serial_no for nft in list_orderbook.sync(client=market)) == [8, 9]
    to_buy = [NftToBuyRequest(TOKEN_ID, number, expected_price=30) for number in (8, 9)]
    basket = PrepareBasketRequest(BUYER["account_id"], to_buy)
    prepared = prepare_purchase.sync("extwallet", client=market, body=basket)
    bought = [NftToReportRequest(TOKEN_ID, number) for number in (8, 9)]
    complete(prepared, ReportBasketRequest(BUYER["account_id"], bought))
    assert list_orderbook.sync(client=market) == []
    print(json.dumps(record.to_dict()))
