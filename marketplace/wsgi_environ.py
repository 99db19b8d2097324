"""Keys of the WSGI environment that middleware sets, for other middleware and the access log."""

REQUEST_ID = "marketplace.request"  # its id: a proxy's that is believed, or one of our own
ROUTE = "marketplace.route"  # the rule of its address, such as /v1/nft/<tokenId>/<serialNo>
TOKEN_NAME = "marketplace.token"  # the name of the access token; never the token  # noqa: S105
END_USER = (
    "marketplace.end_user"  # who is named by a trusted caller or a host; None where nobody is
)
IS_STREAMED = "marketplace.streamed"  # there where its body is read while it is sent
CACHE_OUTCOME = (
    "marketplace.kept"  # what is counted of it beside its route: a kept answer was given, or not
)
