import pytest

from marketplace.store import nfts
from marketplace.store.database import write
from tests.conftest import TOKEN, assert_error


def get(client, **query):
    return client.get("/v1/orderbook", query_string=query)


def serials(r):
    assert r.status_code == 200, r.text
    return [nft["serialNo"] for nft in r.json]


@pytest.fixture
def listings(app):
    """Write listings straight into the database: {serial number: date or None}."""

    def insert(dates, token=TOKEN):
        for serial_no, listed_at in dates.items():
            nft = {
                "token": token,
                "serial_no": serial_no,
                "name": f"NFT #{serial_no}",
                "file_type": "image/png",
                "attributes": None,
                "image": None,
                "original_image_url": None,
                "owner": "0.0.1001",
                "ledger_at": "2026-01-01T00:00:00.000000000Z",
                "metadata": None,
                "missing": None,
                "attempts": 1,
                "retry_at": None,
            }
            with app.app_context(), write() as db:
                nfts.insert_nft(db, nft)
                db.execute(
                    """
                    UPDATE nft SET is_for_sale = 1, listing_price = 5, last_listed_at = :listed_at
                    WHERE token = :token AND serial_no = :serial_no
                    """,
                    {"listed_at": listed_at, "token": token, "serial_no": serial_no},
                )

    return insert


def day(number):
    return f"2026-11-{number:02}T00:00:00.000000000Z"


def test_it_works(client, lister):
    lister((TOKEN, 1))
    lister((TOKEN, 2))

    r = get(client)
    assert serials(r) == [2, 1]
    assert r.json[0] == client.get(f"/v1/nft/{TOKEN}/2").json
    assert "Link" not in r.headers


def test_it_is_empty_at_first(client):
    assert get(client).json == []


def test_it_puts_the_newest_first_and_unknown_dates_last(client, listings):
    listings({1: day(3), 2: None, 3: day(9), 4: day(1), 5: None})
    assert serials(get(client)) == [3, 1, 4, 2, 5]


def test_it_breaks_ties_by_token_and_serial_number(client, listings):
    listings({2: day(5), 1: day(5)}, token="0.0.7002")
    listings({9: day(5)}, token="0.0.7001")
    assert serials(get(client)) == [9, 1, 2]


def test_it_shows_twenty_by_default(client, listings):
    listings({number: day(number) for number in range(1, 26)})
    assert serials(get(client)) == list(range(25, 5, -1))


def test_its_pages_neither_overlap_nor_skip(client, listings):
    listings({number: day(number % 7 + 1) for number in range(1, 24)})
    pages = [serials(get(client, limit=5, offset=offset)) for offset in range(0, 30, 5)]
    assert sorted(sum(pages, [])) == list(range(1, 24))
    assert sum(pages, []) == serials(get(client)) + pages[4]


def test_its_link_header_leads_through_all_pages(client, listings):
    listings({number: day(number) for number in range(1, 12)})
    seen, url = [], "/v1/orderbook?limit=4"
    while url:
        r = client.get(url)
        seen += serials(r)
        url = r.headers.get("Link", "").removesuffix('>; rel="next"').removeprefix("<")
    assert seen == list(range(11, 0, -1))


def test_it_handles_an_offset_past_the_end(client, listings):
    listings({1: day(1)})
    assert get(client, offset=5).json == []
    assert get(client, offset=2**63 - 1).json == []


def test_it_ignores_other_query_parameters(client):
    assert get(client, colour="red", Sort="price").status_code == 200


@pytest.mark.parametrize("limit", [21, 0, -1, "x", "", "1.0", "٣", "+5", " 5", "05", 2**63])
def test_it_rejects_a_bad_limit(client, limit):
    body = assert_error(get(client, limit=limit), 422, "limit must be a whole number from 1 to 20")
    assert body["errors"].keys() == {"query"}


@pytest.mark.parametrize("offset", [-1, "x", "1e3", 2**63, "9" * 5000, "\0", "1\n"])
def test_it_rejects_a_bad_offset(client, offset):
    assert_error(get(client, offset=offset), 422, "offset must be a whole number from 0")
