"""What happened, in words: to the market, a collection, an account, and an NFT with its prices."""

import re
from datetime import datetime, timedelta

import pytest
from playwright.sync_api import expect

from tests.system.browser.conftest import DESKTOP, everywhere, in_both, on_screens
from tests.system.browser.figures import figures

NARROW = (320, 640)
SELLER, BUYER = "0.0.2021", "0.0.2022"


@pytest.fixture(scope="session")
def sold(trader):
    """An NFT that was listed, listed for less, and sold."""
    nft = ("0.0.7851", 1)
    trader.list(nft, SELLER, 1500)
    trader.list(nft, SELLER, 1200)
    trader.buy(nft, BUYER)
    return nft


def rows(page):
    return page.locator(".events > li")


@everywhere
def test_it_works(visit, trader, sold):
    page = visit(f"/activity?collection={sold[0]}")
    expect(rows(page)).to_have_count(3)
    expect(rows(page).locator(".what")).to_have_text(
        [
            f"Sold by {SELLER} to {BUYER} for 1,200 HBAR",
            f"Price lowered by {SELLER} from 1,500 HBAR to 1,200 HBAR",
            f"Listed by {SELLER} for 1,500 HBAR",
        ]
    )
    sale = rows(page).first
    link = sale.get_by_role("link", name="Transaction (JSON, in a new tab)")
    expect(link).to_have_attribute("target", "_blank")
    expect(link).to_have_attribute("rel", "noopener")
    expect(sale.locator("time")).to_have_attribute("datetime", re.compile(r"^20.*Z$"))
    expect(sale.get_by_role("link", name=BUYER)).to_have_attribute("href", f"/account/{BUYER}")
    expect(sale.locator(".of a")).to_have_attribute("href", f"/nft/{sold[0]}/{sold[1]}")
    page.look("activity")
    address = link.get_attribute("href")
    assert trader.call(address)["transactions"][0]["result"] == "SUCCESS"


def test_new_events_appear_by_themselves_until_that_is_switched_off(visit, trader):
    account = "0.0.2023"
    page = visit(f"/activity?account={account}")
    expect(page.get_by_role("heading", name="No activity yet")).to_be_visible()
    page.look("activity-empty")
    trader.list(("0.0.7852", 1), account, 10)
    expect(rows(page)).to_have_count(1)
    expect(page.get_by_role("heading", name="No activity yet")).to_have_count(0)
    expect(page.locator("#events [role=status]")).to_have_text("1 new event")

    live = page.get_by_role("switch", name="Live")
    page.tab_to("#live")
    page.keyboard.press("Space")
    expect(live).not_to_be_checked()
    trader.list(("0.0.7852", 2), account, 20)
    page.wait_for_timeout(4000)
    expect(rows(page)).to_have_count(1)
    page.keyboard.press("Space")
    expect(rows(page)).to_have_count(2)
    expect(rows(page).first.locator(".what")).to_have_text(f"Listed by {account} for 20 HBAR")


@pytest.mark.parametrize("days", [1, -1])
def test_a_clock_that_is_a_day_off_changes_no_date(visit, days):
    page = visit("/collections")
    page.clock.install(time=datetime.now() + timedelta(days=days))
    page.goto(page.site + "/activity?kind=sales")  # other tests make few of them
    times = page.locator(".events time").filter(has_text=re.compile("hour|day"))
    written = times.all_inner_texts()
    assert len(written) > 5
    for _ in range(3):  # the script is loaded, and then writes
        page.clock.fast_forward("00:25")
        page.wait_for_load_state("networkidle")
    assert times.all_inner_texts() == written


def test_older_ones_follow(visit):
    page = visit("/activity")
    expect(rows(page)).to_have_count(30)
    page.get_by_role("link", name="Show more").press("Enter")
    expect(rows(page).nth(30)).to_be_visible()
    links = rows(page).locator(".of a").evaluate_all("all => all.map(one => one.href)")
    assert page.evaluate("document.activeElement.href") == links[30]
    rows(page).nth(3).click(position={"x": 700, "y": 20})  # beside its words
    page.wait_for_url("**/nft/**")


def test_a_feed_that_begins_again_is_read_again(visit, trader):
    account = "0.0.2024"
    page = visit(f"/activity?account={account}", refusals=[410])
    expect(page.locator("#events .empty")).to_be_visible()
    page.route("**/v1/events?*after=*", lambda route: route.continue_(url=of_another_feed(route)))
    with page.expect_response(lambda response: response.status == 410):
        trader.list(("0.0.7853", 1), account, 10)
    page.unroute_all()
    expect(rows(page)).to_have_count(1)


def of_another_feed(route):
    return re.sub(r"after=[0-9a-f]{8}", "after=00000000", route.request.url)


def test_a_collection_and_an_account_lead_there(visit, sold):
    page = visit(f"/collection/{sold[0]}")
    assert figures(page)["Volume"] == "1,200 HBAR 1 sale"
    page.get_by_role("link", name="Activity", exact=True).last.click()
    page.wait_for_url(f"**/activity?collection={sold[0]}")
    shown = figures(page)
    assert shown["Last 24 hours"] == "1,200 HBAR, 1 sale"
    assert shown["Last sale"].startswith("1,200 HBAR, ")
    page.get_by_role("link", name="Sales").click()
    expect(rows(page)).to_have_count(1)
    page.get_by_role("link", name=BUYER).click()
    page.wait_for_url(f"**/account/{BUYER}")
    page.get_by_role("link", name="Activity", exact=True).last.click()
    page.wait_for_url(f"**/activity?account={BUYER}")
    expect(rows(page).first).to_be_visible()
    page.get_by_role("link", name="NFTs", exact=True).click()
    page.wait_for_url(f"**/account/{BUYER}")


@in_both
@on_screens((NARROW, "dark"), (DESKTOP, "light"))
def test_the_history_of_an_nft_has_a_picture_of_its_prices(visit, sold):
    page = visit(f"/nft/{sold[0]}/{sold[1]}")
    expect(page.locator(".prices svg")).to_be_visible()
    table = page.get_by_role("table", name="Prices over time")
    expect(table.get_by_role("row")).to_have_text(
        [
            re.compile(end)
            for end in ("Price$", "Listed1,500 HBAR$", "changed1,200 HBAR$", "Sold1,200 HBAR$")
        ]
    )
    labels = ["Lowest1,200 HBAR", "Highest1,500 HBAR", "Last1,200 HBAR"]
    expect(page.locator(".plot dl > div")).to_have_text(labels)
    expect(page.locator(".prices")).to_contain_text("not to scale of time")
    line = page.locator(".plot .asked").get_attribute("d")
    assert re.fullmatch(r"M0 0H50V20H100", line)
    page.look("history")
    page.goto(f"{page.site}/activity")
    expect(rows(page)).to_have_count(30)
    page.look("activity-market")


def test_what_came_before_it_was_added_is_said_so(visit):
    page = visit("/nft/0.0.5004/1")
    words = ["Picture and traits found", "Listed by", "Added here, owned by"]
    dated = [r"(ago|now)$", r"ago, before it was added here · Transaction", r"(ago|now)$"]
    # On a busy machine the picture follows the traits, in an event of its own.
    for place in (-3, -2, -1):
        row = rows(page).nth(place)
        expect(row.locator(".what")).to_have_text(re.compile(f"^{words[place]}"))
        expect(row.locator(".when")).to_have_text(re.compile(dated[place]))


def test_what_happens_to_an_nft_shows_on_its_page(visit, trader):
    nft = ("0.0.7854", 1)
    trader.list(nft, SELLER, 10)
    page = visit(f"/nft/{nft[0]}/{nft[1]}")
    expect(page.locator("#state .price")).to_contain_text("10 HBAR")
    trader.buy(nft, BUYER)
    # Its image may come before or after.
    sold = rows(page).locator(".what").filter(has_text=f"Sold by {SELLER} to {BUYER}")
    expect(sold).to_be_visible()
    expect(page.locator("#state .price")).to_have_text("Not for sale")
