"""The order book as a gallery."""

import re

from playwright.sync_api import expect

from harness.postgresql import until
from tests.system.browser.cards import cards, prices
from tests.system.browser.conftest import (
    DESKTOP,
    PHONE,
    TABLET,
    everywhere,
    in_both,
    on_screens,
    on_two_screens,
)


@everywhere
def test_it_works(visit):
    page = visit("/")
    expect(cards(page)).to_have_count(40)
    first = cards(page).first
    expect(first.get_by_role("heading")).not_to_be_empty()
    expect(first.locator(".price")).to_have_text(re.compile(r"^[\d,]+ HBAR$"))
    expect(first.locator(".by a")).to_have_text(re.compile(r"^\w"))  # its collection
    expect(first.locator("time")).to_have_attribute("datetime", re.compile(r"^20.*Z$"))
    expect(first.get_by_role("img")).to_have_attribute("alt", re.compile(r"^Artwork of .+ #\d+"))
    decoded = "image => image.decode().then(() => image.naturalWidth)"
    assert first.get_by_role("img").evaluate(decoded)
    expect(page.locator("#count")).to_have_text(re.compile(r"^\d\d for sale$"))
    expect(page.locator(".trending").first.get_by_role("link", name="Orbits")).to_be_visible()
    page.look("gallery", full=False)


def test_more_follows_the_link(visit):
    page = visit("/")
    more = page.get_by_role("link", name="Show more")
    more.click()
    expect(cards(page).nth(40)).to_be_visible()
    names = cards(page).locator("h2").all_text_contents()
    assert len(set(names)) == len(names)
    assert page.evaluate("document.activeElement.textContent") == names[40]
    while more.count():
        before = cards(page).count()
        more.click()
        expect(cards(page).nth(before)).to_be_visible()
    expect(page.locator("#count")).to_have_text(f"{cards(page).count()} for sale")
    page.get_by_role("link", name="For sale", exact=True).click()
    expect(cards(page)).to_have_count(40)
    assert page.evaluate("scrollY") == 0, "a first visit begins at the top"


@in_both
def test_back_returns_to_the_same_place(visit):
    page = visit("/")
    page.get_by_role("link", name="Show more").click()
    expect(cards(page).nth(40)).to_be_visible()
    number = cards(page).count()
    link = cards(page).nth(40).locator("h2 a")
    link.scroll_into_view_if_needed()
    name, top = link.inner_text(), link.bounding_box()["y"]
    link.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    expect(cards(page)).to_have_count(number)
    link = cards(page).get_by_role("link", name=name, exact=True)
    expect(link).to_be_in_viewport()
    assert abs(link.bounding_box()["y"] - top) < 5


def test_order_and_prices_are_in_the_address(visit):
    page = visit("/")
    order = page.get_by_role("combobox", name="Order")
    for words, address in (("Most expensive", "-price"), ("Cheapest", "price")):
        order.select_option(words)
        page.wait_for_url(f"**/?sort={address}")
        expect(cards(page)).to_have_count(40)
        is_falling = words == "Most expensive"
        until(lambda down=is_falling: prices(page) == sorted(prices(page), reverse=down), words)
    page.get_by_label("From, in HBAR").fill(" 100 ")
    page.get_by_label("To, in HBAR").fill("320")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?minPrice=100&maxPrice=320&sort=price")
    chips = page.locator("[data-part=chosen] .chip")
    expect(chips).to_contain_text(["from 100 HBAR", "up to 320 HBAR", "Clear all"])
    assert prices(page) and prices(page) == sorted(prices(page))
    assert all(100 <= price <= 320 for price in prices(page))


@in_both
def test_what_is_chosen_before_the_scripts_have_come_counts(visit):
    page = visit("/collections")
    held = []
    page.route("**/list.js", lambda route: held.append(route))
    page.goto(page.site + "/", wait_until="commit")
    page.get_by_role("combobox", name="Order").select_option("Cheapest")
    until(lambda: page.wait_for_timeout(100) or held, "the script")
    held[0].continue_()
    page.wait_for_url("**/?sort=price")
    until(lambda: prices(page) == sorted(prices(page)), "the order")


def test_a_collection_is_chosen_by_its_name(visit):
    page = visit("/")
    page.get_by_role("radio", name="Orbits").check()
    page.wait_for_url("**/?collection=0.0.5002")
    expect(page.get_by_role("link", name="Without Orbits")).to_be_visible()
    assert all("Orbits #" in name for name in cards(page).locator("h2").all_text_contents())
    page.get_by_role("link", name="Without Orbits").click()
    page.wait_for_url(page.site + "/")
    expect(cards(page)).to_have_count(40)
    page.go_back()
    expect(page.get_by_role("link", name="Without Orbits")).to_be_visible()
    expect(page.get_by_role("radio", name="Orbits")).to_be_checked()
    page.goto(page.site + "/?collection=orbits")
    expect(page.get_by_role("link", name="Without Orbits")).to_be_visible()


def test_it_handles_an_account(visit, trader):
    owner = "0.0.1004"
    owned = trader.call(f"/v1/user/{owner}/nfts?limit=1000")
    listed = [nft for nft in owned if nft["isForSale"]]
    page = visit(f"/account/{owner}")
    expect(page.locator("#count")).to_have_text(f"{len(owned)} NFTs")
    expect(cards(page).filter(has_text="Not for sale").first).to_be_visible()
    floors = {
        token: trader.call(f"/v1/collection/{token}")["floorPrice"] or 0
        for token in {nft["token"] for nft in owned}
    }
    value = sum(floors[nft["token"]] for nft in owned)
    expect(page.locator("#figures")).to_contain_text(f"{value:,} HBAR")
    page.get_by_role("button", name="Switch account").click()
    expect(page.get_by_text("This is you.")).to_be_visible()
    expect(page.get_by_role("link", name=re.compile("^Buy "))).to_have_count(0)
    expect(page.get_by_role("link", name=re.compile("^List ")).first).to_be_attached()
    page.look("account", full=False)
    page.get_by_role("radio", name="For sale").check()
    page.wait_for_url(f"**/account/{owner}?show=listed")
    expect(cards(page)).to_have_count(len(listed))
    page.get_by_role("radio", name="Orbits").check()
    page.wait_for_url(f"**/account/{owner}?show=listed&collection=0.0.5002")
    expect(page.locator("#count")).not_to_have_text(f"{len(listed)} NFTs")
    assert all("Orbits #" in name for name in cards(page).locator("h2").all_text_contents())
    page.get_by_role("combobox", name="Order").select_option("Most expensive")
    page.wait_for_url("**sort=-price")
    until(lambda: prices(page) == sorted(prices(page), reverse=True), "the order")


def test_an_invalid_account_cannot_be_you(visit):
    page = visit("/account/foo", refusals=[400, 422])
    expect(page.get_by_role("alert")).to_contain_text("must be three integers")
    expect(page.get_by_role("button", name="Switch account")).to_have_count(0)


@in_both
@on_screens((PHONE, "light"), (TABLET, "light"), (DESKTOP, "light"))
def test_a_price_leaves_the_name_its_number(visit, trader):
    trader.list(("0.0.7100", 327_041), "0.0.1009", 50_000_000_000)
    page = visit("/?collection=0.0.7100")
    name = cards(page).first.locator(".words")
    expect(name).to_have_text("Sandbox 0.0.7100 #327041")
    number, card = name.locator("span").bounding_box(), cards(page).first.bounding_box()
    assert number["x"] + number["width"] <= card["x"] + card["width"], "it is cut"
    page.look("gallery-price")


@on_two_screens
def test_a_caption_has_two_lines_of_the_same_height(visit, trader):
    trader.list(("0.0.7100", 327_042), "0.0.1009", 50_000_000_000)
    page = visit("/")
    heights = {round(each.bounding_box()["height"]) for each in page.locator(".caption").all()}
    assert len(heights) == 1


@on_two_screens
def test_it_handles_nothing_for_sale(visit):
    page = visit("/?collection=0.0.99")
    expect(page.get_by_text("No listings match these filters")).to_be_visible()
    page.look("gallery-empty")


@everywhere
def test_what_is_wrong_stands_at_its_field(visit, screen):
    page = visit("/?minPrice=1.5", refusals=[422])
    expect(page.get_by_role("alert")).to_contain_text("The lowest price must be a whole number")
    if screen[0] == PHONE:
        page.get_by_role("button", name="Filter").click()
    field = page.get_by_label("From, in HBAR", exact=True)
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile('^It must be .*, not "1.5"$'))
    other = page.get_by_label("To, in HBAR", exact=True)
    expect(other).not_to_have_attribute("aria-invalid", "true")
    page.look("gallery-error")
    field.fill("2")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?minPrice=2")
    expect(field).to_have_attribute("aria-invalid", "false")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_numbers_are_read_as_people_write_them(visit):
    page = visit("/", refusals=[422])
    page.get_by_label("From, in HBAR").fill("1,000")
    page.get_by_label("To, in HBAR").fill("900")
    page.keyboard.press("Enter")
    page.wait_for_url("**/?minPrice=1000&maxPrice=900")
    sentence = "The lowest price is above the highest"
    expect(page.get_by_role("alert")).to_have_text(sentence)
    expect(page.get_by_label("From, in HBAR")).to_have_accessible_description(sentence)


def test_what_is_typed_before_the_answer_stays(visit):
    page = visit("/")
    highest = page.get_by_label("To, in HBAR")

    def answer(route):
        highest.fill("9000")
        route.continue_()

    page.route("**/?minPrice=1000", answer)
    page.get_by_label("From, in HBAR").fill("1000")
    page.keyboard.press("Tab")
    page.wait_for_url("**/?minPrice=1000")
    expect(highest).to_have_value("9000")
    highest.press("Enter")
    page.wait_for_url("**/?minPrice=1000&maxPrice=9000")


@in_both
@on_two_screens
def test_small_pictures_are_remembered(visit):
    page = visit("/")
    width = cards(page).first.bounding_box()["width"]
    page.get_by_role("switch", name="Small pictures").click()
    page.goto(page.site + "/?sort=price")
    expect(page.get_by_role("switch", name="Small pictures")).to_be_checked()
    assert cards(page).first.bounding_box()["width"] < width
    page.look("gallery-small", full=False)


def test_what_is_nowhere_is_said_to_people(visit):
    page = visit("/demo/nowhere", refusals=[404])
    expect(page.get_by_role("heading", level=1)).to_have_text("Page not found")
    page.look("nowhere")
    page.get_by_role("link", name="Browse NFTs for sale").click()
    expect(cards(page)).to_have_count(40)


def test_a_service_that_is_gone_is_said(visit):
    page = visit("/", refusals=[0])
    page.route("**/?sort=price", lambda route: route.abort())
    page.get_by_role("combobox", name="Order").select_option("Cheapest")
    expect(page.get_by_role("alert")).to_contain_text("Can't reach the market")
    page.unroute("**/?sort=price")
    page.get_by_role("button", name="Try again").click()
    page.wait_for_url("**/?sort=price")
    expect(cards(page)).to_have_count(40)
    expect(page.get_by_role("alert")).to_have_count(0)


def test_an_older_answer_never_takes_the_place_of_a_newer_one(visit):
    page = visit("/")
    held = []
    page.route("**/?sort=price", lambda route: held.append(route))
    page.get_by_role("combobox", name="Order").select_option("Cheapest")
    page.get_by_role("combobox", name="Order").select_option("Most expensive")
    page.wait_for_url("**/?sort=-price")
    held[0].continue_()
    page.wait_for_load_state("networkidle")
    assert page.url.endswith("?sort=-price")
    assert prices(page) == sorted(prices(page), reverse=True)


@everywhere
def test_the_first_row_of_pictures_is_on_the_first_screen(visit, screen):
    height = screen[0][1]
    page = visit("/")
    for path in ("/", "/collection/0.0.5002", "/account/0.0.1004"):
        page.goto(page.site + path)
        picture = cards(page).first.locator(".artwork").bounding_box()
        assert picture["y"] + picture["height"] <= height, path
    page.goto(page.site + "/nft/0.0.5003/1")
    picture = page.locator("#artwork .artwork").bounding_box()
    assert picture["y"] + picture["height"] <= height


SHIFTS = """
window.shifted = 0;
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) shifted += value;
}).observe({ type: "layout-shift", buffered: true });
"""


@on_two_screens
def test_a_page_is_light_and_stays_where_it_is(visit):
    page = visit("/list")
    page.add_init_script(SHIFTS)
    loaded = []
    page.on("response", lambda response: loaded.append(response))
    # The last ones, which trade, load their scripts besides.
    paths = ("/", "/collection/0.0.5002", "/account/0.0.1004", "/nft/0.0.5003/1")
    for path in (*paths, "/list", "/nft/0.0.5001/1#purchase"):
        page.goto("about:blank")  # the page before asks for nothing more
        loaded.clear()
        page.goto(page.site + path)
        page.wait_for_load_state("networkidle")
        words = [
            one for one in loaded if not one.headers.get("content-type", "").startswith("image/")
        ]
        # The feed is read again and again, for as long as the page is busy.
        addresses = {one.url for one in words}
        assert len(addresses) <= 20 or path not in paths, addresses
        sizes = [one.request.sizes() for one in words]
        assert sum(each["responseBodySize"] for each in sizes) <= 100_000
        assert page.evaluate("shifted") < 0.05, path


def test_a_card_loads_no_larger_picture_than_it_shows(visit):
    page = visit("/", size=PHONE)
    chosen = cards(page).first.get_by_role("img").evaluate("image => image.currentSrc")
    assert chosen.endswith("-320.webp")
    thumbnail = page.locator(".tile img").first
    assert thumbnail.get_attribute("src").endswith("-320.webp")
    page.goto(page.site + "/nft/0.0.5003/1")
    sources = page.locator("#artwork img").get_attribute("srcset")
    assert re.findall(r" (\d+)w", sources) == ["320", "640", "1280"]


@in_both
def test_a_thumb_meets_each_link(visit):
    """44 px, or 24 px with room around: WCAG 2.5.8 asks for the latter."""
    page = visit("/", size=PHONE)
    expect(cards(page)).to_have_count(40)
    page.get_by_role("button", name="Menu", exact=True).click()
    for link in [*cards(page).locator(".by a").all()[:4], *page.locator("nav a").all()]:
        assert link.bounding_box()["height"] >= 43.9
