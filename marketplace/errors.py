"""The errors that a client receives. An error's class has everything that clients and documents know of it.

Raise each with the facts that its sentence needs. The sentence names the thing, and says what to do.
The tables in docs/api.md and in the OpenAPI document are generated from the classes.
"""

from collections.abc import Mapping
from decimal import Decimal
from http import HTTPStatus

from marketplace.text import printable, shown, upper_words

# Groups of calls that share errors, in the words of the table.
ANYWHERE = "any address"
MEDIA = "`/media`"
STATUS = "`/status`"
SCOPED = "every call under `/v1`, `/metrics`"
PARAMETERS = "every call with parameters or a body"
QUERIES = "every call with a query"
POSTS = "every POST and DELETE"
BODIES = "every call with a body"

# Whether the same request may succeed later, and what to say to a user.
NO, AFTER_A_WHILE, PREPARE = "no", "after `Retry-After`", "no: prepare it again"
PROGRAM = "The app sent an invalid request"
LATER = "Try again in a moment"
CLOSED = "Buying is not possible at the moment"
ASSOCIATE = "Associate the collection in your wallet first"

ID = "0.0.1001@1763640000.123456789"


class StartRefused(Exception):
    """The service does not start. The message is for the operator."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class MarketplaceError(Exception):
    """An error that a client receives. Raise it with the facts that its sentence needs.

    Clients receive the words of classes that set ``tell``. A class below one of these has its word, and a
    sentence of its own. The other classes only share attributes.
    """

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = "{}"
    again = NO  # whether the same request may succeed later
    tell = ""  # what to say to a user
    # The calls that may answer it. If empty: the views that refuse() it.
    calls: tuple[str, ...] = ()
    example: tuple[object, ...] = ()  # the facts of the example in the documents

    @classmethod
    def word(cls) -> str:
        """The stable word by which clients recognize the error: NFT_NOT_STORED."""
        return upper_words(next(each.__name__ for each in cls.mro() if "tell" in vars(each)))

    @classmethod
    def make_example(cls) -> "MarketplaceError":
        return cls(*cls.example)

    def __init__(
        self,
        *facts: object,
        errors: Mapping[str, object] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.message = self.sentence.format(*facts)
        super().__init__(self.message)
        self.errors = errors
        self.headers = headers or {}


class Unavailable(MarketplaceError):
    """The client can try again after some seconds. The log may give a reason that clients must not see."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    again = AFTER_A_WHILE
    retry_after = 5
    log_sentence = ""  # takes the same facts

    def __init__(self, *facts: object, retry_after: int | None = None) -> None:
        super().__init__(*facts, headers={"Retry-After": str(retry_after or self.retry_after)})
        self.reason = self.log_sentence.format(*facts) or self.message

    def __str__(self) -> str:
        return self.reason


class TryAgain(Unavailable):
    """Something is busy or does not answer. The proxy answers this while it does not reach the service."""

    sentence = "The service did not answer; try again"
    tell = LATER
    calls = (ANYWHERE, SCOPED, STATUS)


class BadRequest(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST
    tell = PROGRAM
    calls = (ANYWHERE, QUERIES, BODIES)
    example: tuple[object, ...] = ("The query is not UTF-8",)


class BadHost(BadRequest):
    sentence = "The header Host {}"
    example = ("is missing",)


class Forbidden(MarketplaceError):
    """An access token lacks a scope, or the host's own authenticate() refuses the caller."""

    status = HTTPStatus.FORBIDDEN
    again = "with another token"
    tell = "You may not do this"
    calls = (SCOPED,)
    example = ("You are not allowed to call this",)


class NotFound(MarketplaceError):
    status = HTTPStatus.NOT_FOUND
    sentence = "There is nothing at {}: the API reference lists every address"
    tell = PROGRAM
    calls = ("any other address",)
    example: tuple[object, ...] = ('"/v2"',)


class MethodNotAllowed(MarketplaceError):
    status = HTTPStatus.METHOD_NOT_ALLOWED
    sentence = "{} is not allowed here, only {}"
    tell = PROGRAM
    calls = (ANYWHERE,)
    example = ("PUT", "GET, HEAD, OPTIONS")


class PreconditionFailed(MarketplaceError):
    status = HTTPStatus.PRECONDITION_FAILED
    sentence = "The image is not the one that If-Match names"
    tell = PROGRAM
    calls = (MEDIA,)


class RequestedRangeNotSatisfiable(MarketplaceError):
    status = HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE
    sentence = "The image has no bytes in the requested Range"
    tell = PROGRAM
    calls = (MEDIA,)


class RequestEntityTooLarge(MarketplaceError):
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    sentence = "The body is larger than {} bytes"
    tell = PROGRAM
    calls = (BODIES,)
    example = (65536,)


class RequestUriTooLong(MarketplaceError):
    """A list answers this, and the proxy (deploy/nginx.conf)."""

    status = HTTPStatus.REQUEST_URI_TOO_LONG
    sentence = "The URL is longer than {} bytes"
    tell = PROGRAM
    calls = (QUERIES,)
    example = (4000,)


class RequestHeadersTooLarge(MarketplaceError):
    """The proxy answers this."""

    status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
    sentence = "The headers are longer than {} bytes"
    tell = PROGRAM
    calls = (ANYWHERE,)
    example = (8000,)


class FieldInvalid(MarketplaceError):
    """The fact: marshmallow's messages, by location and field."""

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    tell = "`errors` says which of the user's entries is wrong"
    calls = (PARAMETERS,)
    example = (
        {
            "json": {
                "serialNo": ["must be a whole number from 1 to 9223372036854775807, not 0"],
            }
        },
    )

    def __init__(self, invalid: Mapping[str, Mapping[str, list[str]]]) -> None:
        """Join the messages into one sentence: serialNo is required."""
        sentences = (
            f"{'body' if field == '_schema' else field} {messages[0]}"
            for fields in invalid.values()
            for field, messages in fields.items()
        )
        super().__init__("; ".join(sentences), errors=invalid)


class InternalServerError(MarketplaceError):
    sentence = "An unexpected error happened and was logged. It is a bug"
    tell = "The service failed. Its operator can find the error in the log"
    calls = (ANYWHERE,)


class RequestNotJson(BadRequest):
    sentence = "The body is not JSON: {}"
    example = ("Expecting value: line 1 column 1 (char 0)",)


class BodyMalformed(BadRequest):
    sentence = "The body cannot be read: its chunked encoding is damaged"
    example = ()


class ContentTypeNotJson(MarketplaceError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    sentence = "Content-Type must be application/json; it is {}"
    tell = PROGRAM
    calls = (BODIES,)
    example = ("text/plain",)

    def __init__(self, content_type: str | None) -> None:
        super().__init__(shown(content_type) if content_type else "missing")


class NotAuthenticated(MarketplaceError):
    """The challenge for a bearer token: RFC 6750, section 3."""

    status = HTTPStatus.UNAUTHORIZED
    again = "with another token"
    tell = "Log in again"
    calls = (SCOPED,)
    example = ("The header Authorization: Bearer <token> is missing",)

    def __init__(self, message: str, error: str | None = None) -> None:
        challenge = "Bearer" if error is None else f'Bearer error="{error}"'
        super().__init__(message, headers={"WWW-Authenticate": challenge})


class ScopeMissing(Forbidden):
    example = ("write",)

    def __init__(self, scope: str, consequence: str = "") -> None:
        super().__init__(
            f"This access token lacks the scope {shown(scope)} {consequence}".strip(),
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )


class LimitExceeded(MarketplaceError):
    status = HTTPStatus.TOO_MANY_REQUESTS
    sentence = "{}: try again in {} s"
    again = AFTER_A_WHILE
    tell = "Too many requests: wait a moment"
    calls: tuple[str, ...] = (SCOPED,)
    example: tuple[object, ...] = ("This access token may write 600 times a minute", 12)

    def __init__(self, limit: str, retry_after: int) -> None:
        super().__init__(limit, retry_after, headers={"Retry-After": str(retry_after)})


class Missing(MarketplaceError):
    status = HTTPStatus.NOT_FOUND


class NftNotStored(Missing):
    sentence = "{} #{} is not stored: POST /v1/add it first"
    again = "once added"
    tell = "This NFT is not known here"
    example = ("0.0.5001", 999)


class CollectionNotStored(Missing):
    sentence = "No NFT of {} is stored: POST /v1/add one first"
    again = "once added"
    tell = "This collection is not known here"
    example = ("0.0.5999",)


class NftNotOnLedger(Missing):
    sentence = "{} #{} is not an NFT on the ledger"
    tell = "The network has no such NFT"
    example = ("0.0.5001", 999)


class AccountNotOnLedger(Missing):
    sentence = "No account on the ledger has the EVM address {}"
    tell = "The network has no account with this address"
    calls = (BODIES,)
    example = ("0x00000000000000000000000000000000000003e9",)


class NftGone(NftNotOnLedger):
    sentence = "{} #{} was burned on the ledger, or its token was deleted"
    example = ("0.0.5001", 999)


class WalletUnknown(NotFound):
    sentence = "{} is not a wallet of this service. Its wallets are: {}"
    example = ("fastwallet", ("extwallet",))

    def __init__(self, wallet: str, wallets: tuple[str, ...]) -> None:
        super().__init__(shown(wallet), ", ".join(wallets))


class OfferUnknown(Missing):
    """No schedule with this id has the form of an offer."""

    sentence = "{} is not an offer of this marketplace"
    tell = "This offer is not known here"
    example = ("0.0.8001",)


class NotPrepared(Missing):
    """A purchase is not known here before the buyer's signature is handed in."""

    sentence = (
        "{} here for {} and {} #{}. Prepare a transaction first: POST /v1/list/<wallet>, /v1/delist/<wallet>"
        " or /v1/buy/<wallet>. A purchase is handed in, with signedTransaction: no wallet can submit it"
    )
    tell = "Start again: nothing was prepared"
    example: tuple[object, ...] = ("0.0.1001", "0.0.5001", 7, None)

    def __init__(
        self, account_id: str, token: str, serial_no: int, transaction_id: str | None
    ) -> None:
        what = f"{transaction_id} was not prepared" if transaction_id else "Nothing was prepared"
        super().__init__(what, account_id, token, serial_no)


class Hidden(MarketplaceError):
    """The operator has hidden an NFT, or its collection. The second fact is the reason, if it is public."""

    status = HTTPStatus.UNAVAILABLE_FOR_LEGAL_REASONS
    sentence = "{} is hidden by the operator of this marketplace{}"
    again = "once the operator shows it again"
    tell = "This is not available here"
    calls = ("every call about an NFT or a collection, except `delist` and `comingsoon`", MEDIA)
    example = ("0.0.5001 #7", "its owner reported it stolen")

    def __init__(self, name: str, reason: str | None = None) -> None:
        super().__init__(name, f": {reason}" if reason else "")


class AccountBlocked(MarketplaceError):
    """The operator has blocked the account. The second fact is the reason, if it is public."""

    status = HTTPStatus.FORBIDDEN
    sentence = "{} is blocked by the operator of this marketplace{}"
    again = "once unblocked"
    tell = "This account can't list or buy here"
    example = ("0.0.1003", "it sold stolen NFTs")

    def __init__(self, account_id: str, reason: str | None = None) -> None:
        super().__init__(account_id, f": {reason}" if reason else "")


class Conflict(MarketplaceError):
    status = HTTPStatus.CONFLICT


class NotTheOwner(Conflict):
    sentence = "{1} #{2} belongs to {3}, not to {0}"
    tell = "This NFT belongs to another account"
    example = ("0.0.1001", "0.0.5001", 7, "0.0.1002")


class AccountIsMarketplace(Conflict):
    """The ledger lets no account approve itself (SPENDER_ACCOUNT_SAME_AS_OWNER), or pay itself."""

    sentence = (
        "{} is the marketplace's own account, which can neither list nor buy: name another one"
    )
    tell = "The marketplace's own account can't list or buy: choose another one"
    example = ("0.0.9001",)


class NotListed(Conflict):
    sentence = "{} #{} is not for sale here: GET /v1/orderbook shows what is"
    again = "once listed"
    tell = "This NFT is not for sale any more"
    example = ("0.0.5001", 7)


class BuyerIsOwner(Conflict):
    sentence = "{1} #{2} belongs to {0} already; POST /v1/delist/<wallet> withdraws its listing"
    tell = "This NFT is yours already"
    example = ("0.0.1002", "0.0.5001", 7)


class PriceChanged(Conflict):
    sentence = "{0} #{1} costs {3} HBAR now, not {2}: send expectedPrice {3} to buy it for that"
    again = "with the new `expectedPrice`"
    tell = "The price has changed: confirm the new one"
    example = ("0.0.5001", 7, 250, 300)

    def __init__(self, token: str, serial_no: int, expected: int, price: int) -> None:
        errors = {"json": {"expectedPrice": [f"is now {price}"]}}
        super().__init__(token, serial_no, expected, price, errors=errors)


class OfferPriceOther(PriceChanged):
    """An offer's price never changes: the caller confused two offers."""

    sentence = "The offer {} is for {} HBAR, not {}"

    def __init__(self, offer_id: str, price: int, expected: int) -> None:
        errors = {"json": {"expectedPrice": [f"is {price}"]}}
        Conflict.__init__(self, offer_id, price, expected, errors=errors)


class CollectionsMixed(Conflict):
    """A basket has NFTs of several collections from one seller."""

    sentence = (
        "{0} sells NFTs of several collections here. The ledger would take each collection's royalties from"
        " everything that {0} receives. Leave out {1}, and buy them separately"
    )
    again = "without the NFTs that the message names"
    tell = "Buy these separately"
    example = ("0.0.1001", "0.0.7001 #2")


class PurchaseImpossible(Conflict):
    """The ledger would refuse the purchase, with this result code. The marketplace has paid no fee."""

    sentence = "{}. The ledger would say {}"
    tell = "The network would refuse this; the message says why"
    example: tuple[object, ...] = ("0.0.5001 is paused by its issuer", "TOKEN_IS_PAUSED")

    def __init__(self, reason: str, result: str) -> None:
        super().__init__(reason, result, errors={"ledger": {"result": [result]}})


class BuyerBalanceTooLow(PurchaseImpossible):
    """The buyer has less HBAR than the price."""

    again = "once the buyer has enough HBAR"
    tell = "Not enough HBAR for this price"
    example = ("0.0.1002", Decimal(12), 250)

    def __init__(self, buyer: str, balance: object, price: int) -> None:
        reason = f"{buyer} has {balance:,f} HBAR, and the price is {price:,} HBAR"
        super().__init__(reason, "INSUFFICIENT_ACCOUNT_BALANCE")


class BidderBalanceTooLow(BuyerBalanceTooLow):
    """The bidder has less HBAR than the price and the fees of the sale, which the bidder pays."""

    def __init__(self, bidder: str, balance: object, need: object) -> None:
        reason = f"{bidder} has {balance:,f} HBAR, and price and fees can be {need:,f} HBAR"
        PurchaseImpossible.__init__(self, reason, "INSUFFICIENT_PAYER_BALANCE")


class BuyerNotAssociated(PurchaseImpossible):
    """The buyer must associate the token first."""

    again = "once associated"
    tell = ASSOCIATE
    example = (
        "0.0.1002 is not associated with 0.0.5001: associate it first",
        "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT",
    )


class NothingLeftForSeller(Conflict):
    """Custom fees would take everything that the seller receives."""

    sentence = (
        "The custom fees of {} are {:,f} HBAR, and the seller receives {:,f} HBAR: nothing would be left. The"
        " owner can list the NFT at a higher price"
    )
    tell = "The owner must list the NFT at a higher price"
    example = ("0.0.5001", Decimal(260), Decimal(245))


class FeesChanged(Conflict):
    """The seller would pay custom fees that changed after the listing."""

    sentence = (
        "The custom fees of {} changed after this NFT was listed. Its owner can list it again"
        " to accept them"
    )
    tell = "The fees have changed: the owner must list the NFT again"
    example = ("0.0.5001",)


class FeesChangeable(Conflict):
    """The token's issuer can change its custom fees at any time, and the operator has not verified it."""

    sentence = (
        "The issuer of {0} can change its custom fees at any moment, also during a sale. Its NFTs can be"
        " listed and bought here once the operator has verified it (flask verify {0})"
    )
    again = "once the operator has verified the collection"
    tell = "This collection's fees can change at any time: it can't be sold here"
    example = ("0.0.5001",)


class FeesInTokens(Conflict):
    """The seller would pay a custom fee that is not in HBAR."""

    sentence = "{} has a custom fee that is paid in a token: its NFTs can't be bought here"
    tell = "This collection's NFTs can't be bought here"
    example = ("0.0.5001",)


class OfferEnded(Conflict):
    sentence = "The offer {} {}"
    tell = "This offer has ended; the message says why"
    example = ("0.0.8001", "has expired")


class NeitherBidderNorOwner(Conflict):
    sentence = "{0} neither made the offer {1} nor received it: that are {2} and {3}"
    tell = "This offer is between other accounts"
    example = ("0.0.1003", "0.0.8001", "0.0.1002", "0.0.1001")


class OfferNotDeletable(Conflict):
    """The account's key has changed since the offer was made, or another program made the offer."""

    sentence = (
        "The key of {} cannot delete the schedule of the offer {}: it has changed since the offer was made,"
        " or another program made the offer. The offer ends at {}"
    )
    tell = "This account cannot end the offer; the message says when it expires"
    example = ("0.0.1002", "0.0.8001", "2026-11-27T12:34:56.000000000Z")


class OfferNotExecuted(Conflict):
    """The owner accepted an offer over a minute ago, and the ledger has not executed the sale."""

    sentence = (
        "{0} accepted the offer {1}, but the sale was not executed: the bidder's account has another key."
        " Until {2}, the bidder can still sign, and buy the NFT for {3} HBAR. Sign the withdrawal to end the"
        " offer"
    )
    again = "no: sign the prepared withdrawal"
    tell = "Nothing was sold. Withdraw from the offer, or the bidder may still buy at this price"
    example = ("0.0.1001", "0.0.8001", "2026-11-27T12:34:56.000Z", 50)

    def __init__(
        self,
        account_id: str,
        offer_id: str,
        expires_at: str,
        price: int,
        withdrawal: Mapping[str, object] | None = None,
    ) -> None:
        """``withdrawal``: the prepared ScheduleDelete, as the answer to withdrawoffer."""
        errors = {"withdrawal": withdrawal} if withdrawal else None
        super().__init__(account_id, offer_id, expires_at, price, errors=errors)


class TransactionRefused(Conflict):
    """The ledger refused the signed transaction. Its result code says why."""

    sentence = "The {1} {0} had no effect: {2}. Prepare a new {1}"
    again = PREPARE
    tell = "The network refused the transaction; the message says why"
    example: tuple[object, ...] = (ID, "purchase", "SPENDER_DOES_NOT_HAVE_ALLOWANCE")

    def __init__(
        self, transaction_id: str, kind: str, result: str, sold: tuple[str, int] | None = None
    ) -> None:
        """``sold``: the purchase's NFT, which somebody else owns now."""
        errors = {"ledger": {"result": [result]}}
        super().__init__(transaction_id, kind, self.explain(result), errors=errors)
        if sold:
            token, serial_no = sold
            lost = f"{token} #{serial_no} was sold to somebody else; you paid nothing"
            self.message = f"{lost} ({self.explain(result)})"

    def explain(self, result: str) -> str:
        return f"the ledger says {result}"


class TransactionExpired(TransactionRefused):
    """The signed transaction was submitted too late. The ledger will never have a record of it."""

    tell = "You signed too late: try again"
    example = (ID, "listing")

    def __init__(self, transaction_id: str, kind: str) -> None:
        super().__init__(transaction_id, kind, "TRANSACTION_EXPIRED")

    def explain(self, result: str) -> str:
        return f"it was not submitted in time ({result})"


class NotAsPrepared(Conflict):
    """What was handed in is not, byte for byte, what would be prepared now."""

    sentence = (
        "{0} is not the {1} that would be prepared here now: the wallet changed it, or the NFT has another"
        " owner. Prepare a new {1}, and sign it unchanged"
    )
    again = PREPARE
    tell = "The wallet changed the transaction"
    example: tuple[object, ...] = (ID, "purchase")


class TransactionAltered(NotAsPrepared):
    sentence = (
        "{0} is a {2} on the ledger, but not the transaction prepared here: its kind or its memo differs."
        " Prepare a new {1}"
    )
    example = (ID, "listing", "CRYPTOTRANSFER")


class SignatureInvalid(Conflict):
    """The signatures that were handed in do not satisfy the account's key on the ledger."""

    sentence = (
        "The transaction is not signed by {0}: the valid signatures do not satisfy the key that the account"
        " has on the ledger"
    )
    again = "with valid signatures"
    tell = "Sign with the wallet of this account"
    example = ("0.0.1002",)


class ListingEnded(Conflict):
    sentence = "{} #{} is no longer listed: {}"
    tell = "This listing has ended; the message says why"
    example = ("0.0.5001", 7, "it belongs to 0.0.1002 now")


class WithdrawalEnded(Conflict):
    sentence = "{} #{} was withdrawn, and then listed again at {}"
    tell = "The NFT has been listed again"
    example = ("0.0.5001", 7, "2026-11-20T12:34:56.789012345Z")


class PurchaseInProgress(LimitExceeded):
    """A purchase by the account, or of the NFT, was submitted, and the ledger does not show it yet."""

    sentence = "A purchase {0} {1} is in progress: try again in {2} s"
    tell = "Another purchase is in progress: wait a moment"
    calls = ()
    example = ("by", "0.0.1002")

    def __init__(self, of: str, what: object) -> None:
        """``of``: "by" an account, or "of" an NFT."""
        MarketplaceError.__init__(self, of, what, 5, headers={"Retry-After": "5"})


class TooManyFailed(LimitExceeded):
    """The account's purchases failed at consensus, and the marketplace paid for them."""

    sentence = "{} purchases by {} failed within an hour: try again in {} s"
    tell = "Your last purchases failed: wait an hour"
    calls = ()
    example = (3, "0.0.1002", 1800)

    def __init__(self, failed: int, account_id: str, retry_after: int) -> None:
        headers = {"Retry-After": str(retry_after)}
        MarketplaceError.__init__(self, failed, account_id, retry_after, headers=headers)


class LedgerBusy(LimitExceeded):
    """The turns at the mirror node are all taken until the request's deadline."""

    sentence = "Too many requests to {} are waiting, yours or others': try again in {} s"
    example = (2,)

    def __init__(self, retry_after: int) -> None:
        super().__init__("the ledger's mirror node", retry_after)


class CursorGone(MarketplaceError):
    """Some events that followed the cursor were deleted."""

    status = HTTPStatus.GONE
    sentence = (
        "{} {}. Read the lists again, and continue from their X-Events-Cursor; the oldest stored event"
        " follows {}"
    )
    again = "no: read the lists again"
    tell = "None"
    example = (
        "3f2a9c1e-42",
        "is too old: events that follow it were deleted",
        "3f2a9c1e-900",
    )

    def __init__(self, cursor: str, reason: str, beginning: str) -> None:
        super().__init__(cursor, reason, beginning, errors={"query": {"after": [reason]}})


class BuyingOff(MarketplaceError):
    status = HTTPStatus.NOT_IMPLEMENTED
    sentence = "Nothing can be bought from this service: {}"
    tell = "Nothing can be bought here"
    example = (False,)

    def __init__(self, has_signer: bool) -> None:
        reason = "its operator turned that off: MARKETPLACE_SALE_FEE_BUDGET is 0"
        if not has_signer:
            reason = (
                "it has no signer. Its operator can set MARKETPLACE_ACCOUNT_KEY_FILE, or pass a"
                " signer to create_app(sign=...)"
            )
        super().__init__(reason)


class NodesUnreachable(TryAgain):
    sentence = "None of the network's nodes took the transaction. Nothing was done; try again"
    log_sentence = "None of the network's nodes took a transaction: {}"
    retry_after = 5
    example = ("10.0.0.3:50211 does not answer",)


class SignerFailed(TryAgain):
    sentence = "The marketplace's signer did not sign. Nothing was done; try again"
    log_sentence = "{}"
    retry_after = 10
    example = ("no answer",)


class FeesSpent(Unavailable):
    sentence = "The hourly fee budget for purchases is used up: try again in {} s"
    tell = "Too many purchases are in progress: try again in a minute"
    example = (90,)

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after, retry_after=retry_after)


class BuyingPaused(Unavailable):
    """Nothing can be bought until the operator acts. The log gives the reason."""

    sentence = "Nothing can be bought at the moment"
    tell = CLOSED


class BudgetTooSmall(BuyingPaused):
    """One purchase can cost more than the hourly budget. Both facts are in HBAR."""

    sentence = "Nothing can be bought at the moment: the operator must raise the fee budget"
    log_sentence = (
        "One purchase can cost up to {:f} HBAR; the hourly budget is {:f}. Raise"
        " MARKETPLACE_SALE_FEE_BUDGET"
    )
    retry_after = 3600
    example = (Decimal(13), Decimal(10))


class BalanceTooLow(BuyingPaused):
    """The marketplace's account cannot pay the fee of a purchase. The fact is its balance in HBAR."""

    sentence = "The marketplace can't pay fees at the moment: nothing can be bought"
    log_sentence = "The marketplace's account has {:f} HBAR, too little for a fee. Top it up"
    retry_after = 300
    example = (Decimal(0),)


class ClockBehind(BuyingPaused):
    """The clock is too many seconds behind: purchases would expire before a wallet can submit them."""

    sentence = "Nothing can be bought at the moment: the service's clock is wrong"
    log_sentence = (
        "The clock of this machine is {} s behind the ledger: purchases signed with it would expire early."
        " Set the clock"
    )
    retry_after = 60
    example = (20,)


class LedgerAnswerInvalid(MarketplaceError):
    status = HTTPStatus.BAD_GATEWAY
    sentence = "The ledger's mirror node gave an invalid answer: {}"
    again = "later"
    tell = "The network's data is invalid at the moment"
    calls = (BODIES,)
    example = ("/tokens/0.0.5001: not JSON",)


class NetworkReset(LedgerAnswerInvalid):
    """For the watcher only: it follows nothing until the operator has decided."""

    sentence = (
        "The mirror node shows another ledger: {}. If the network was reset, stop the service and run"
        " reset-network. Otherwise set MARKETPLACE_MIRROR_NODE_URL to another mirror node of the network"
    )


class LedgerUnreachable(Unavailable):
    sentence = "The ledger's mirror node did not answer: {}. Try again: nothing is done twice"
    tell = "The network does not answer: try again in a moment"
    calls = (BODIES,)
    example = ("timed out",)


class LedgerUndecided(TryAgain):
    sentence = (
        "The ledger's mirror node contradicts itself about {} #{} ({}). Nothing was done; try again"
    )
    retry_after = 3
    example = ("0.0.5001", 7, "it has just changed")


class LedgerBehind(TryAgain):
    sentence = (
        "The ledger's mirror node is {} s behind: an NFT that it shows may be sold already. Nothing was done;"
        " try again"
    )
    retry_after = 10
    example = (130,)


class TooBusy(TryAgain):
    sentence = "Too many requests are in progress. Nothing was done; try again"
    retry_after = 2
    example = ()


class MediaUnreachable(TryAgain):
    sentence = "The store of images did not answer; try again"
    example = ()


class DatabaseBusy(TryAgain):
    sentence = (
        "The database stayed locked by another writer, or took too long. Nothing was changed; try"
        " again"
    )
    retry_after = 1
    example = ()


class DatabaseUnusable(Unavailable):
    sentence = "The database cannot be used: {}. Nothing was changed; the operator must fix it"
    retry_after = 60
    tell = "The market does not work at the moment"
    calls = (
        SCOPED,
        STATUS,
    )
    example = ("database or disk is full",)


class SandboxUnusable(DatabaseUnusable):
    """The sandbox's own database is gone, or its disk is full."""

    sentence = "{}"
    example = ("In the sandbox: The database cannot be used: its file has vanished",)


class DatabaseUnreachable(TryAgain):
    """The log's reason names servers and users, so the client does not see it."""

    sentence = "The database cannot be reached at the moment. Try again: nothing is done twice"
    log_sentence = "{}"
    retry_after = 2
    example = ("the primary does not answer",)

    def __str__(self) -> str:
        return f"The database cannot be reached: {self.reason}"


class NotReady(TryAgain):
    """The answer to /status?ready. The service keeps running."""

    sentence = "Not ready: {}"
    retry_after = 30
    example = ("the ledger was never followed",)


def find_kinds(base: type[MarketplaceError] = MarketplaceError) -> list[type[MarketplaceError]]:
    """Find the errors that a client may receive."""
    below = [kind for each in base.__subclasses__() for kind in find_kinds(each)]
    return [base, *below] if base.tell and "tell" in vars(base) else below


def answered_by(*calls: str) -> list[type[MarketplaceError]]:
    """The errors that these calls may answer, such as POSTS."""
    return [kind for kind in find_kinds() if {*kind.calls} & {*calls}]
