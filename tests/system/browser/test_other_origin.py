"""A dApp at an origin of its own, as a browser lets it call the service and the sandbox, with no setting."""

from harness.network import serve
from tests.system.browser.conftest import PATIENCE_MS, in_both

SCRIPT = """
async ([api, token]) => {
  const bearer = { Authorization: `Bearer ${token}` };
  const call = (method, path, body, headers = {}) => fetch(api + path, {
    method,
    headers: { ...(body ? { "Content-Type": "application/json" } : {}), ...headers },
    body: body && JSON.stringify(body),
  });
  const wrong = [
    await call("GET", "/v1/nowhere", null, bearer),
    await call("PUT", "/v1/add", { accountId: "0.0.2002" }, bearer),
    await call("GET", "/v1/orderbook"),
    await call("POST", "/sandbox/nowhere", {}),
    await call("DELETE", "/sandbox/sign", null, { "X-Of-My-Own": "yes" }),
    await call("POST", "/sandbox/transactions", { transaction: "A".repeat(70000) }),
    await call("GET", "/sandbox/api/v1/tokens/invalid"),
  ];
  const page = await call("GET", "/v1/orderbook?limit=1", null, bearer);

  // An image that was loaded as such is then read by a script, from the browser's cache.
  const [nft] = await (await call("GET", "/v1/nftslisted/0.0.5001", null, bearer)).json();
  const image = new Image();
  image.src = nft.originalImageUrl;
  await image.decode();
  return {
    statuses: wrong.map((answer) => answer.status),
    message: (await wrong[0].json()).message,
    requestId: wrong[5].headers.get("X-Request-ID"),
    link: page.headers.get("Link"),
    imageSize: (await (await fetch(nft.originalImageUrl)).blob()).size,
  };
}
"""


def dapp(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/html")])
    return [b"<!doctype html><title>A dApp</title>"]


@in_both
def test_a_page_calls_the_service(browsers, browser, market):
    with serve(dapp) as origin:
        page = browsers(browser).new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.goto(origin)
        answers = page.evaluate(SCRIPT, [market.url, market.token])
        page.close()
    assert answers["statuses"] == [404, 405, 401, 404, 405, 413, 400]
    assert answers["message"].startswith('There is nothing at "/v1/nowhere"')
    assert 'rel="next"' in answers["link"]
    assert answers["requestId"]
    assert answers["imageSize"] > 1000
