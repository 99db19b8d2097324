"""The API reference in a browser: whoever reads it tries a call, copies it, searches, and comes back."""

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from harness.serving import run_program
from tests.system.browser.conftest import DESKTOP, PHONE, TABLET, on_screens, on_two_screens
from tests.system.browser.reference import sample, try_it

GET_NFT = "get/v1/nft/{tokenId}/{serialNo}"
NFT = "#marketplace/tag/nft/GET/v1/nft/{tokenId}/{serialNo}"
# What axe-core finds in Scalar's form, and we cannot mend: roles and labels of its editors.
FORM_FINDINGS = {
    "aria-allowed-role",
    "aria-input-field-name",
    "aria-required-attr",
    "aria-valid-attr-value",
    "landmark-no-duplicate-main",
    "landmark-unique",
    "presentation-role-conflict",
    "scrollable-region-focusable",
}


@on_screens((PHONE, "dark"), (TABLET, "light"), (DESKTOP, "light"))
def test_it_is_looked_at(visit):
    page = visit("/reference")
    expect(page.locator("h1")).to_have_text("NFT Marketplace")
    page.look("reference", full=False)
    page.goto(f"{page.url.partition('#')[0]}{NFT}")
    expect(sample(page, GET_NFT)).to_be_in_viewport()
    page.look("reference-operation", full=False)


@on_two_screens
def test_a_call_is_tried_with_the_sandboxs_token(visit):
    page = visit(f"/reference{NFT}")
    form = try_it(page, GET_NFT)
    expect(form.get_by_text("200 OK")).to_be_visible()
    expect(form.get_by_text("Tides #7").first).to_be_attached()
    found = Axe().run(page).response["violations"]
    assert {violation["id"] for violation in found} <= FORM_FINDINGS
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_sandbox_has_its_document(visit):
    page = visit("/reference")
    page.get_by_role("button", name="Marketplace", exact=True).click()
    page.get_by_role("option", name="Sandbox").or_(
        page.get_by_role("menuitem", name="Sandbox")
    ).click()
    expect(page.locator("h1")).to_have_text("The sandbox's API")
    form = try_it(page, "post/decode")
    expect(form.get_by_text("200 OK")).to_be_visible()
    expect(form.get_by_text("CRYPTOAPPROVEALLOWANCE").first).to_be_attached()


def test_a_sample_that_is_copied_runs(visit):
    page = visit(f"/reference{NFT}", permissions=["clipboard-read", "clipboard-write"])
    shown = sample(page, GET_NFT)
    shown.get_by_role("button", name="Copy cURL code").click()
    command = page.evaluate("navigator.clipboard.readText()")
    assert '"name":"Tides #7"' in run_program("bash", "-c", command, check=True).stdout
