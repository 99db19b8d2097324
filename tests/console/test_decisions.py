"""In the console, an operator decides what the command line decides, and it has the same effects."""

import json
import logging

import pytest

from harness.apps import on_testnet, write_sql
from harness.cast import ALICE, BOB, SHOP, TOKEN
from harness.mirror import MISSING
from tests.console.operator import ORIGIN, sign_in
from tests.engines import both_engines

NFT, COLLECTION, ACCOUNT = f"/nft/{TOKEN}/7", f"/collection/{TOKEN}", f"/account/{ALICE}"


@pytest.fixture
def operator(app):
    client = app.test_client()
    assert sign_in(client).status_code == 303
    return client


def decide(operator, page, act, reason="Reported stolen", headers=ORIGIN, **more):
    form = {"act": act, "reason": reason} | more
    return operator.post(f"/console{page}", data=form, headers=headers)


def list_decided(app):
    printed = app.test_cli_runner().invoke(args=["hidden", "--json"]).output
    rows = json.loads(printed)
    return [(row["kind"], row["what"], row["reason"], row["public"], row["by"]) for row in rows]


@both_engines
def test_an_nft_is_hidden_and_shown_again(app, operator, client, listed, caplog):
    caplog.set_level(logging.INFO)
    assert "Visitors see the reason" in operator.get(f"/console{NFT}").text
    assert decide(operator, NFT, "hide").status_code == 303
    assert list_decided(app) == [("hidden", f"{TOKEN}:7", "Reported stolen", False, ALICE)]
    assert f"{ALICE} in the console: hide {TOKEN}:7: Reported stolen" in caplog.text
    assert f" by {ALICE}" in app.test_cli_runner().invoke(args=["hidden"]).output
    assert client.get(f"/v1{NFT}").status_code == 451
    assert client.get("/v1/orderbook").json == []
    assert client.get("/v1/events").json[-1]["kind"] == "HIDDEN"
    for page in (NFT, ""):
        assert 'Reported stolen <span class="hint">' in operator.get(f"/console{page}").text
    decide(operator, NFT, "show", "It was not")
    assert list_decided(app) == []
    assert f"{ALICE} in the console: show {TOKEN}:7: It was not" in caplog.text
    assert client.get(f"/v1{NFT}").status_code == 200
    assert client.get("/v1/events").json[-1]["kind"] == "SHOWN"


def test_a_collection_is_hidden_and_verified(app, operator, client, listed):
    decide(operator, COLLECTION, "hide", "A copy", public="on")
    assert "A copy" in client.get(f"/v1{NFT}").json["message"]
    assert "Its collection is hidden" in operator.get(f"/console{NFT}").text
    decide(operator, COLLECTION, "show")
    decide(operator, COLLECTION, "verify", "Called its artist")
    assert list_decided(app) == [("verified", TOKEN, "Called its artist", False, ALICE)]
    assert client.get(f"/v1{COLLECTION}").json["verified"]
    assert "is hidden" not in operator.get(f"/console{NFT}").text
    decide(operator, COLLECTION, "unverify")
    assert not client.get(f"/v1{COLLECTION}").json["verified"]


def test_an_account_is_blocked_and_unblocked(app, operator, client, listed):
    decide(operator, ACCOUNT, "block", "Fraud")
    assert list_decided(app) == [("blocked", ALICE, "Fraud", False, ALICE)]
    assert client.get("/v1/orderbook").json == []
    decide(operator, ACCOUNT, "unblock")
    assert len(client.get("/v1/orderbook").json) == 1


def test_a_verification_under_another_name_is_decided_again(app, operator, client, listed):
    decide(operator, COLLECTION, "verify", "Called its artist")
    write_sql(app, "UPDATE collection SET name = 'Another', is_verified = 0")
    page = operator.get(f"/console{COLLECTION}").text
    assert ("has another name now" in page, 'value="verify"' in page) == (True, True)
    decide(operator, COLLECTION, "verify", "Called again")
    assert client.get(f"/v1{COLLECTION}").json["verified"]


def test_what_somebody_else_decided_meanwhile_is_not_decided_again(app, operator, caplog):
    caplog.set_level(logging.INFO)
    for act in ("show", "hide", "hide", "show", "show"):
        decide(operator, NFT, act)
    lines = [line for line in caplog.messages if "in the console" in line]
    assert [line.split()[4] for line in lines] == ["hide", "show"]


def test_it_is_decided_and_logged_also_if_an_image_cannot_be_removed(
    app, operator, client, listed, caplog, tmp_path
):
    caplog.set_level(logging.INFO)
    for image in (tmp_path / "media").iterdir():
        image.unlink()
        (image / "in the way").mkdir(parents=True)
    assert decide(operator, NFT, "hide").status_code == 303
    assert client.get(f"/v1{NFT}").status_code == 451
    assert f"{ALICE} in the console: hide {TOKEN}:7" in caplog.text
    assert f"The images of {TOKEN}:7 are removed later" in caplog.text


def test_a_later_command_takes_the_place_of_an_operator(app, operator):
    decide(operator, ACCOUNT, "block", "Fraud")
    app.test_cli_runner().invoke(args=["block", ALICE, "--reason", "Case 12"])
    assert list_decided(app) == [("blocked", ALICE, "Case 12", False, None)]


@pytest.mark.parametrize(
    ("page", "act", "reason"),
    [
        (NFT, "hide", ""),
        (NFT, "hide", " "),
        (NFT, "hide", "x" * 501),
        (NFT, "hide", "a\0b"),
        (NFT, "verify", "x"),
        (ACCOUNT, "hide", "x"),
        (NFT, "", "x"),
    ],
)
def test_what_cannot_be_decided_is_refused(app, operator, page, act, reason):
    assert decide(operator, page, act, reason).status_code == 400
    assert list_decided(app) == []


def test_only_its_own_forms_and_only_who_signed_in_decide(app, operator):
    for headers in ({}, {"Origin": "null"}, {"Origin": "https://evil.example"}):
        assert decide(operator, NFT, "hide", headers=headers).status_code == 403
    stranger = app.test_client()
    refused = decide(stranger, NFT, "hide")
    assert (refused.status_code, "Operator's account" in refused.text) == (403, True)
    assert list_decided(app) == []


@pytest.mark.parametrize(("fault", "status"), [(MISSING, 502), (None, 503)])
def test_a_refusal_of_the_market_is_said(app, operator, mirror, fault, status):
    if fault:
        mirror.answer(f"/tokens/{TOKEN}", fault)
    else:
        mirror.fail(f"/tokens/{TOKEN}")
    page = operator.post(
        f"/console{COLLECTION}",
        data={"act": "verify", "reason": "x"},
        headers=ORIGIN | {"Accept": "text/html"},
    )
    assert (page.status_code, 'role="alert"' in page.text) == (status, True)
    assert list_decided(app) == []


def test_an_address_of_the_shop_leads_to_its_page_in_the_console(operator):
    for address in (f"https://shop.example{NFT}?a=b#c", f"/market{COLLECTION}/owners", ACCOUNT):
        found = operator.get("/console", query_string={"page": address})
        assert found.status_code == 302
        assert operator.get(found.location).status_code == 200
    assert operator.get("/console?page=hello").status_code == 400


@pytest.mark.parametrize(
    "page", ["/nft/x/7", "/nft/0.0.1/0", "/nft/0.0.1", "/collection/0.0.1:7", "/x"]
)
def test_other_addresses_are_not_there(operator, page):
    assert operator.get(f"/console{page}").status_code == 404


def test_no_cache_keeps_a_page(app, operator):
    stranger = app.test_client()
    for page in (
        operator.get("/console"),
        operator.get(f"/console{NFT}"),
        stranger.get("/console"),
    ):
        assert page.headers["Cache-Control"] == "no-store"
        assert "unsafe" not in page.headers["Content-Security-Policy"]
        assert '"robots" content="noindex"' in page.text


def test_the_shops_pages_know_nothing_of_a_session(tmp_path):
    app = on_testnet(tmp_path, **SHOP, STOREFRONT_OPERATORS=ALICE)
    first, with_cookie = app.test_client(), app.test_client()
    with_cookie.set_cookie("console", "x", path="/")
    first.get("/")  # stores the visitors' secret
    pages = {client.get("/").data for client in (first, with_cookie) for _ in range(3)}
    assert len(pages) <= 2  # one, unless its time has come between
    assert f'href="/console{ACCOUNT}">Moderate' in first.get(ACCOUNT).text


def test_without_operators_there_is_no_console(tmp_path):
    shop = on_testnet(tmp_path, **SHOP).test_client()
    for path in ("/console", f"/console{NFT}", "/console/sign-in"):
        assert shop.get(path).status_code == shop.post(path, headers=ORIGIN).status_code == 404
    assert "moderate" not in shop.get(f"/account/{BOB}").text
