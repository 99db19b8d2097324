"""The keys under which a request's WSGI environment holds what we note there. No header can set them."""

REQUEST_ID = "marketplace.request"  # the id of the request, from a trusted proxy or our own
ROUTE = "marketplace.route"  # the rule of its URL, such as /v1/nft/<tokenId>/<serialNo>
TOKEN_NAME = "marketplace.token"  # the name of the access token; never the token  # noqa: S105
TOKEN_RATE = "marketplace.rate"  # the access token's own rate, or None  # noqa: S105
# The end user, named by a trusted caller or by the host application; None if neither names one.
END_USER = "marketplace.end_user"
# Whether a page of the storefront asks, in this process.
OF_PAGE = "marketplace.page"
# Whether the host's own code asks, in this process.
TRUSTED = "marketplace.trusted"
REQUEST_CACHE = "marketplace.cache"  # the RequestCache
