"""A collection's page: what it is, what a sale costs whom, and what of it is for sale."""

from playwright.sync_api import expect

from harness.postgresql import until
from tests.system.browser.conftest import PHONE, everywhere, in_both, on_two_screens
from tests.system.browser.test_gallery import cards, prices


def figures(page):
    rows = page.locator("#figures > div")
    expect(rows.first).to_be_visible()
    return dict(row.locator("dt, dd").all_inner_texts() for row in rows.all())


@everywhere
def test_it_works(visit, screen):
    page = visit("/demo/collection/0.0.5002")
    expect(page.get_by_role("heading", level=1)).to_have_text("Orbits")
    expect(page.tab).to_have_title("Orbits · NFT Marketplace")
    expect(page.locator(".eyebrow")).to_have_text("Collection 0.0.5002 · ORBIT")
    expect(cards(page).first).to_be_visible()
    shown = figures(page)
    floor = f"{min(prices(page)):,} HBAR"
    assert shown["Floor"].startswith(floor)
    assert shown["Listed"] == str(cards(page).count())
    assert shown["Treasury"] == "0.0.1000"
    words = "5 % to 0.0.2002, or 10 HBAR if it is given away; 2.5 % to 0.0.2003"
    assert shown["Royalties"] == words
    expect(page.locator("#strip img")).to_have_count(5)
    expect(page.locator("#avatar img")).to_be_visible()
    expect(page.locator("#story")).to_have_text(
        "Small systems, far from here.From the metadata of #1"
    )
    if screen[0] == PHONE:
        page.get_by_text("Who pays and who gets what").click()
    expect(page.locator("#cost")).to_contain_text("At the floor price:")
    expect(page.locator("#cost tr").first).to_contain_text(f"pays {floor}")
    page.look("collection")


@everywhere
def test_the_index_has_all_of_them(visit, trader):
    page = visit("/")
    page.get_by_role("navigation").get_by_role("link", name="Collections").click()
    page.get_by_role("link", name="Most for sale").click()
    page.wait_for_url("**/demo/collections?sort=listed")
    best = trader.call("/v1/collections?sort=listed&limit=1")[0]
    expect(cards(page).first).to_contain_text(f"{best['listed']} for sale")
    expect(cards(page).first.locator(".price")).to_have_text(f"from {best['floorPrice']:,} HBAR")
    page.look("collections", full=False)
    page.get_by_text("Filter", exact=True).click()
    page.get_by_label("A word of the name").fill("orb")
    page.get_by_role("button", name="Apply").click()
    expect(cards(page).get_by_role("heading")).to_have_text(["Orbits"])
    cards(page).get_by_role("link").click()
    page.wait_for_url("**/demo/collection/0.0.5002")


def test_its_nfts_are_chosen_by_their_traits(visit, trader):
    traits = trader.call("/v1/collection/0.0.5002/traits")
    palette = next(trait["values"] for trait in traits if trait["trait_type"] == "Palette")
    chosen = next(value for value in palette if value["listed"])
    page = visit("/demo/collection/0.0.5002")
    page.get_by_text("Filter", exact=True).click()
    page.locator("#traits summary", has_text="Palette").click()
    box = page.get_by_role("checkbox", name=chosen["value"])
    box.click()
    page.wait_for_url("**/demo/collection/0.0.5002?trait=Palette*")
    expect(cards(page)).to_have_count(chosen["listed"])
    expect(box).to_be_checked()
    page.look("collection-traits")
    page.get_by_role("link", name=f"Without Palette:{chosen['value']}").click()
    page.wait_for_url("**/demo/collection/0.0.5002")


TOP = "document.querySelector('.arranging').getBoundingClientRect().top"
# Firefox's driver moves the page for a click.
CLICK = "one => one.click()"
ADDRESSES = "all => all.map(one => one.src)"


@in_both
def test_a_choice_leaves_place_panel_focus_and_banner_as_they_are(visit):
    page = visit("/demo/collection/0.0.5002")
    banner = page.locator("#strip img")
    expect(cards(page).first).to_be_visible()
    expect(page.locator("#traits summary").first).to_be_attached()
    page.get_by_text("Filter", exact=True).click()
    page.evaluate(f"scrollBy(0, {TOP} - 40)")
    before = banner.evaluate_all(ADDRESSES)
    assert len(before) == 5

    def is_in_place():
        expect(page.locator(".trait").first).to_be_attached()
        until(lambda: round(page.evaluate(TOP)) == 40, "the controls have moved")
        assert banner.evaluate_all(ADDRESSES) == before

    page.get_by_role("link", name="Cheapest").evaluate(CLICK)
    page.wait_for_url("**/0.0.5002?sort=price")
    is_in_place()
    page.locator("#traits summary").first.evaluate(CLICK)
    page.get_by_role("checkbox").first.press("Space")
    page.wait_for_url("**/0.0.5002?trait=*&sort=price")
    is_in_place()
    expect(page.get_by_role("checkbox").first).to_be_focused()
    page.locator("#chosen a").evaluate(CLICK)
    page.wait_for_url("**/0.0.5002?sort=price")
    is_in_place()
    expect(page.get_by_role("checkbox").first).to_be_visible()


def test_an_nfts_page_leads_to_it(visit):
    page = visit("/demo/nft/0.0.5002/1")
    page.get_by_role("link", name="Orbits", exact=True).click()
    page.wait_for_url("**/demo/collection/0.0.5002")


@on_two_screens
def test_it_handles_one_of_which_nothing_is_stored(visit):
    page = visit("/demo/collection/0.0.7654", refusals=[404])
    expect(page.locator(".collection .notice")).to_contain_text("0.0.7654")
    expect(page.get_by_text("Nothing of it is for sale")).to_be_visible()
    expect(page.locator("#strip")).to_be_hidden()
    page.look("collection-not-stored")
