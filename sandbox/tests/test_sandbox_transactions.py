"""The mirror node's list of transactions, as the watcher follows it: chosen, ordered, and in pages."""

import base64

import pytest

from hiero_sandbox import times
from hiero_sandbox.mirror.transactions import MAX_RANGE
from sandbox.tests.bodies import NFT, transfer
from sandbox.tests.people import ALICE, BOB

PATH = "/transactions"
APPROVAL, DELETION, TRANSFER = "CRYPTOAPPROVEALLOWANCE", "CRYPTODELETEALLOWANCE", "CRYPTOTRANSFER"
UPDATE = "TOKENUPDATENFTS"


@pytest.fixture
def began(minted, ledger):
    """The moment before an approval, its deletion, an approval of another spender, and a transfer."""
    before = times.to_consensus(times.now())
    ledger.approve(NFT, ALICE, "0.0.9001")
    ledger.withdraw(NFT, ALICE)
    ledger.approve(NFT, ALICE, "0.0.6666")
    ledger.execute(transfer(ALICE, nfts=[(NFT, ALICE, BOB)]), ALICE)
    return before


@pytest.fixture
def listed(get, began):
    """The rows since then that a query chooses, oldest first."""
    return lambda query="": get(f"{PATH}?timestamp=gt:{began}&order=asc{query}")["transactions"]


@pytest.fixture
def names(listed):
    return lambda query="": [row["name"] for row in listed(query)]


def test_it_lists_all_since_a_moment(names):
    assert names() == [APPROVAL, DELETION, APPROVAL, TRANSFER]


def test_types_are_asked_for_several_at_once_and_in_any_case(names):
    assert names(f"&transactiontype={APPROVAL}") == [APPROVAL, APPROVAL]
    both = f"&transactiontype={DELETION.lower()}&transactiontype=cryptoTransfer"
    assert names(both) == [DELETION, TRANSFER]
    assert names(f"&transactiontype={UPDATE}") == []


def test_results_are_asked_for(names, ledger):
    with pytest.raises(AssertionError, match="SENDER_DOES_NOT_OWN"):
        ledger.approve(NFT, ALICE, "0.0.9001")
    assert names("&result=success") == [APPROVAL, DELETION, APPROVAL, TRANSFER]
    assert names("&result=FAIL") == [APPROVAL]
    assert len(names()) == 5


def test_an_account_is_asked_for(names):
    assert names(f"&account.id={ALICE}") == [APPROVAL, DELETION, APPROVAL, TRANSFER]
    assert names("&account.id=0.0.31337") == []


def test_the_newest_come_first_unless_asked_otherwise(get, listed, began):
    newest = get(f"{PATH}?timestamp=gt:{began}")["transactions"]
    assert newest == get(f"{PATH}?timestamp=gt:{began}&order=desc")["transactions"]
    assert newest == listed()[::-1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("timestamp=gt:{1}&timestamp=lt:{3}", [2]),
        ("timestamp=gte:{1}&timestamp=lte:{3}", [1, 2, 3]),
        ("timestamp=gte:{0}&timestamp=lt:{1}", [0]),
        ("timestamp=eq:{2}", [2]),
        ("timestamp={2}", [2]),
        ("timestamp=gt:{3}", []),
        ("timestamp=gt:{2}&timestamp=lt:{1}", []),
    ],
)
def test_moments_are_asked_for(get, listed, query, expected):
    rows = listed()
    asked = query.format(*[row["consensus_timestamp"] for row in rows])
    found = get(f"{PATH}?{asked}&order=asc")["transactions"]
    assert found == [rows[number] for number in expected]


@pytest.mark.parametrize("order", ["asc", "desc"])
def test_its_pages_lead_on(follow, listed, began, order):
    path = f"{PATH}?timestamp=gt:{began}&order={order}&limit=3"
    path += f"&transactiontype={APPROVAL}&transactiontype={TRANSFER}&transactiontype={DELETION}"
    expected = listed() if order == "asc" else listed()[::-1]
    assert follow(path, "transactions") == expected


def test_a_page_that_is_not_full_is_the_last(get, began):
    links = [get(f"{PATH}?timestamp=gt:{began}&limit={n}")["links"]["next"] for n in (4, 5, 900)]
    assert links[0] and links[1:] == [None, None]


def test_a_poller_that_begins_at_the_epoch_finds_all(get, began, listed):
    assert get(f"{PATH}?timestamp=gt:0&order=asc&limit=100")["transactions"][-4:] == listed()
    assert get(f"{PATH}?timestamp=gt:0&limit=4")["transactions"] == listed()[::-1]


@pytest.fixture
def narrow(ledger):
    """The mirror node is one that narrows requests to 60 days."""
    ledger.sandbox.config["BIND_TIMESTAMP_RANGE"] = True


@pytest.mark.parametrize(("excess", "expected"), [(0, 1), (1, 0)])
def test_ascending_it_may_be_narrowed_to_the_oldest_sixty_days(
    get, listed, narrow, excess, expected
):
    oldest = times.from_consensus(listed()[0]["consensus_timestamp"])
    low = oldest - MAX_RANGE + 1 - excess
    page = get(f"{PATH}?timestamp=gte:{times.to_consensus(low)}&order=asc")
    assert len(page["transactions"]) == expected
    cut_at = times.to_consensus(low + MAX_RANGE - 1)
    assert page["links"]["next"].endswith(f"&timestamp=gt:{cut_at}")


def test_descending_it_may_be_narrowed_to_the_newest_sixty_days(get, listed, narrow):
    page = get(f"{PATH}?timestamp=gt:0&limit=100")
    assert page["transactions"][:4] == listed()[::-1]
    assert "timestamp=gt:0&timestamp=lt:" in page["links"]["next"]
    following = get(page["links"]["next"].removeprefix("/api/v1"))
    assert following["transactions"] == []


@pytest.mark.parametrize(
    "query",
    [
        "transactiontype=NOTHING",
        f"transactiontype={APPROVAL}&transactiontype=",
        "result=SUCCEEDED",
        "order=up",
        "limit=0",
        "timestamp=gt:x",
        "account.id=alice",
        "type=CRYPTOTRANSFER",
    ],
)
def test_it_refuses_what_the_real_one_refuses(client, query):
    r = client.get(f"/api/v1{PATH}?{query}")
    assert r.status_code == 400
    assert r.json["_status"]["messages"][0]["message"]


def test_metadata_is_updated(ledger, get, names, listed):
    assert ledger.update_metadata(NFT, "ipfs://other/7.json").result == "SUCCESS"
    shown = get(f"/tokens/{NFT[0]}/nfts/{NFT[1]}")
    assert base64.b64decode(shown["metadata"]) == b"ipfs://other/7.json"
    [row] = listed(f"&transactiontype={UPDATE}")
    assert (row["entity_id"], row["nft_transfers"]) == (NFT[0], [])
    assert row["consensus_timestamp"] == shown["modified_timestamp"]
