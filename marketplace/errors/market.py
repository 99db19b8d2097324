"""Errors of the market: an NFT, an offer or a transaction is not as the request needs it."""

from decimal import Decimal
from http import HTTPStatus

from marketplace.errors.base import (
    ASSOCIATE,
    BODIES,
    ID,
    MEDIA,
    PREPARE,
    MarketplaceError,
)
from marketplace.errors.requests import (
    LimitExceeded,
)


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
    calls = (
        "every call about an NFT or a collection, except `delist`, `withdrawoffer` and reports",
        MEDIA,
    )
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
        withdrawal: object = None,
    ) -> None:
        """``withdrawal``: the PreparedTransaction that ends the offer. The API writes it into ``errors``."""
        super().__init__(account_id, offer_id, expires_at, price)
        self.withdrawal = withdrawal


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


class ReportOutdated(Conflict):
    """What is reported took effect, and a later change ended it."""

    sentence = "{} #{} {}"
    tell = "The NFT has changed since; the message says how"
    example = ("0.0.5001", 7, "is no longer listed: it belongs to 0.0.1002 now")


class PurchaseInProgress(LimitExceeded):
    """A purchase by the account, or of the NFT, was submitted, and the ledger does not show it yet."""

    sentence = "A purchase {0} {1} is in progress: try again in {2} s"
    tell = "Another purchase is in progress: wait a moment"
    calls = ()
    example = ("by", "0.0.1002", 5)


class TooManyFailed(LimitExceeded):
    """The account's purchases failed at consensus, and the marketplace paid for them."""

    sentence = "{} purchases by {} failed within an hour: try again in {} s"
    tell = "Your last purchases failed: wait an hour"
    calls = ()
    example = (3, "0.0.1002", 1800)


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
