"""What can go wrong, and the status it is answered with.

MarketplaceError
├── RequestNotJson 400, BodyMalformed 400, ContentTypeNotJson 415
├── NotAuthenticated 401, ScopeMissing 403, EndUserInvalid 422
├── LimitExceeded 429: TooManyPurchases
├── NotFound 404: NftNotStored, CollectionNotStored, NftNotOnLedger, NftGone, WalletUnknown, NotPrepared
├── Conflict 409: NotTheOwner, OwnerIsMarketplace, NotListed, BuyerIsOwner, BuyerIsMarketplace, PriceChanged,
│   PurchaseImpossible, NothingLeftForSeller, FeesChanged, TooManyFees, TransactionRefused,
│   TransactionAltered, ListingEnded, WithdrawalEnded
├── BuyingOff 501
├── LedgerAnswerInvalid 502
└── LedgerUnreachable 503, LedgerUndecided 503, LedgerBehind 503, SignerFailed 503, FeesSpent 503,
    OperatorNeeded 503 (BudgetTooSmall, BalanceTooLow, ClockBehind), MediaUnreachable 503, DatabaseBusy 503,
    DatabaseUnusable 503, DatabaseUnreachable 503, TooBusy 503, NotReady 503

Each is raised with facts and writes its own sentence: the thing, and the way out.
"""

import json
import sys
from decimal import Decimal
from http import HTTPStatus

import click
from flask.cli import ScriptInfo

from marketplace import hbar


def shown(value: object) -> str:
    """A stranger's value, fit for a sentence: as JSON, in ASCII, and not long."""
    try:
        text = json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        text = "a value of another kind"
    return text if len(text) <= 60 else f"{text[:57]}..."


def reason(error: Exception) -> str:
    """What an error says; of the system's, the file and the words: ``/backups: Permission denied``."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def command(words: str) -> str:
    """How a command of this application is called: ``flask --app wsgi upgrade``, as this one was."""
    context = click.get_current_context(silent=True)
    info = context and context.find_object(ScriptInfo)
    served = "marketplace" if "marketplace.wsgi" in sys.modules else "wsgi"
    path = info.app_import_path if info else served
    return f"flask --app {path} {words}" if path else f"flask {words}"


def printable(text: str) -> str:
    """A text, fit for a terminal: lines of printable characters, all others escaped."""
    return "".join(
        character if character.isprintable() or character == "\n" else repr(character)[1:-1]
        for character in text
    )


class StartRefused(click.ClickException):
    """Why the service does not start: a sentence for its operator, with which a command ends."""

    def format_message(self) -> str:
        return printable(self.message)


class MarketplaceError(Exception):
    """Something a caller is told about."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR

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


class RequestNotJson(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST

    def __init__(self, reason: str) -> None:
        super().__init__(f"The body is not JSON: {reason}")


class BodyMalformed(MarketplaceError):
    status = HTTPStatus.BAD_REQUEST

    def __init__(self) -> None:
        super().__init__("The body can not be read: its chunks are not as HTTP/1.1 writes them")


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
        super().__init__(
            f"{limit}: try again in {retry_after} s", headers={"Retry-After": str(retry_after)}
        )


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
        super().__init__(
            f"{token} #{serial_no} is not for sale here: GET /v1/orderbook shows what is"
        )


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
    """What the ledger would refuse, with its own result code: found before the marketplace pays for it."""

    def __init__(self, reason: str, result: str) -> None:
        super().__init__(
            f"{reason}. The ledger would say {result}", errors={"ledger": {"result": [result]}}
        )


class NothingLeftForSeller(Conflict):
    """Custom fees would take all that a seller is paid."""

    def __init__(self, token: str, fees: Decimal, credit: Decimal) -> None:
        super().__init__(
            f"The custom fees of {token} are {fees:,f} HBAR, and the seller is paid {credit:,f} HBAR: nothing"
            " would be left. Its owner may list it at a higher price"
        )


class FeesChanged(Conflict):
    """A seller owes fees that he may not have known of when he listed."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"The custom fees of {token} were changed after this NFT was listed. Its owner may list it again,"
            " which agrees to them"
        )


class TooManyFees(Conflict):
    """Custom fees that are not looked up, as there are too many, or fees on fees."""

    def __init__(self, token: str) -> None:
        super().__init__(
            f"The custom fees of {token} are too many to be looked up, or are paid in a token that has fees"
            " itself: its NFTs can't be bought here"
        )


class TransactionRefused(Conflict):
    """The ledger's own result code says why what was signed did not come about."""

    def __init__(self, transaction_id: str, kind: str, result: str) -> None:
        reason = f"the ledger says {result}"
        if result == "TRANSACTION_EXPIRED":  # the ledger has no record of it, and can have none
            reason = f"it was not submitted in time ({result})"
        did = {"listing": "list", "withdrawal": "withdraw", "purchase": "sell"}[kind]
        super().__init__(
            f"{transaction_id} did not {did} the NFT: {reason}. Prepare a new {kind}",
            errors={"ledger": {"result": [result]}},
        )


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
        super().__init__(
            f"{token} #{serial_no} was withdrawn, and listed again since, at {listed_at}"
        )


class TooManyPurchases(LimitExceeded):
    """A caller's share of the hourly fee budget is used up: each open purchase may cost a fee."""

    def __init__(self, whose: str, retry_after: int) -> None:
        """``whose``: "you", or who asks for all that this caller asks for."""
        super().__init__(
            f"Too many purchases that {whose} asked for are open, or have failed within the hour. Sign and"
            " submit them, or wait",
            retry_after,
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


class SignerFailed(MarketplaceError):
    """Its operator is told the reason; a caller is not."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            "The marketplace's signer did not sign. Nothing was done; try again",
            headers={"Retry-After": "10"},
        )
        self.reason = reason


class FeesSpent(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, retry_after: int) -> None:
        super().__init__(
            f"The hourly fee budget for purchases is used up: try again in {retry_after} s",
            headers={"Retry-After": str(retry_after)},
        )


class OperatorNeeded(MarketplaceError):
    """Nothing can be bought until the operator acts. He is told the reason; a caller is not."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, message: str, reason: str, retry_after: int) -> None:
        super().__init__(message, headers={"Retry-After": str(retry_after)})
        self.reason = reason

    def __str__(self) -> str:
        return self.reason


class BudgetTooSmall(OperatorNeeded):
    """One purchase may cost more than the hourly budget."""

    def __init__(self, fee: int, budget: int) -> None:
        """``fee``, ``budget``: in tinybars."""
        super().__init__(
            "Nothing can be bought at the moment: the operator must raise the fee budget",
            f"One purchase can cost up to {hbar.written(fee)} HBAR; the hourly budget is"
            f" {hbar.written(budget)}. Raise MARKETPLACE_SALE_FEE_BUDGET",
            3600,
        )


class BalanceTooLow(OperatorNeeded):
    """The marketplace's account can not pay the fee of a purchase."""

    def __init__(self, balance: int) -> None:
        """``balance``: in tinybars."""
        super().__init__(
            "The marketplace can't pay fees at the moment: nothing can be bought",
            f"The marketplace's account has {hbar.written(balance)} HBAR, too little for a fee. Top it up",
            300,
        )


class ClockBehind(OperatorNeeded):
    """What is signed by a clock that is behind expires before it can be submitted."""

    def __init__(self, seconds: int) -> None:
        super().__init__(
            "Nothing can be bought at the moment: the service's clock is wrong",
            f"The clock of this machine is {seconds} s behind the ledger: purchases signed by it would expire"
            " early. Set the clock",
            60,
        )


class LedgerAnswerInvalid(MarketplaceError):
    status = HTTPStatus.BAD_GATEWAY

    def __init__(self, reason: str) -> None:
        super().__init__(f"The ledger's mirror node answered what makes no sense: {reason}")


class LedgerUnreachable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str, retry_after: int = 5) -> None:
        super().__init__(
            f"The ledger's mirror node did not answer: {reason}. Try again: nothing is done twice",
            headers={"Retry-After": str(retry_after)},
        )


class LedgerUndecided(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, token: str, serial_no: int, reason: str) -> None:
        super().__init__(
            f"What the ledger's mirror node answers of {token} #{serial_no} contradicts itself just now"
            f" ({reason}). Nothing was done; try again",
            headers={"Retry-After": "3"},
        )


class LedgerBehind(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, seconds: int) -> None:
        super().__init__(
            f"The ledger's mirror node is {seconds} s behind: what it shows may be sold by now. Nothing was"
            " done; try again",
            headers={"Retry-After": "10"},
        )


class TooBusy(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__(
            "Too much is under way here that waits for others. Nothing was done; try again",
            headers={"Retry-After": "2"},
        )


class MediaFull(MarketplaceError):
    """It is said of an NFT that lacks its image, and to no client."""

    status = HTTPStatus.INSUFFICIENT_STORAGE

    def __init__(self) -> None:
        super().__init__("there is no room for more images: MARKETPLACE_MEDIA_MAX_BYTES")


class MediaUnreachable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__(
            "The store of images did not answer; try again", headers={"Retry-After": "5"}
        )


class DatabaseBusy(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        super().__init__(
            "The database stayed locked by another writer. Nothing was changed; try again",
            headers={"Retry-After": "1"},
        )


class DatabaseUnusable(MarketplaceError):
    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"The database can not be used: {reason}. Nothing was changed; the operator must mend it",
            headers={"Retry-After": "60"},
        )


class DatabaseUnreachable(MarketplaceError):
    """Its operator is told the reason, which names servers and users; a caller is not."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(
            "The database can not be reached just now. Try again: nothing is done twice",
            headers={"Retry-After": "2"},
        )
        self.reason = reason

    def __str__(self) -> str:
        return f"The database can not be reached: {self.reason}"


class NotReady(MarketplaceError):
    """Asked for by whoever sends requests elsewhere then; the service answers all the same."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self, reason: str) -> None:
        super().__init__(f"Not ready: {reason}", headers={"Retry-After": "30"})
