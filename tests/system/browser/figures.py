"""A collection's figures as its page shows them."""

from playwright.sync_api import expect


def figures(page):
    rows = page.locator("#figures > div")
    expect(rows.first).to_be_visible()
    return dict(row.locator("dt, dd").all_inner_texts() for row in rows.all())
