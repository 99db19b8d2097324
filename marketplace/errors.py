"""The errors that a caller is told about, with their status. docs/api.md lists them for clients.

Each is raised with the facts of its sentence, which names the thing, and says what to do.
"""

import json
import re
import sys
from collections.abc import Mapping
from http import HTTPStatus

import click
from flask.cli import ScriptInfo


def shown(value: object) -> str:
    """A stranger's value for a sentence: as JSON, in ASCII, and short."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = "a value of another kind"
    return text if len(text) <= 60 else f"{text[:57]}..."


def reason(error: Exception) -> str:
    """The message of an error; of the system's, with the file: ``/backups: Permission denied``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def command(words: str) -> str:
    """The command line of a command, with the --app of the current one: ``flask --app wsgi upgrade``."""
    context = click.get_current_context(silent=True)
    info = context and context.find_object(ScriptInfo)
    served = "marketplace" if "marketplace.wsgi" in sys.modules else "wsgi"
    path = info.app_import_path if info else served
    return f"flask --app {path} {words}" if path else f"flask {words}"


def upper_words(name: str) -> str:
    """The name of a class in words: NotFound is NOT_FOUND."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", name).upper()


def printable(text: str) -> str:
    """A text for a terminal: all characters that are not printable are escaped, but for line ends."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


class StartRefused(click.ClickException):
    """Why the service does not start: a sentence for its operator, with which a command ends."""

    def format_message(self) -> str:
        return printable(self.message)


class MarketplaceError(Exception):
    """An error that a caller is told about. It is raised with the facts that its sentence takes."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    sentence = "{}"

    @classmethod
    def word(cls) -> str:
        """The stable word that clients tell it by: NFT_NOT_STORED."""
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
    """The client tries again after so many seconds. The log may have a reason that the client is not told."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 5
    log_sentence = ""  # of the same facts

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
    """RFC 6750, section 3: how a bearer token is asked for, and refused."""

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
    sentence = "{} is the EVM address of no account on the ledger"


class NftGone(NotFound):
    sentence = "{} #{} was burned on the ledger, or its token was deleted"


class WalletUnknown(NotFound):
    sentence = "{} is not a wallet known here: {}"

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
    sentence = "{1} #{2} belongs to {0} already; POST /v1/delist/<wallet> takes it off"


class BuyerIsMarketplace(Conflict):
    sentence = (
        "{} is the marketplace's own account, which sells and does not buy: name another account"
    )


class PriceChanged(Conflict):
    sentence = "{0} #{1} costs {3} HBAR now, not {2}: send expectedPrice {3} to buy it for that"

    def __init__(self, token: str, serial_no: int, expected: int, price: int) -> None:
        errors = {"json": {"expectedPrice": [f"is {price} by now"]}}
        super().__init__(token, serial_no, expected, price, errors=errors)


class PurchaseImpossible(Conflict):
    """The ledger would refuse the purchase: its result code, found before the marketplace pays a fee."""

    sentence = "{}. The ledger would say {}"

    def __init__(self, reason: str, result: str) -> None:
        super().__init__(reason, result, errors={"ledger": {"result": [result]}})


class NothingLeftForSeller(Conflict):
    """Custom fees would take all that a seller is paid."""

    sentence = (
        "The custom fees of {} are {:,f} HBAR, and the seller is paid {:,f} HBAR: nothing would be left. Its"
        " owner may list it at a higher price"
    )


class FeesChanged(Conflict):
    """The seller would owe fees that are newer than the listing."""

    sentence = (
        "The custom fees of {} were changed after this NFT was listed. Its owner may list it again, which"
        " agrees to them"
    )


class FeesInTokens(Conflict):
    """The seller would owe a custom fee that is not paid in HBAR."""

    sentence = "A custom fee of {} is paid in a token: its NFTs can't be bought here"


class TransactionRefused(Conflict):
    """The ledger refused the transaction that was signed: its result code says why."""

    sentence = "{0} did not {2} the NFT: {3}. Prepare a new {1}"

    def __init__(self, transaction_id: str, kind: str, result: str) -> None:
        reason = f"the ledger says {result}"
        if result == "TRANSACTION_EXPIRED":  # the ledger has no record of it, and can have none
            reason = f"it was not submitted in time ({result})"
        did = {"listing": "list", "withdrawal": "withdraw", "purchase": "sell"}[kind]
        errors = {"ledger": {"result": [result]}}
        super().__init__(transaction_id, kind, did, reason, errors=errors)


class TransactionAltered(Conflict):
    sentence = (
        "{0} is a {2} on the ledger, but not the transaction prepared here: its kind or its memo is another."
        " Prepare a new {1}"
    )


class ListingEnded(Conflict):
    sentence = "{} #{} is no longer listed: {}"


class WithdrawalEnded(Conflict):
    sentence = "{} #{} was withdrawn, and listed again since, at {}"


class TooManyPurchases(LimitExceeded):
    """A caller's share of the hourly fee budget is used up: each open purchase may cost a fee.

    The caller is "you", or a name for all callers that share the limit.
    """

    sentence = (
        "Too many purchases that {} asked for are open, or have failed within the hour. Sign and submit them,"
        " or wait: try again in {} s"
    )


class CursorGone(MarketplaceError):
    """The events that follow a cursor are not known in full."""

    status = HTTPStatus.GONE
    sentence = (
        "{} {}. Read the lists again, and go on from their X-Events-Cursor; the oldest event that is kept"
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
                "it has no signer. Its operator may give it one: MARKETPLACE_ACCOUNT_KEY_FILE, or"
                " create_app(sign=...)"
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
    """Nothing can be bought until the operator acts, who finds the reason in the log."""


class BudgetTooSmall(OperatorNeeded):
    """One purchase may cost more than the hourly budget: both in HBAR."""

    sentence = "Nothing can be bought at the moment: the operator must raise the fee budget"
    log_sentence = (
        "One purchase can cost up to {:f} HBAR; the hourly budget is {:f}. Raise"
        " MARKETPLACE_SALE_FEE_BUDGET"
    )
    retry_after = 3600


class BalanceTooLow(OperatorNeeded):
    """The marketplace's account can not pay the fee of a purchase: it has so many HBAR."""

    sentence = "The marketplace can't pay fees at the moment: nothing can be bought"
    log_sentence = "The marketplace's account has {:f} HBAR, too little for a fee. Top it up"
    retry_after = 300


class ClockBehind(OperatorNeeded):
    """A purchase signed by a clock that is behind, by so many seconds, expires before it can be submitted."""

    sentence = "Nothing can be bought at the moment: the service's clock is wrong"
    log_sentence = (
        "The clock of this machine is {} s behind the ledger: purchases signed by it would expire early. Set"
        " the clock"
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
        "The ledger's mirror node is {} s behind: what it shows may be sold by now. Nothing was done; try"
        " again"
    )
    retry_after = 10


class TooBusy(Unavailable):
    sentence = "Too many requests are in progress. Nothing was done; try again"
    retry_after = 2


class MediaFull(MarketplaceError):
    """Recorded as the reason why an NFT lacks its image: no request is answered with it."""

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
    """Its reason names servers and users."""

    sentence = "The database can not be reached just now. Try again: nothing is done twice"
    log_sentence = "{}"
    retry_after = 2

    def __str__(self) -> str:
        return f"The database can not be reached: {self.reason}"


class NotReady(Unavailable):
    """For load balancers that ask for /status?ready: the service itself goes on."""

    sentence = "Not ready: {}"
    retry_after = 30
