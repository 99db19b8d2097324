"""The search in the masthead: what is found while somebody types."""

import re

import pytest
from playwright.sync_api import expect

from tests.system.browser.conftest import PHONE, TABLET, everywhere, on_screens


def search(page, words):
    page.keyboard.press("/")
    expect(page.get_by_role("combobox", name="Search")).to_be_focused()
    page.keyboard.type(words)
    return page.locator("#found").get_by_role("option")


@everywhere
def test_a_collection_is_found_with_the_keyboard(visit):
    page = visit("/")
    found = search(page, "pea")
    expect(found).to_have_text([re.compile(r"^Peaks\d+ for sale$")])
    page.look("search", full=False)
    page.keyboard.press("ArrowDown")
    expect(found).to_have_attribute("aria-selected", "true")
    page.keyboard.press("Enter")
    page.wait_for_url("**/collection/0.0.5004")


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("peaks 7", "/nft/0.0.5004/7"),
        ("0.0.5001 #7", "/nft/0.0.5001/7"),
        ("0.0.1001", "/account/0.0.1001"),
    ],
)
def test_enter_leads_to_all_that_is_found(visit, words, address):
    page = visit("/activity")
    search(page, words)
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=*")
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Results for “{words}”")
    page.locator(f'main a[href$="{address}"]').first.click()
    page.wait_for_url(f"**{address}")


@on_screens((PHONE, "dark"), (TABLET, "light"))
def test_the_pages_are_a_menu_where_there_is_no_room(visit, screen):
    page = visit("/search?q=0.0.1001")
    row = page.locator("#visitor").bounding_box()
    brand = page.locator(".brand").bounding_box()
    assert abs(row["y"] + row["height"] / 2 - brand["y"] - brand["height"] / 2) < 4, "two rows"
    link = page.get_by_role("link", name="Collections", exact=True)
    expect(link).to_be_hidden()
    page.get_by_role("button", name="Menu", exact=True).click()
    page.look("menu", full=False)
    link.click()
    page.wait_for_url("**/collections")


@pytest.mark.parametrize("key", ["Tab", "Escape"])
def test_it_stays_closed_once_the_field_was_left(visit, key):
    page = visit("/")
    held = []
    page.route("**/v1/search?q=pea&shown=true", lambda route: held.append(route))
    with page.expect_request("**/v1/search?q=pea&shown=true"):
        search(page, "pea")
    page.keyboard.press(key)
    held.pop().continue_()
    page.wait_for_timeout(500)
    expect(page.locator("#found")).to_be_hidden()
    page.unroute("**/v1/search?q=pea&shown=true")
    search(page, "peak")
    page.keyboard.press(key)  # before it is asked
    page.wait_for_timeout(500)
    expect(page.locator("#found")).to_be_hidden()


def test_enter_leads_to_the_words_that_were_typed_last(visit):
    page = visit("/activity")
    found = search(page, "peaks")
    expect(found.first).to_contain_text("Peaks")
    page.keyboard.press("ArrowDown")
    page.keyboard.type(" 7")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=peaks+7")
    expect(page.get_by_role("heading", name="Peaks #7")).to_be_visible()


def test_a_search_without_results_says_so(visit):
    page = visit("/")
    search(page, "nowhere")
    expect(page.locator("#found-status")).to_have_text("No results for “nowhere”.")
    page.look("search-nothing", full=False)
    page.keyboard.press("Tab")
    expect(page.locator("#found-status")).to_be_hidden()
