"""Several NFTs in one request: listed, withdrawn, added and reported."""

import pytest
from werkzeug.wrappers import Response

from harness.apps import authorized_client, settings
from harness.cast import ALICE, BOB, KEYS, MARKET, TOKEN
from harness.mirror import MISSING
from marketplace import create_app
from tests.actions import list_nft, settle_purchase, shown
from tests.answers import assert_error, handed_out, opened

SEVERAL = {"accountId": ALICE, "tokenId": TOKEN, "serialNos": [7, 8, 9]}
BASKET = {"accountId": BOB, "nfts": [{"tokenId": TOKEN, "serialNo": number} for number in (7, 8)]}
PATHS = {
    "add": "add",
    "list": "list/extwallet",
    "delist": "delist/extwallet",
    "report": "comingsoon",
}


@pytest.fixture
def post(client):
    """Send SEVERAL, with other fields, to one of the calls that take several."""

    def post(call, **fields):
        body = SEVERAL | ({"listingPrice": 30} if call == "list" else {}) | fields
        return client.post(f"/v1/{PATHS[call]}", json=body)

    return post


@pytest.fixture
def added(post):
    assert post("add").json == {"result": "OK"}


@pytest.fixture
def all_listed(added, post, ledger):
    """The three NFTs, for sale at 30 HBAR each; returns the transaction id of the approval."""
    transaction_id = ledger.sign_and_submit(post("list").json["byteArray"])
    assert post("report").json["result"] == "OK"
    return transaction_id


def listed(client):
    return {nft["serialNo"]: nft["listingPrice"] for nft in client.get("/v1/orderbook").json}


# Adding


def test_several_are_added(client, post):
    assert post("add").json == {"result": "OK"}
    assert [shown(client, (TOKEN, number))["serialNo"] for number in (7, 8, 9)] == [7, 8, 9]
    assert post("add", serialNos=[9, 10]).json == {"result": "OK"}


def test_none_is_added_if_the_ledger_lacks_one(client, post, mirror):
    mirror.answer(f"/tokens/{TOKEN}/nfts/8$", MISSING)
    mirror.answer(f"/accounts/{ALICE}/nfts", Response(b'{"nfts": []}'))
    assert_error(post("add"), 404, f"{TOKEN} #8 is not an NFT on the ledger")
    assert client.get(f"/v1/nft/{TOKEN}/7").status_code == 404


# Listing


@pytest.mark.usefixtures("added")
def test_several_are_listed_by_one_transaction(client, post, ledger):
    r = post("list")
    body = handed_out(r, ALICE, sellerReceives="3000000000").body
    [approval] = body.cryptoApproveAllowance.nftAllowances
    assert [*approval.serial_numbers] == [7, 8, 9]
    assert not approval.HasField("approved_for_all")
    assert body.memo == f"Listing NFTs of {TOKEN} for 30 HBAR each on NFT Marketplace"
    assert body.transactionFee == 500_000_000
    assert post("report").json["result"] == "PENDING"
    transaction_id = ledger.sign_and_submit(r.json["byteArray"])
    assert post("report", transactionId=transaction_id).json["result"] == "OK"
    assert post("report").json["result"] == "OK"
    assert listed(client) == {7: 30, 8: 30, 9: 30}


@pytest.mark.usefixtures("added")
def test_one_of_several_has_the_memo_of_one(post):
    memo = opened(post("list", serialNos=[7])).body.memo
    assert memo == f"Listing NFT with {TOKEN} and Serial Number 7 for 30 HBAR on NFT Marketplace"


@pytest.mark.usefixtures("added")
def test_a_refusal_names_each_nft(client, post, ledger):
    ledger.hand_over((TOKEN, 8), BOB)
    one = assert_error(post("list", serialNos=[7, 11]), 404, "NFT_NOT_STORED")
    assert "errors" not in one
    both = assert_error(post("list", serialNos=[7, 11, 12]), 404, "#11 is not stored", "#12 is not")
    assert both["errors"]["nfts"].keys() == {f"{TOKEN}:11", f"{TOKEN}:12"}
    assert_error(post("delist"), 409, f"{TOKEN} #8 belongs to {BOB}", "#7 is not for sale")
    assert_error(post("list"), 409, "NOT_THE_OWNER", BOB)
    assert_error(post("report"), 404, "#7", "#8", "#9")  # nothing was prepared


@pytest.mark.usefixtures("all_listed")
def test_a_report_names_those_that_are_not_listed(client, post, ledger):
    ledger.withdraw((TOKEN, 8), ALICE)
    transaction_id = ledger.sign_and_submit(post("list", serialNos=[7, 9]).json["byteArray"])
    assert_error(post("report", transactionId=transaction_id), 404, "NOT_PREPARED")
    assert post("report", serialNos=[7, 9], transactionId=transaction_id).json["result"] == "OK"


# Withdrawing


@pytest.mark.usefixtures("all_listed")
def test_several_are_withdrawn_by_one_transaction(client, post, ledger):
    r = post("delist", serialNos=[7, 9])
    body = handed_out(r, ALICE).body
    [removed] = body.cryptoDeleteAllowance.nftAllowances
    assert [*removed.serial_numbers] == [7, 9]
    assert body.memo == f"Delisting NFTs of {TOKEN} on NFT Marketplace"
    ledger.sign_and_submit(r.json["byteArray"])
    assert post("report", serialNos=[7, 9]).json["result"] == "OK"
    assert listed(client) == {8: 30}


@pytest.mark.usefixtures("all_listed")
def test_it_refuses_a_withdrawal_of_several_if_one_is_not_listed(post, ledger):
    ledger.withdraw((TOKEN, 8), ALICE)
    assert_error(post("delist"), 409, "NOT_LISTED")


@pytest.mark.usefixtures("all_listed")
def test_one_of_several_may_be_sold_before_the_rest(client, post, buy):
    settle_purchase(client, buy((TOKEN, 8)), BOB)
    assert client.post("/v1/comingsoon", json=KEYS | {"accountId": BOB, "serialNo": 8}).json == {
        "result": "OK"
    }
    assert listed(client) == {7: 30, 9: 30}
    list_nft(client, 5, serialNo=9)
    assert listed(client) == {7: 30, 9: 5}


# The forms of a body


@pytest.mark.parametrize("call", PATHS)
@pytest.mark.parametrize(
    "serial_nos",
    [
        [],
        [7, 7],
        [0],
        [-1],
        ["7"],
        [7.0],
        [True],
        [None],
        [2**63],
        7,
        "7",
        {},
        None,
        [*range(1, 22)],
    ],
)
def test_impossible_serial_numbers_are_refused(idle_client, call, serial_nos):
    body = SEVERAL | {"listingPrice": 30, "serialNos": serial_nos}
    r = idle_client.post(f"/v1/{PATHS[call]}", json=body)
    body = assert_error(r, 422, "serialNos ")
    assert [*body["errors"]["json"]] == ["serialNos"]


@pytest.mark.parametrize(
    ("nfts", "words"),
    [
        ([], "a list of 1 to 10 different NFTs"),
        ([{"tokenId": TOKEN, "serialNo": 7}] * 2, "different"),
        ([{"tokenId": TOKEN, "serialNo": n} for n in range(1, 12)], "1 to 10"),
        (
            [{"tokenId": TOKEN, "serialNo": 7}, {"tokenId": TOKEN}],
            "at place 2: serialNo is required",
        ),
        ([{"tokenId": TOKEN, "serialNo": 0}], "at place 1: serialNo must be a whole number"),
        ([{"tokenId": "x", "serialNo": 7}], "at place 1: tokenId must be three integers"),
        (["0.0.7001:7"], 'has "0.0.7001:7" at place 1, not an NFT'),
        ("0.0.7001:7", "a list"),
        (None, "must not be null"),
    ],
)
@pytest.mark.parametrize("path", ["buy/extwallet", "comingsoon"])
def test_impossible_nfts_are_refused(idle_client, path, nfts, words):
    r = idle_client.post(f"/v1/{path}", json=BASKET | {"nfts": nfts})
    assert [*assert_error(r, 422, words)["errors"]["json"]] == ["nfts"]


@pytest.mark.parametrize(
    ("path", "body", "wrong"),
    [
        ("list/extwallet", SEVERAL | {"serialNo": 7, "listingPrice": 5}, "serialNos"),
        ("delist/extwallet", SEVERAL | {"serialNo": 7}, "serialNos"),
        ("add", SEVERAL | {"serialNo": 7}, "serialNos"),
        ("buy/extwallet", BASKET | {"serialNo": 7}, "nfts"),
        ("comingsoon", BASKET | {"serialNo": 7}, "nfts"),
        ("comingsoon", BASKET | {"serialNos": [7]}, "nfts"),
        ("comingsoon", SEVERAL | {"serialNo": 7}, "serialNos"),
        ("buy/extwallet", BASKET | {"expectedPrice": 30}, "expectedPrice"),
        ("buy/extwallet", BASKET | {"tokenId": TOKEN}, "tokenId"),
    ],
)
def test_two_forms_in_one_body_are_refused(idle_client, path, body, wrong):
    r = idle_client.post(f"/v1/{path}", json=body)
    assert [*assert_error(r, 422, "cannot be combined with")["errors"]["json"]] == [wrong]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("buy/extwallet", SEVERAL, "serialNos is no field here: use nfts"),
        (
            "buy/extwallet",
            BASKET | {"nfts": [7]},
            'not an NFT such as {"tokenId": "0.0.5001", "serialNo": 7, "expectedPrice": 60}',
        ),
        (
            "comingsoon",
            BASKET | {"nfts": 7},
            'different NFTs such as {"tokenId": "0.0.5001", "serialNo": 7}, not 7',
        ),
        ("add", KEYS | {"serialNo": ...}, "serialNo is required, or serialNos for several NFTs"),
        ("buy/extwallet", KEYS | {"serialNo": ...}, "serialNo is required, or nfts for several"),
        ("comingsoon", {}, "tokenId is required; serialNo is required, or serialNos or nfts for"),
    ],
)
def test_a_refusal_says_how_several_are_named(idle_client, path, body, words):
    body = {name: value for name, value in body.items() if value is not ...}
    assert_error(idle_client.post(f"/v1/{path}", json=body), 422, words)


@pytest.mark.parametrize("path", ["add", "list/extwallet", "delist/extwallet"])
@pytest.mark.parametrize("beside", [{"serialNo": 7}, {"serialNos": [7]}, {}])
def test_a_list_of_nfts_of_several_tokens_is_for_baskets(idle_client, path, beside):
    """It was ignored: the NFT beside it was added, and those in it were not."""
    body = {"accountId": ALICE, "tokenId": TOKEN, "listingPrice": 5, "nfts": BASKET["nfts"]}
    r = idle_client.post(f"/v1/{path}", json=body | beside)
    assert "nfts" in assert_error(r, 422, "nfts is no field here: use serialNos")["errors"]["json"]


def test_the_document_has_the_forms_as_alternatives(idle_client):
    paths = idle_client.get("/openapi.json").json["paths"]
    for path, names in (
        ("/v1/add", ["AddNft", "AddNfts"]),
        ("/v1/list/{wallet}", ["PrepareListing", "PrepareListings"]),
        ("/v1/delist/{wallet}", ["PrepareWithdrawal", "PrepareWithdrawals"]),
        ("/v1/buy/{wallet}", ["PreparePurchase", "PrepareBasket"]),
        ("/v1/comingsoon", ["ReportTransaction", "ReportNfts", "ReportBasket", "ReportOffer"]),
    ):
        content = paths[path]["post"]["requestBody"]["content"]["application/json"]
        assert content["schema"] == {
            "oneOf": [{"$ref": f"#/components/schemas/{name}Request"} for name in names]
        }


def test_the_marketplace_cannot_list(client, post, ledger):
    for number in (7, 8):
        ledger.hand_over((TOKEN, number), MARKET)
    assert post("add", accountId=MARKET, serialNos=[7, 8]).json == {"result": "OK"}
    r = post("list", accountId=MARKET, serialNos=[7, 8])
    assert_error(r, 409, "ACCOUNT_IS_MARKETPLACE")


def test_each_nft_counts_as_a_write(tmp_path):
    client = authorized_client(create_app(**settings(tmp_path), WRITE_LIMIT="5/h"), "write")
    body = SEVERAL | {"listingPrice": 5}
    r = client.post("/v1/list/extwallet", json=body)
    assert_error(r, 404, "NFT_NOT_STORED")
    assert_error(client.post("/v1/list/extwallet", json=body), 429, "may write 5 times an hour")


def test_a_report_of_an_offer_counts_as_a_write(tmp_path):
    client = authorized_client(create_app(**settings(tmp_path), WRITE_LIMIT="1/h"), "write")
    body = {"accountId": ALICE, "offerId": "0.0.8001"}
    assert_error(client.post("/v1/comingsoon", json=body), 404, "OFFER_UNKNOWN")
    assert_error(client.post("/v1/comingsoon", json=body), 429, "may write once an hour")
