"""What is written in one pass is, to the byte, what the marshmallow schema and JSON would write."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from marketplace.api.response_schemas import NftSchema
from marketplace.api.row_json import compile_schema

pytestmark = pytest.mark.once("no statement is asked")

text = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
rows = st.fixed_dictionaries(
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


def test_it_writes_what_the_schema_dumps(app):
    encode = compile_schema(NftSchema(), app)

    @given(row=rows)
    def check(row):
        with app.app_context():
            dumped = NftSchema().dump(row)
        assert encode(row) == json.dumps(dumped, separators=(",", ":"))

    check()
