"""A dApp at an origin of its own, as a browser lets it call the service and the sandbox, with no setting."""

import pytest

from tests.network import serve
from tests.system.browser.conftest import PATIENCE_MS, in_both, needs_chromium

pytestmark = [needs_chromium, pytest.mark.once("a browser sees no engine")]

# What the page's script has: call("POST", path, body) is answered {status, body, next, requestId}.
CALL = """
const call = async (method, path, body, headers = {}) => {
  const response = await fetch(api + path, {
    method,
    headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
    body: body ? JSON.stringify(body) : undefined,
  });
  const text = await response.text();
  return {
    status: response.status,
    body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text.length,
    requestId: response.headers.get("X-Request-ID"),
  };
};
const bearer = { Authorization: `Bearer ${token}` };
"""


@pytest.fixture
def run(browsers, browser, market):
    """Run a script in a page of another origin; returns what it returns."""
    url, folder = market
    token = (folder / "instance" / "sandbox-token").read_text().strip()

    def dapp(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/html")])
        return [b"<!doctype html><title>A dApp</title>"]

    with serve(dapp) as origin:
        page = browsers.get(browser, "light").new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(origin)
        yield lambda script: page.evaluate(
            f"async ([api, token]) => {{ {CALL} {script} }}", [url, token]
        )
        page.close()


@in_both
def test_it_reads_what_is_wrong_and_where_more_follows(run):
    answers = run("""
        const large = { transaction: "A".repeat(70000) };
        const wrong = [
          await call("GET", "/v1/nowhere", null, bearer),
          await call("PUT", "/v1/add", { accountId: "0.0.2002" }, bearer),
          await call("GET", "/v1/orderbook"),
          await call("POST", "/sandbox/nowhere", {}),
          await call("DELETE", "/sandbox/sign", null, { "X-Of-My-Own": "yes" }),
          await call("POST", "/sandbox/transactions", large),
          await call("GET", "/sandbox/api/v1/tokens/nonsense"),
        ];
        const page = await fetch(`${api}/v1/orderbook?limit=1`, { headers: bearer });
        const link = page.headers.get("Link");
        return [wrong.map((answer) => answer.status), wrong[0].body.message, link, wrong[5].requestId];
    """)
    statuses, message, link, request_id = answers
    assert statuses == [404, 405, 401, 404, 405, 413, 400]
    assert message.startswith('There is nothing at "/v1/nowhere"')
    assert 'rel="next"' in link
    assert request_id


@in_both
def test_it_draws_on_the_artwork_that_it_shows(run):
    """An image that was loaded as such is then read by a script, from the browser's cache."""
    length = run("""
        const { body } = await call("GET", "/v1/nftslisted/0.0.5001", null, bearer);
        const address = body[0].originalImageUrl;
        const image = new Image();
        image.src = address;
        await image.decode();
        return (await (await fetch(address)).blob()).size;
    """)
    assert length > 1000
