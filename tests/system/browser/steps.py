"""Steps on a page, as people take them."""

import re

from playwright.sync_api import expect

EVERY_STEP = {"fold-steps": "open"}  # as the browser remembers it of a wallet developer


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def step(page, name):
    return page.locator(f"[data-step={name}]")


def shown(page, place=""):
    """What is shown of the transaction that was prepared: its words, each with what they say."""
    terms, words = (page.locator(f"{place} [data-transaction] {tag}") for tag in ("dt", "dd"))
    return dict(zip(terms.all_inner_texts(), words.all_inner_texts(), strict=True))


def expect_done(page, name, words):
    expect(step(page, name).locator(".outcome")).to_contain_text(words)
    expect(step(page, name)).to_have_class(re.compile("done"))
