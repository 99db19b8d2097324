"""What the gallery's cards show."""


def cards(page):
    return page.locator("#gallery > li:not(.skeleton)")


def hbar(words):
    return float(words.removesuffix(" HBAR").replace(",", ""))


def prices(page):
    return [int(hbar(words)) for words in cards(page).locator(".price").all_inner_texts()]
