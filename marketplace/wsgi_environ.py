"""Keys of the WSGI environment that middleware sets, for other middleware and the access log."""

REQUEST_ID = "marketplace.request"  # its id: a proxy's that is believed, or one of our own
ROUTE = "marketplace.route"  # the rule of its address, such as /v1/nft/<tokenId>/<serialNo>
TOKEN_NAME = "marketplace.token"  # the name of the access token; never the token  # noqa: S105
# The end user whom a trusted caller or a host names; None where nobody is named.
END_USER = "marketplace.end_user"
IS_STREAMED = "marketplace.streamed"  # there where its body is read while it is sent
# The counter to raise beside that of its route: of cached responses, or of others.
CACHE_OUTCOME = "marketplace.kept"
