"""The errors that a client receives, with their status. docs/api.md lists them for clients.

Raise each with the facts that its sentence needs. The sentence names the thing, and says what to do.
"""

import json
import re
from collections.abc import Mapping
from http import HTTPStatus


def shown(value: object) -> str:
    """A client's value for an error message: as JSON, in ASCII, and cut to 60 characters."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = "a value of another kind"
    return text if len(text) <= 60 else f"{text[:57]}..."


def reason(error: Exception) -> str:
    """The message of an error; of an OSError, with the file: ``/backups: Permission denied``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def upper_words(name: str) -> str:
    """Write the name of a class in upper case: NotFound becomes NOT_FOUND."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper()


def camel_case(name: str) -> str:
    """Write words as the name of a class: NOT_FOUND and not_found become NotFound."""
    return "".join(word.capitalize() for word in name.split("_"))


def printable(text: str) -> str:
    """Escape all characters that a terminal can not print, except line ends."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


class StartRefused(Exception):
    """The service does not start. The message is for the operator."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message))


class MarketplaceError(Exception):
    """An error that a client receives. Raise it with the facts that its sentence needs."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = "{}"

    @classmethod
    def word(cls) -> str:
        """The stable word by which clients recognise it: NFT_NOT_STORED."""
        return upper_words(cls.__name__)

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
    """The client can try again after some seconds. The log may have a reason that the client must not see."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 5
    log_sentence = ""  # takes the same facts

    def __init__(self, *facts: object, retry_after: int | None = None) -> None:
        super().__init__(*facts, headers={"Retry-After": str(retry_after or self.retry_after)})
        self.reason = self.log_sentence.format(*facts) or self.message

    def __str__(self) -> str:
        return self.reason


class RequestNotJson(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST
    sentence = "The body is not JSON: {}"


class BodyMalformed(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST
    sentence = "The body can not be read: its chunked encoding is damaged"


class ContentTypeNotJson(MarketplaceError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    sentence = "Content-Type must be application/json; it is {}"

    def __init__(self, content_type: str | None) -> None:
        super().__init__(shown(content_type) if content_type else "missing")


class NotAuthenticated(MarketplaceError):
    """The challenge for a bearer token: RFC 6750, section 3."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, message: str, error: str | None = None) -> None:
        challenge = "Bearer" if error is None else f'Bearer error="{error}"'
        super().__init__(message, headers={"WWW-Authenticate": challenge})


class ScopeMissing(MarketplaceError):
    status = HTTPStatus.FORBIDDEN

    def __init__(self, scope: str, consequence: str = "") -> None:
        super().__init__(
            f"This access token lacks the scope {shown(scope)} {consequence}".strip(),
            headers={"WWW-Authenticate": f'Bearer error="insufficient_scope", scope="{scope}"'},
        )


class EndUserInvalid(MarketplaceError):
    status = HTTPStatus.UNPROCESSABLE_ENTITY

    def __init__(self, header: str, name: str) -> None:
        must = f"must be 1 to 64 visible ASCII characters, not {shown(name)}"
        super().__init__(f"{header} {must}", errors={"headers": {header: [must]}})


class LimitExceeded(MarketplaceError):
    status = HTTPStatus.TOO_MANY_REQUESTS
    sentence = "{}: try again in {} s"

    def __init__(self, limit: str, retry_after: int) -> None:
        super().__init__(limit, retry_after, headers={"Retry-After": str(retry_after)})


class NotFound(MarketplaceError):
    status = HTTPStatus.NOT_FOUND


class NftNotStored(NotFound):
    sentence = "{} #{} is not stored: POST /v1/add it first"


class CollectionNotStored(NotFound):
    sentence = "No NFT of {} is stored: POST /v1/add one first"


class NftNotOnLedger(NotFound):
    sentence = "{} #{} is not an NFT on the ledger"


class AccountNotOnLedger(NotFound):
    sentence = "No account on the ledger has the EVM address {}"


class NftGone(NotFound):
    sentence = "{} #{} was burned on the ledger, or its token was deleted"


class WalletUnknown(NotFound):
    sentence = "{} is not a wallet of this service. Its wallets are: {}"

    def __init__(self, wallet: str, wallets: tuple[str, ...]) -> None:
        super().__init__(shown(wallet), ", ".join(wallets))


class NotPrepared(NotFound):
    sentence = (
        "{} here for {} and {} #{}: POST /v1/list/<wallet>, /v1/delist/<wallet> and /v1/buy/<wallet> prepare"
        " a transaction"
    )

    def __init__(self, account_id: str, token: str, serial_no: int, transaction_id: str | None):
        what = f"{transaction_id} was not prepared" if transaction_id else "Nothing was prepared"
        super().__init__(what, account_id, token, serial_no)


class Conflict(MarketplaceError):
    status = HTTPStatus.CONFLICT


class NotTheOwner(Conflict):
    sentence = "{1} #{2} belongs to {3}, not to {0}"


class OwnerIsMarketplace(Conflict):
    sentence = (
        "{} is the marketplace's own account; the ledger lets no account approve itself"
        " (SPENDER_ACCOUNT_SAME_AS_OWNER)"
    )


class NotListed(Conflict):
    sentence = "{} #{} is not for sale here: GET /v1/orderbook shows what is"


class BuyerIsOwner(Conflict):
    sentence = "{1} #{2} belongs to {0} already; POST /v1/delist/<wallet> withdraws its listing"


class BuyerIsMarketplace(Conflict):
    sentence = "{} is the marketplace's own account, which can not buy: name another account"


class PriceChanged(Conflict):
    sentence = "{0} #{1} costs {3} HBAR now, not {2}: send expectedPrice {3} to buy it for that"

    def __init__(self, token: str, serial_no: int, expected: int, price: int) -> None:
        errors = {"json": {"expectedPrice": [f"is now {price}"]}}
        super().__init__(token, serial_no, expected, price, errors=errors)


class CollectionsMixed(Conflict):
    """A basket has NFTs of several collections from one seller."""

    sentence = (
        "{0} sells NFTs of several collections here, and the ledger would take the royalties of each of all"
        " that {0} receives. Leave out {1}, and buy them by themselves"
    )


class BasketTooExpensive(Conflict):
    """The fees of a basket are more than the hourly budget, both in HBAR. Fewer NFTs may do."""

    sentence = (
        "{} NFTs at once can cost the marketplace {:f} HBAR of fees, and it spends {:f} HBAR in an hour: buy"
        " fewer at once"
    )


class PurchaseImpossible(Conflict):
    """The ledger would refuse the purchase, with this result code. The marketplace has paid no fee."""

    sentence = "{}. The ledger would say {}"

    def __init__(self, reason: str, result: str) -> None:
        super().__init__(reason, result, errors={"ledger": {"result": [result]}})


class BuyerBalanceTooLow(PurchaseImpossible):
    """The buyer has less HBAR than the price."""

    def __init__(self, buyer: str, balance: object, price: int) -> None:
        reason = f"{buyer} has {balance:,f} HBAR, and the price is {price:,} HBAR"
        super().__init__(reason, "INSUFFICIENT_ACCOUNT_BALANCE")


class BuyerNotAssociated(PurchaseImpossible):
    """The buyer must associate the token first."""


class AssociationNotPaid(Conflict):
    """The marketplace pays for no more associations of this caller's buyers within the hour."""

    sentence = (
        "{0} is not associated with {1}, and the marketplace pays for few associations in an hour: associate"
        " it first, and ask again"
    )

    def __init__(self, account_id: str, token: str) -> None:
        errors = {"ledger": {"result": ["TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"]}}
        super().__init__(account_id, token, errors=errors)


class NothingLeftForSeller(Conflict):
    """Custom fees would take all that the seller receives."""

    sentence = (
        "The custom fees of {} are {:,f} HBAR, and the seller receives {:,f} HBAR: nothing would be left. The"
        " owner can list the NFT at a higher price"
    )


class FeesChanged(Conflict):
    """The seller would pay custom fees that changed after the listing."""

    sentence = (
        "The custom fees of {} changed after this NFT was listed. Its owner can list it again, to agree"
        " to them"
    )


class FeesInTokens(Conflict):
    """The seller would pay a custom fee that is not in HBAR."""

    sentence = "A custom fee of {} is paid in a token: its NFTs can't be bought here"


class TransactionRefused(Conflict):
    """The ledger refused the signed transaction. Its result code says why."""

    sentence = "The {1} {0} had no effect: {2}. Prepare a new {1}"

    def __init__(self, transaction_id: str, kind: str, result: str) -> None:
        errors = {"ledger": {"result": [result]}}
        super().__init__(transaction_id, kind, self.explain(result), errors=errors)

    def explain(self, result: str) -> str:
        return f"the ledger says {result}"


class TransactionExpired(TransactionRefused):
    """The signed transaction came too late: the ledger has no record of it, and never will."""

    def __init__(self, transaction_id: str, kind: str) -> None:
        super().__init__(transaction_id, kind, "TRANSACTION_EXPIRED")

    def explain(self, result: str) -> str:
        return f"it was not submitted in time ({result})"


class TransactionAltered(Conflict):
    sentence = (
        "{0} is a {2} on the ledger, but not the transaction prepared here: its kind or its memo differs."
        " Prepare a new {1}"
    )


class ListingEnded(Conflict):
    sentence = "{} #{} is no longer listed: {}"


class WithdrawalEnded(Conflict):
    sentence = "{} #{} was withdrawn, and then listed again at {}"


class TooManyPurchases(LimitExceeded):
    """The caller has used up its share of the hourly fee budget, by open purchases or by fees charged.

    The caller is "you", or a name for all callers that share the limit.
    """

    sentence = (
        "Too many purchases that {} asked for are open, or have cost a fee within the hour. Sign and submit"
        " them, or wait: try again in {} s"
    )


class LedgerBusy(LimitExceeded):
    """The turns at the mirror node that the request needs are more than its caller may hold now."""

    sentence = "Too many questions to {} are waiting, or too many of yours: try again in {} s"

    def __init__(self, retry_after: int) -> None:
        super().__init__("the ledger's mirror node", retry_after)


class CursorGone(MarketplaceError):
    """The service does not have all events that follow the cursor."""

    status = HTTPStatus.GONE
    sentence = (
        "{} {}. Read the lists again, and continue from their X-Events-Cursor; the oldest stored event"
        " follows {}"
    )

    def __init__(self, cursor: str, reason: str, beginning: str) -> None:
        super().__init__(cursor, reason, beginning, errors={"query": {"after": [reason]}})


class BuyingOff(MarketplaceError):
    status = HTTPStatus.NOT_IMPLEMENTED
    sentence = "Nothing can be bought from this service: {}"

    def __init__(self, has_signer: bool) -> None:
        reason = "its operator turned that off: MARKETPLACE_SALE_FEE_BUDGET is 0"
        if not has_signer:
            reason = (
                "it has no signer. Its operator can set MARKETPLACE_ACCOUNT_KEY_FILE, or pass a"
                " signer to create_app(sign=...)"
            )
        super().__init__(reason)


class SignerFailed(Unavailable):
    sentence = "The marketplace's signer did not sign. Nothing was done; try again"
    log_sentence = "{}"
    retry_after = 10


class FeesSpent(Unavailable):
    sentence = "The hourly fee budget for purchases is used up: try again in {} s"

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after, retry_after=retry_after)


class OperatorNeeded(Unavailable):
    """Nothing can be bought until the operator acts. The log gives the reason."""


class BudgetTooSmall(OperatorNeeded):
    """One purchase can cost more than the hourly budget. Both facts are in HBAR."""

    sentence = "Nothing can be bought at the moment: the operator must raise the fee budget"
    log_sentence = (
        "One purchase can cost up to {:f} HBAR; the hourly budget is {:f}. Raise"
        " MARKETPLACE_SALE_FEE_BUDGET"
    )
    retry_after = 3600


class BalanceTooLow(OperatorNeeded):
    """The marketplace's account can not pay the fee of a purchase. The fact is its balance in HBAR."""

    sentence = "The marketplace can't pay fees at the moment: nothing can be bought"
    log_sentence = "The marketplace's account has {:f} HBAR, too little for a fee. Top it up"
    retry_after = 300


class ClockBehind(OperatorNeeded):
    """The clock is too many seconds behind: purchases would expire before a wallet can submit them."""

    sentence = "Nothing can be bought at the moment: the service's clock is wrong"
    log_sentence = (
        "The clock of this machine is {} s behind the ledger: purchases signed with it would expire early."
        " Set the clock"
    )
    retry_after = 60


class LedgerAnswerInvalid(MarketplaceError):
    status = HTTPStatus.BAD_GATEWAY
    sentence = "The ledger's mirror node gave an invalid answer: {}"


class LedgerUnreachable(Unavailable):
    sentence = "The ledger's mirror node did not answer: {}. Try again: nothing is done twice"


class LedgerUndecided(Unavailable):
    sentence = (
        "The ledger's mirror node contradicts itself about {} #{} ({}). Nothing was done; try again"
    )
    retry_after = 3


class LedgerBehind(Unavailable):
    sentence = (
        "The ledger's mirror node is {} s behind: an NFT that it shows may be sold already. Nothing was done;"
        " try again"
    )
    retry_after = 10


class TooBusy(Unavailable):
    sentence = "Too many requests are in progress. Nothing was done; try again"
    retry_after = 2


class MediaFull(MarketplaceError):
    """Recorded as the reason why an NFT has no image. No response contains it."""

    sentence = "the disk of MARKETPLACE_MEDIA_URL is nearly full"


class MediaUnreachable(Unavailable):
    sentence = "The store of images did not answer; try again"


class DatabaseBusy(Unavailable):
    sentence = (
        "The database stayed locked by another writer, or took too long. Nothing was changed; try"
        " again"
    )
    retry_after = 1


class DatabaseUnusable(Unavailable):
    sentence = "The database can not be used: {}. Nothing was changed; the operator must fix it"
    retry_after = 60


class DatabaseUnreachable(Unavailable):
    """The log's reason names servers and users, so the client does not see it."""

    sentence = "The database can not be reached at the moment. Try again: nothing is done twice"
    log_sentence = "{}"
    retry_after = 2

    def __str__(self) -> str:
        return f"The database can not be reached: {self.reason}"


class NotReady(Unavailable):
    """The answer to a load balancer's /status?ready. The service itself keeps running."""

    sentence = "Not ready: {}"
    retry_after = 30


class SandboxUnusable(Unavailable):
    """The sandbox's own database is gone, or its disk is full."""


# Classes that are never raised themselves, or never sent to a client.
_NEVER_SENT = {MarketplaceError, Unavailable, Conflict, OperatorNeeded, MediaFull}
# The words of all errors that a client may receive.
REASONS = frozenset(
    kind.word()
    for kind in tuple(globals().values())
    if isinstance(kind, type) and issubclass(kind, MarketplaceError) and kind not in _NEVER_SENT
)
