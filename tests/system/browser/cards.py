"""What the gallery's cards show."""


def cards(page):
    return page.locator("#gallery > li:not(.skeleton)")


def hbar(words):
    return float(words.removesuffix(" HBAR").replace(",", ""))


def prices(page):
    # Firefox has no inner text of cards that it has not laid out yet.
    return [int(hbar(words)) for words in cards(page).locator(".price").all_text_contents()]
