"""The main pages in each browser, at each width, light and dark: pictures to look at, and axe on each."""

from playwright.sync_api import expect

from tests.system.browser.conftest import DESKTOP, PHONE, TABLET, in_both, on_screens

# Each with what is there once it is complete.
PAGES = {
    "gallery": ("/", ".strip .tile >> nth=1"),
    "filtered": ("/?sort=price&minPrice=50&maxPrice=400", ".chip >> nth=1"),
    "collection": ("/collection/0.0.5002", ".avatar img"),
    "nft": ("/nft/0.0.5003/1", "#history li >> nth=1"),
    "purchase": ("/nft/0.0.5001/1#purchase", "#purchase .fields"),
    "list": ("/list", "[data-step=add].open"),
}


@in_both
# On a phone in the dark and on a desktop in the light, each page's own test looks at it.
@on_screens((PHONE, "light"), (TABLET, "dark"), (DESKTOP, "dark"))
def test_they_look_well(visit):
    page = visit("/")
    for name, (path, complete) in PAGES.items():
        page.goto(page.site + path)
        if name == "list":
            page.get_by_text("Show every step").click()
        expect(page.locator(complete)).to_be_visible()
        page.look(f"page-{name}")
