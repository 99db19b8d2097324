"""Keys of the WSGI environment that middleware sets, for other middleware and the access log."""

REQUEST_ID = "marketplace.request"  # the id of the request, from a trusted proxy or our own
ROUTE = "marketplace.route"  # the rule of its URL, such as /v1/nft/<tokenId>/<serialNo>
TOKEN_NAME = "marketplace.token"  # the name of the access token; never the token  # noqa: S105
# The end user, named by a trusted caller or by the host application; None if neither names one.
END_USER = "marketplace.end_user"
OF_PAGE = "marketplace.page"  # whether a page of the storefront asks, in this process. No header can set it
TRUSTED = (
    "marketplace.trusted"  # whether the host's own code asks, in this process. No header can set it
)
