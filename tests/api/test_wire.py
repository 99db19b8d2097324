"""What a schema dumps of a row is what the contract describes."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.api.events import EventSchema
from marketplace.api.nfts import NftSchema
from marketplace.events import EventKind
from marketplace.services import services

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
HERE = "http://127.0.0.1:8000"
# Dates of the database, as mirror nodes write them.
CONSENSUS = {
    "2026-11-20T12:34:56.789012345Z": "1795178096.789012345",
    "1970-01-01T00:00:00.000000001Z": "0.000000001",
    None: None,
}
dates = st.sampled_from([date for date in CONSENSUS if date])
nft_rows = st.fixed_dictionaries(
    {
        "token": text,
        "serial_no": st.integers(1, 2**63 - 1),
        "name": text,
        "file_type": text,
        "attributes": st.none() | text,
        "image": st.none() | text,
        "original_image_url": st.none() | text | text.map("/{}".format),
        "owner": text,
        "is_listed": st.sampled_from([0, 1]),
        "listing_price": st.integers(0, 50_000_000_000),
        "last_listed_at": st.none() | st.just("2026-11-20T12:34:56.789012345Z"),
        "listed_order": text,
    }
)
event_rows = st.fixed_dictionaries(
    {
        "cursor": st.just("3f2a9c1e-42"),
        "kind": st.sampled_from([*map(str, EventKind)]),
        "token": text,
        "serial_no": st.integers(1, 2**63 - 1),
        "from_account": st.none() | text,
        "to_account": st.none() | text,
        "price": st.none() | st.integers(0, 50_000_000_000),
        "previous_price": st.none() | st.integers(0, 50_000_000_000),
        "transaction_id": st.none() | text,
        "consensus_at": st.none() | dates,
        "offer_id": st.none() | text,
        "received": st.none() | st.integers(0, 2**63 - 1),
        "date": dates,
    }
)


def describe_nft(row):
    original = row["original_image_url"]
    return {
        "token": row["token"],
        "serialNo": row["serial_no"],
        "name": row["name"],
        "fileType": row["file_type"],
        "isForSale": row["is_listed"] == 1,
        "stringifiedAttributes": row["attributes"],
        "imageUrl": services().media.url(row["image"]),
        "originalImageUrl": f"{HERE}{original}" if original and original[0] == "/" else original,
        "listingPrice": row["listing_price"] if row["is_listed"] else 0,
        "lastListedDate": row["last_listed_at"] and "2026-11-20T12:34:56.789Z",
        "owner": {"accountId": row["owner"]},
    }


def describe_event(row):
    seller, buyer = row["from_account"], row["to_account"]
    return {
        "id": row["cursor"],
        "kind": row["kind"],
        "token": row["token"],
        "serialNo": row["serial_no"],
        "from": None if seller is None else {"accountId": seller},
        "to": None if buyer is None else {"accountId": buyer},
        "price": row["price"],
        "previousPrice": row["previous_price"],
        "sellerReceived": None if row["received"] is None else str(row["received"]),
        "transactionId": row["transaction_id"],
        "consensusTimestamp": CONSENSUS[row["consensus_at"]],
        "offerId": row["offer_id"],
        "date": f"{row['date'][:-7]}Z",
    }


@pytest.mark.parametrize(
    ("schema", "describe", "rows"),
    [(NftSchema, describe_nft, nft_rows), (EventSchema, describe_event, event_rows)],
)
def test_every_field_of_an_answer_is_in_the_contract(app, schema, describe, rows):
    @given(row=rows)
    def check(row):
        with app.app_context():
            assert json.dumps(schema().dump(row)) == json.dumps(describe(row))

    check()
