"""List an NFT with clients that were generated from the two documents: market and sandbox."""

import json
import sys

from market import AuthenticatedClient
from market.api.collections import get_collection
from market.api.listings import prepare_listing, report_transaction
from market.api.nft import add_nft, get_nft
from market.api.order_book import list_orderbook
from market.api.status import show_status
from market.api.users import list_user_listings
from market.models import (
    AddNftRequest,
    ApiError,
    CollectionRecord,
    Nft,
    PreparedTransaction,
    PrepareListingRequest,
    ReportTransactionRequest,
    Result,
    ServiceStatus,
)
from sandbox import Client
from sandbox.api.sandbox import sign_transaction, submit_transaction
from sandbox.models import (
    SignedTransaction,
    SignTransactionRequest,
    SubmitTransactionRequest,
    TransactionReceipt,
)

url, token = sys.argv[1:]
ACCOUNT_ID, TOKEN_ID, SERIAL_NO = "0.0.2002", "0.0.7007", 7

with AuthenticatedClient(url, token) as market, Client(f"{url}/sandbox") as sandbox:
    status = show_status.sync(client=market)
    assert isinstance(status, ServiceStatus)

    missing = get_nft.sync(TOKEN_ID, SERIAL_NO, client=market)
    assert isinstance(missing, ApiError)
    assert missing.code == 404

    nft = {"account_id": ACCOUNT_ID, "token_id": TOKEN_ID, "serial_no": SERIAL_NO}
    added = add_nft.sync(client=market, body=AddNftRequest(**nft))
    assert added == Result("OK")

    prepared = prepare_listing.sync(
        "extwallet", client=market, body=PrepareListingRequest(listing_price=250, **nft)
    )
    assert isinstance(prepared, PreparedTransaction)
    signed = sign_transaction.sync(
        client=sandbox,
        body=SignTransactionRequest(prepared.metadata.account_to_sign, prepared.byte_array),
    )
    assert isinstance(signed, SignedTransaction)
    receipt = submit_transaction.sync(
        client=sandbox, body=SubmitTransactionRequest(signed.transaction)
    )
    assert isinstance(receipt, TransactionReceipt)
    reported = report_transaction.sync(
        client=market, body=ReportTransactionRequest(transaction_id=receipt.transaction_id, **nft)
    )
    assert reported == Result("OK")

    listed = list_orderbook.sync(client=market, limit=1)
    assert isinstance(listed, list)
    assert listed == list_user_listings.sync(ACCOUNT_ID, client=market)
    [record] = listed
    assert isinstance(record, Nft)
    assert record.last_listed_date.tzinfo is not None
    assert listed == list_orderbook.sync(
        client=market,
        sort="-price",
        token_id=TOKEN_ID,
        min_price=250,
        max_price=250,
    )

    collection = get_collection.sync(TOKEN_ID, client=market)
    assert isinstance(collection, CollectionRecord)
    assert (collection.listed, collection.floor_price) == (1, 250)
    assert collection.treasury.account_id
    assert collection.royalties == []
    print(json.dumps(record.to_dict()))
