"""What is written in one pass is, to the byte, what the marshmallow schema and JSON would write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.api.response_schemas import EventSchema, NftSchema
from marketplace.ids import EventKind
from marketplace.services import services

pytestmark = pytest.mark.once("no statement is asked")

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
dates = st.sampled_from(["2026-11-20T12:34:56.789012345Z", "1970-01-01T00:00:00.000000001Z"])
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
        "is_for_sale": st.sampled_from([0, 1]),
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
        "date": dates,
    }
)


def encode_event(row):
    return f'{{"id":"{row["cursor"]}",{services().encode_event_body(row)}'


def encode_nft(row):
    return services().encoders[NftSchema](row)


@pytest.mark.parametrize(
    ("encode", "schema", "rows"),
    [(encode_nft, NftSchema(), nft_rows), (encode_event, EventSchema(), event_rows)],
    ids=["NFT", "event"],
)
def test_it_writes_what_the_schema_dumps(app, encode, schema, rows):
    @given(row=rows)
    def check(row):
        with app.app_context():
            assert encode(row) == json.dumps(schema.dump(row), separators=(",", ":"))

    check()
