"""The errors that a caller is told about, with their status. docs/api.md lists them for clients.

Each is raised with facts, and writes its own sentence: it names the thing, and says what to do.
"""

import json
import re
import sys
from decimal import Decimal
from http import HTTPStatus

import click
from flask.cli import ScriptInfo

from marketplace import hbar


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
    """An error that a caller is told about."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR

    @classmethod
    def word(cls) -> str:
        """The stable word that clients tell it by: NFT_NOT_STORED."""
        return upper_words(cls.__name__)

    def __init__(
        self,
        message: str,
        *,
        errors: dict[str, object] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.errors = errors
        self.headers = headers or {}


class Unavailable(MarketplaceError):
    """The client tries again after so many seconds. The log may have a reason that the client is not told."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, message: str, retry_after: int, reason: str | None = None) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})
        self.reason = reason or message

    def __str__(self) -> str:
        return self.reason


class RequestNotJson(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, reason: str) -> None:
        super().__init__(f"The body is not JSON: {reason}")


class BodyMalformed(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST

    def __init__(self) -> None:
        super().__init__("The body can not be read: its chunked encoding is damaged")


class ContentTypeNotJson(MarketplaceError):
    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self, content_type: str | None) -> None:
        sent = shown(content_type) if content_type else "missing"
        super().__init__(f"Content-Type must be application/json; it is {sent}")


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

    def __init__(self, limit: str, retry_after: int) -> None:
        message = f"{limit}: try again in {retry_after} s"
        super().__init__(message, headers={"Retry-After": str(retry_after)})


class NotFound(MarketplaceError):
    status = HTTPStatus.NOT_FOUND


class NftNotStored(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} is not stored: POST /v1/add it first")


class CollectionNotStored(NotFound):
    def __init__(self, token: str) -> None:
        super().__init__(f"No NFT of {token} is stored: POST /v1/add one first")


class NftNotOnLedger(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} is not an NFT on the ledger")


class AccountNotOnLedger(NotFound):
    def __init__(self, evm_address: str) -> None:
        super().__init__(f"{evm_address} is the EVM address of no account on the ledger")


class NftGone(NotFound):
    def __init__(self, token: str, serial_no: int) -> None:
        super().__init__(f"{token} #{serial_no} was burned on the ledger, or its token was deleted")


class WalletUnknown(NotFound):
    def __init__(self, wallet: str, wallets: tuple[str, ...]) -> None:
        super().__init__(f"{shown(wallet)} is not a wallet known here: {', '.join(wallets)}")


class NotPrepared(NotFound):
    def __init__(self, account_id: str, token: str, serial_no: int, transaction_id: str | None):
        what = transaction_id or "Nothing"
        negation = "was not prepared" if transaction_id else "was prepared"
        super().__init__(
            f"{what} {negation} here for {account_id} and {token} #{serial_no}: POST /v1/list/<wallet>,"
            " /v1/delist/<wallet> and /v1/buy/<wallet> prepare a transaction"
        )


class Conflict(MarketplaceError):
    status = HTTPStatus.CONFLICT


class NotTheOwner(Conflict):
    def __init__(self, account_id: str, token: str, serial_no: int, owner: str) -> None:
        super().__init__(f"{token} #{serial_no} belongs to {owner}, not to {account_id}")


class OwnerIsMarketplace(Conflict):
    def __init__(self, account_id: str) -> None:
        super().__init__(
            f"{account_id} is the marketplace's own account; the ledger lets no account approve itself"
            " (SPENDER_ACCOUNT_SAME_AS_OWNER)"
        )


class NotListed(Conflict):
    def __init__(self, token: str, serial_no: int) -> None:
        message = f"{token} #{serial_no} is not for sale here: GET /v1/orderbook shows what is"
        super().__init__(message)


class BuyerIsOwner(Conflict):
    def __init__(self, account_id: str, token: str, serial_no: int) -> None:
        super().__init__(
            f"{token} #{serial_no} belongs to {account_id} already; POST /v1/delist/<wallet> takes it off"
        )


class BuyerIsMarketplace(Conflict):
    def __init__(self, account_id: str) -> None:
        super().__init__(
            f"{account_id} is the marketplace's own account, which sells and does not buy: name another"
            " account"
        )


class PriceChanged(Conflict):
    def __init__(self, token: str, serial_no: int, expected: int, price: int) -> None:
        super().__init__(
            f"{token} #{serial_no} costs {price} HBAR now, not {expected}: send expectedPrice {price} to buy"
            " it for that",
            errors={"json": {"expectedPrice": [f"is {price} by now"]}},
        )


class PurchaseImpossible(Conflict):
    """The ledger would refuse the purchase: its result code, found before the marketplace pays a fee."""

    def __init__(self, reason: str, result: str) -> None:
        message = f"{reason}. The ledger would say {result}"
        super().__init__(message, errors={"ledger": {"result": [result]}})


class NothingLeftForSeller(Conflict):
    """Custom fees would take all that a seller is paid."""

    def __init__(self, token: str, fees: Decimal, credit: Decimal) -> None:
        super().__init__(
            f"The custom fees of {token} are {fees:,f} HBAR, and the seller is paid {credit:,f} HBAR: nothing"
            " would be left. Its owner may list it at a higher price"
        )


class FeesChanged(Conflict):
    """The seller would owe fees that are newer than the listing."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"The custom fees of {token} were changed after this NFT was listed. Its owner may list it again,"
            " which agrees to them"
        )


class FeesInTokens(Conflict):
    """The seller would owe a custom fee that is not paid in HBAR."""

    def __init__(self, token: str) -> None:
        message = f"A custom fee of {token} is paid in a token: its NFTs can't be bought here"
        super().__init__(message)


class TransactionRefused(Conflict):
    """The ledger refused the transaction that was signed: its result code says why."""

    def __init__(self, transaction_id: str, kind: str, result: str) -> None:
        reason = f"the ledger says {result}"
        if result == "TRANSACTION_EXPIRED":  # the ledger has no record of it, and can have none
            reason = f"it was not submitted in time ({result})"
        did = {"listing": "list", "withdrawal": "withdraw", "purchase": "sell"}[kind]
        message = f"{transaction_id} did not {did} the NFT: {reason}. Prepare a new {kind}"
        super().__init__(message, errors={"ledger": {"result": [result]}})


class TransactionAltered(Conflict):
    def __init__(self, transaction_id: str, kind: str, name: str) -> None:
        super().__init__(
            f"{transaction_id} is a {name} on the ledger, but not the transaction prepared here:"
            f" its kind or its memo is another. Prepare a new {kind}"
        )


class ListingEnded(Conflict):
    def __init__(self, token: str, serial_no: int, reason: str) -> None:
        super().__init__(f"{token} #{serial_no} is no longer listed: {reason}")


class WithdrawalEnded(Conflict):
    def __init__(self, token: str, serial_no: int, listed_at: str) -> None:
        message = f"{token} #{serial_no} was withdrawn, and listed again since, at {listed_at}"
        super().__init__(message)


class TooManyPurchases(LimitExceeded):
    """A caller's share of the hourly fee budget is used up: each open purchase may cost a fee."""

    def __init__(self, whose: str, retry_after: int) -> None:
        """``whose``: "you", or a name for all callers that share the limit."""
        super().__init__(
            f"Too many purchases that {whose} asked for are open, or have failed within the hour. Sign and"
            " submit them, or wait",
            retry_after,
        )


class CursorGone(MarketplaceError):
    """The events that follow a cursor are not known in full."""

    status = HTTPStatus.GONE

    def __init__(self, cursor: str, reason: str, beginning: str) -> None:
        super().__init__(
            f"{cursor} {reason}. Read the lists again, and go on from their X-Events-Cursor; the oldest event"
            f" that is kept follows {beginning}",
            errors={"query": {"after": [reason]}},
        )


class BuyingOff(MarketplaceError):
    status = HTTPStatus.NOT_IMPLEMENTED

    def __init__(self, has_signer: bool) -> None:
        reason = "its operator turned that off: MARKETPLACE_SALE_FEE_BUDGET is 0"
        if not has_signer:
            reason = (
                "it has no signer. Its operator may give it one: MARKETPLACE_ACCOUNT_KEY_FILE, or"
                " create_app(sign=...)"
            )
        super().__init__(f"Nothing can be bought from this service: {reason}")


class SignerFailed(Unavailable):
    def __init__(self, reason: str) -> None:
        message = "The marketplace's signer did not sign. Nothing was done; try again"
        super().__init__(message, 10, reason)


class FeesSpent(Unavailable):
    def __init__(self, retry_after: int) -> None:
        message = f"The hourly fee budget for purchases is used up: try again in {retry_after} s"
        super().__init__(message, retry_after)


class OperatorNeeded(Unavailable):
    """Nothing can be bought until the operator acts, who finds the reason in the log."""


class BudgetTooSmall(OperatorNeeded):
    """One purchase may cost more than the hourly budget."""

    def __init__(self, fee: int, budget: int) -> None:
        """``fee``, ``budget``: in tinybars."""
        super().__init__(
            "Nothing can be bought at the moment: the operator must raise the fee budget",
            3600,
            f"One purchase can cost up to {hbar.written(fee)} HBAR; the hourly budget is"
            f" {hbar.written(budget)}. Raise MARKETPLACE_SALE_FEE_BUDGET",
        )


class BalanceTooLow(OperatorNeeded):
    """The marketplace's account can not pay the fee of a purchase."""

    def __init__(self, balance: int) -> None:
        """``balance``: in tinybars."""
        super().__init__(
            "The marketplace can't pay fees at the moment: nothing can be bought",
            300,
            f"The marketplace's account has {hbar.written(balance)} HBAR, too little for a fee. Top it up",
        )


class ClockBehind(OperatorNeeded):
    """A purchase signed by a clock that is behind expires before it can be submitted."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            "Nothing can be bought at the moment: the service's clock is wrong",
            60,
            f"The clock of this machine is {seconds} s behind the ledger: purchases signed by it would expire"
            " early. Set the clock",
        )


class LedgerAnswerInvalid(MarketplaceError):
    status = HTTPStatus.BAD_GATEWAY

    def __init__(self, reason: str) -> None:
        super().__init__(f"The ledger's mirror node gave an invalid answer: {reason}")


class LedgerUnreachable(Unavailable):
    def __init__(self, reason: str, retry_after: int = 5) -> None:
        super().__init__(
            f"The ledger's mirror node did not answer: {reason}. Try again: nothing is done twice",
            retry_after,
        )


class LedgerUndecided(Unavailable):
    def __init__(self, token: str, serial_no: int, reason: str) -> None:
        super().__init__(
            f"The ledger's mirror node contradicts itself about {token} #{serial_no} ({reason}). Nothing was"
            " done; try again",
            3,
        )


class LedgerBehind(Unavailable):
    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The ledger's mirror node is {seconds} s behind: what it shows may be sold by now. Nothing was"
            " done; try again",
            10,
        )


class TooBusy(Unavailable):
    def __init__(self) -> None:
        super().__init__("Too many requests are in progress. Nothing was done; try again", 2)


class MediaFull(MarketplaceError):
    """Recorded as the reason why an NFT lacks its image: no request is answered with it."""

    def __init__(self) -> None:
        super().__init__("there is no room for more images: MARKETPLACE_MEDIA_MAX_BYTES")


class MediaUnreachable(Unavailable):
    def __init__(self) -> None:
        super().__init__("The store of images did not answer; try again", 5)


class DatabaseBusy(Unavailable):
    def __init__(self) -> None:
        super().__init__(
            "The database stayed locked by another writer, or took too long. Nothing was changed; try again",
            1,
        )


class DatabaseUnusable(Unavailable):
    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database can not be used: {reason}. Nothing was changed; the operator must fix it",
            60,
        )


class DatabaseUnreachable(Unavailable):
    """Its reason names servers and users."""

    def __init__(self, reason: str) -> None:
        message = "The database can not be reached just now. Try again: nothing is done twice"
        super().__init__(message, 2, reason)

    def __str__(self) -> str:
        return f"The database can not be reached: {self.reason}"


class NotReady(Unavailable):
    """For load balancers that ask for /status?ready: the service itself goes on."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"Not ready: {reason}", 30)
