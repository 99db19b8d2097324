"""A collection's page: what it is, what a sale costs whom, and what of it is for sale."""

from playwright.sync_api import expect

from harness.postgresql import until
from tests.system.browser.cards import cards, hbar, prices
from tests.system.browser.conftest import PHONE, everywhere, in_both, on_two_screens
from tests.system.browser.figures import figures


def rows(page):
    return page.locator("#gallery > tr")


@everywhere
def test_it_works(visit, trader):
    page = visit("/collection/0.0.5002")
    expect(page.get_by_role("heading", level=1)).to_have_text("Orbits")
    expect(page.tab).to_have_title("Orbits · NFT Marketplace")
    expect(page.locator(".eyebrow")).to_have_text("Collection 0.0.5002 · ORBIT")
    expect(cards(page).first).to_be_visible()
    shown = figures(page)
    floor = f"{min(prices(page)):,} HBAR"
    assert shown["Floor"].startswith(floor)
    assert shown["Listed"] == f"{cards(page).count()} of 30"
    assert shown.keys() == {"Floor", "Best offer", "Listed", "Owners", "Volume", "Royalties"}
    assert shown["Royalties"] == "7.5%"
    expect(page.locator(".avatar img")).to_be_visible()
    expect(page.locator("#story")).to_have_text("Small systems, far from here.")
    serial_no = cards(page).first.get_attribute("data-key").partition("/")[2]
    rank = trader.call(f"/v1/nft/0.0.5002/{serial_no}/traits")["rank"]
    expect(cards(page).first.locator(".by")).to_contain_text(f"Rank {rank}")
    page.get_by_text("Fees and royalties").click()
    expect(page.locator("#cost")).to_contain_text("At the floor price:")
    expect(page.locator("#cost tr").first).to_contain_text(f"pays {floor}")
    page.look("collection")


@everywhere
def test_the_index_has_all_of_them(visit, trader):
    page = visit("/")
    page.lead("Collections")
    page.get_by_role("combobox", name="Order").select_option("Most for sale")
    page.wait_for_url("**/collections?sort=listed")
    best = trader.call("/v1/collections?sort=listed&limit=1")[0]
    expect(rows(page).first.locator(".sorted")).to_have_text(str(best["listed"]))
    expect(rows(page).first.locator("td").first).to_have_text(f"{best['floorPrice']:,} HBAR")
    page.look("collections", full=False)
    page.get_by_label("A word of the name").fill("orb")
    page.keyboard.press("Enter")
    expect(rows(page).locator(".name")).to_have_text(["Orbits"])
    rows(page).get_by_role("link").click()
    page.wait_for_url("**/collection/0.0.5002")


def test_the_index_is_ranked_by_each_column(visit, trader):
    page = visit("/collections")
    tokens = [one["token"] for one in trader.call("/v1/collections")]
    about = {token: trader.call(f"/v1/collection/{token}") for token in tokens}
    figures_of = {"Floor": "floorPrice", "Volume": "volume", "Owners": "owners", "Listed": "listed"}
    for title, name in figures_of.items():
        head = page.get_by_role("columnheader", name=title)
        head.get_by_role("link").click()
        expect(head).to_have_attribute("aria-sort", "descending")
        expected = sorted((one[name] or 0 for one in about.values()), reverse=True)
        shown = rows(page).locator(".sorted").all_inner_texts()
        assert [int(hbar(words.replace("–", "0"))) for words in shown] == expected
    page.get_by_role("columnheader", name="7 days").get_by_role("link").click()
    page.wait_for_url("**?sort=volume7d")
    weeks = [hbar(words) for words in rows(page).locator(".sorted").all_inner_texts()]
    assert weeks == sorted(weeks, reverse=True)
    assert weeks[0] > 0


@on_two_screens
def test_its_first_picture_is_within_the_first_screen(visit, screen):
    """Banner, head and eleven figures came first."""
    page = visit("/collection/0.0.5001")
    expect(page.locator(".banner img")).to_be_visible()
    box = cards(page).first.locator(".artwork").bounding_box()
    assert box["y"] + box["height"] <= screen[0][1]


@everywhere
def test_its_owners_are_a_tab(visit, trader):
    page = visit("/collection/0.0.5001")
    page.get_by_role("link", name="Owners", exact=True).click()
    first = trader.call("/v1/collection/0.0.5001/owners?limit=1")[0]
    assert figures(page)["Treasury"] == "0.0.1000"
    row = page.locator(".owners tbody tr").first
    expect(row).to_contain_text(first["accountId"])
    expect(row.locator("td").first).to_have_text(str(first["nfts"]))
    page.look("collection-owners")
    row.get_by_role("link").click()
    page.wait_for_url(f"**/account/{first['accountId']}")


def test_it_has_the_banner_and_the_links_of_its_own_document(visit):
    page = visit("/collection/0.0.5001")
    banner = page.locator(".banner img")
    assert banner.evaluate("image => image.decode().then(() => image.naturalWidth)")
    expect(page.get_by_role("link", name="website")).to_have_attribute(
        "href", "https://example.com/tides"
    )


def read_palettes(trader):
    """The collection's palettes that are for sale, and how often, the most frequent first."""
    traits = trader.call("/v1/collection/0.0.5002/traits")
    palettes = next(trait["values"] for trait in traits if trait["trait_type"] == "Palette")
    return sorted((one for one in palettes if one["listed"]), key=lambda one: -one["listed"])


@everywhere
def test_its_nfts_are_chosen_by_their_traits(visit, trader, screen):
    page = visit("/collection/0.0.5002")
    group = page.locator(".trait", has=page.get_by_text("Palette", exact=True))
    counts = []

    def are_the_markets():
        page.reload()
        counts[:] = map(int, group.locator(".number").all_text_contents())
        return counts == [one["listed"] for one in read_palettes(trader)]

    until(are_the_markets, "the counts")  # the watcher may still count what another test has listed
    listed = read_palettes(trader)
    if screen[0] == PHONE:
        page.get_by_role("button", name="Filter").click()
    expect(group.locator("input")).to_have_count(len(listed))  # none leads to nothing
    box = page.get_by_role("checkbox", name=listed[0]["value"])
    box.press("Space")
    page.wait_for_url("**/collection/0.0.5002?trait=Palette*")
    expect(cards(page)).to_have_count(counts[0])
    expect(box).to_be_checked()
    expect(box).to_be_focused()
    # The counts of one's own trait stay; those of others follow it.
    assert [int(text) for text in group.locator(".number").all_inner_texts()] == counts
    layers = page.locator(".trait", has=page.get_by_text("Layers", exact=True))
    left = [int(text) for text in layers.locator(".number").all_text_contents()]
    assert sum(left) == counts[0]
    page.look("collection-traits", full=False)
    if screen[0] == PHONE:
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Filter")).to_be_focused()
    page.get_by_role("link", name=f"Without Palette: {listed[0]['value']}").click()
    page.wait_for_url("**/collection/0.0.5002")
    expect(page.locator("#filter input:checked")).to_have_count(0)


@in_both
def test_a_choice_leaves_place_and_focus_as_they_are(visit):
    page = visit("/collection/0.0.5002")
    page.set_viewport_size({"width": 1440, "height": 500})
    order = page.get_by_role("combobox", name="Order")
    page.evaluate("scrollBy(0, 150)")
    order.focus()
    page.keyboard.press("ArrowDown")
    page.wait_for_url("**/0.0.5002?sort=price")
    until(lambda: prices(page) == sorted(prices(page)), "the order")
    expect(order).to_be_focused()
    assert page.evaluate("scrollY") == 150
    page.go_back()
    page.wait_for_url("**/0.0.5002")
    expect(order).to_have_value("")


def test_an_nfts_page_leads_to_it(visit):
    page = visit("/nft/0.0.5002/1")
    page.get_by_role("link", name="Orbits", exact=True).click()
    page.wait_for_url("**/collection/0.0.5002")


@on_two_screens
def test_it_handles_one_of_which_nothing_is_stored(visit):
    page = visit("/collection/0.0.7654", refusals=[404])
    expect(page.locator(".collection .notice")).to_contain_text("0.0.7654")
    expect(page.get_by_text("Nothing for sale right now")).to_be_visible()
    page.look("collection-not-stored")
