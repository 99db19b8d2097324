"""Strangers' names: long, unbroken, from right to left, of emoji, of markup. They keep to their place."""

import json

import pytest
import sqlite_utils
from playwright.sync_api import expect

from tests.system.browser.conftest import PHONE, everywhere, in_both

MARKUP = (
    """"><script>alert(1)</script><img src=x onerror="alert(2)"><b style="color:red">bold</b>"""
)
NAMES = {
    "unbroken": "W" * 200,
    "sentence": "The quick brown fox jumps over the lazy dog. " * 5,
    "rtl": "قطعة فنية رقمية " * 13,
    "override": "‮" + "txt.exe " * 24,
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈🦄" * 28,
    "combining": "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L̠ͨͧͩ͘G̴̻͈͍͔̹̑͗̎̅͛́Ǫ̵̹̻̝̳͂̌̌͘!͖̬̰̙̗̿̋ͥͥ̂ͣ̐́́͜͞ " * 3,
    "markup": MARKUP,
}
TOKEN = "0.0.6666"


@pytest.fixture(scope="session")
def listings(trader):
    """NFTs that are listed on the ledger, too: the watcher would end other listings at any time."""
    nfts = [(TOKEN, serial_no) for serial_no in range(1, len(NAMES) + 1)]
    for nft in nfts:
        trader.list(nft, "0.0.1001", 50_000_000_000)
    return nfts


@pytest.fixture
def named(market, listings):
    """NFTs for sale with such names, and their collection's name."""
    db = sqlite_utils.Database(market.folder / "instance" / "marketplace.db")
    names = list(NAMES.values())
    nfts = dict(zip(listings, map(name_nft, names), strict=True))
    unread = {"retry_at": "9999", "attempts": 1}  # the watcher would name it again
    collection = {"name": NAMES["unbroken"], "symbol": "W" * 100} | unread
    changes = [("nft", nft, new) for nft, new in nfts.items()]
    changes.append(("collection", "0.0.5004", collection))
    former = [(table, key, db[table].get(key)) for table, key, _ in changes]
    for table, key, new in changes:
        db[table].update(key, new)
    yield names
    for (table, key, old), (_, _, new) in zip(former, changes, strict=True):
        db[table].update(key, {name: old[name] for name in new})
    db.close()


def name_nft(name):
    return {
        "name": name,
        "file_type": name,
        "attributes": json.dumps([{"trait_type": name, "value": name}]),
        "original_image_url": "javascript:alert(3)",
        "missing": None,  # the watcher reads nothing more of it
    }


def listen(page):
    page.on("dialog", lambda dialog: page.problems.append(f"an alert: {dialog.message}"))


@everywhere
def test_they_keep_to_their_place_in_the_gallery(visit, named):
    page = visit(f"/?collection={TOKEN}")
    listen(page)
    cards = page.locator("#gallery > li:not(.skeleton)")
    expect(cards).to_have_count(len(named))
    for card in cards.all():
        link, box = card.locator(".words"), card.locator(".words").bounding_box()
        assert link.text_content() in named
        assert box["height"] <= 60, link.inner_text()
        assert box["width"] <= card.bounding_box()["width"]
    assert page.locator("main script, main b, main img[src=x]").count() == 0
    page.look("names-gallery")


@in_both
@pytest.mark.parametrize("kind", NAMES)
def test_they_keep_to_their_place_on_their_page(visit, named, kind):
    serial_no = list(NAMES).index(kind) + 1
    page = visit(f"/nft/{TOKEN}/{serial_no}", size=PHONE)
    listen(page)
    heading = page.get_by_role("heading", level=1)
    expect(heading.locator(".words")).to_have_attribute("title", NAMES[kind])
    assert heading.bounding_box()["height"] <= 200
    expect(page.locator(".traits dt")).to_have_text(NAMES[kind].strip())
    page.get_by_text("Developer", exact=True).click()  # whose calls let the ledger mint it
    expect(page.get_by_text("javascript:alert(3)", exact=True)).to_be_visible()
    assert page.locator("a[href^='javascript:'], main script, main b").count() == 0
    page.look(f"names-{kind}")


@in_both
def test_they_keep_to_their_place_on_a_collections_page(visit, named):
    page = visit("/collection/0.0.5004", size=PHONE)
    heading = page.get_by_role("heading", level=1)
    expect(heading.locator(".words")).to_have_attribute("title", NAMES["unbroken"])
    assert heading.bounding_box()["height"] <= 160
    page.look("names-collection")
    page.goto(f"{page.site}/?collection=0.0.5004")
    expect(page.locator(".chip")).to_be_visible()
    for chip in page.locator(".chip").all():
        assert chip.bounding_box()["width"] <= 340
    page.look("names-chips", full=False)


def test_they_keep_to_their_place_where_they_are_found(visit, named):
    page = visit("/", size=PHONE)
    page.get_by_role("combobox", name="Search").fill("0.0.5004")
    found = page.locator("#found bdi")
    expect(found).to_have_text(NAMES["unbroken"])
    assert found.bounding_box()["width"] <= 300
    page.look("names-found", full=False)
