"""Errors of the service and of the ledger: the same request may succeed later, or once the operator acts."""

from decimal import Decimal
from http import HTTPStatus

from marketplace.errors.base import (
    ANYWHERE,
    BODIES,
    CLOSED,
    LATER,
    SCOPED,
    STATUS,
    MarketplaceError,
    Unavailable,
)
from marketplace.errors.requests import (
    LimitExceeded,
)


class TryAgain(Unavailable):
    """Something is busy or does not answer. The proxy answers this while it does not reach the service."""

    tell = LATER
    calls = (ANYWHERE, SCOPED, STATUS)
    example: tuple[object, ...] = (
        "Too many requests are in progress. Nothing was done; try again",
    )


class InternalServerError(MarketplaceError):
    sentence = "An unexpected error happened and was logged. It is a bug"
    tell = "The service failed. Its operator can find the error in the log"
    calls = (ANYWHERE,)


class LedgerBusy(LimitExceeded):
    """The turns at the mirror node are all taken until the request's deadline."""

    sentence = "Too many requests to the ledger's mirror node are waiting: try again in {} s"
    example = (2,)


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


class BuyingPaused(Unavailable):
    """Nothing can be bought until fees are free again, or the operator acts. The log gives the reason."""

    sentence = "Nothing can be bought at the moment"
    tell = CLOSED


class FeesSpent(BuyingPaused):
    sentence = "The hourly fee budget for purchases is used up: try again in {} s"
    example = (90,)

    def __init__(self, retry_after: int) -> None:
        super().__init__(retry_after, retry_after=retry_after)


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


class DatabaseUnusable(TryAgain):
    sentence = "The database cannot be used: {}. Nothing was changed; the operator must fix it"
    retry_after = 60
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
