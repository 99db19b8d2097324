"""What a client can do about an error, by its reason; and the errors that many operations share.

The OpenAPI document and docs/api.md have the table that is made from this.
"""

from collections.abc import Mapping
from typing import NamedTuple

from marketplace import errors
from marketplace.errors import MarketplaceError


class ErrorExample(NamedTuple):
    """An error as an operation may answer it."""

    status: int
    reason: str
    message: str
    errors: Mapping[str, object] | None = None


def make_example(error: MarketplaceError) -> ErrorExample:
    return ErrorExample(error.status, error.word(), error.message, error.errors)


LIMIT = "This access token may write 600 times a minute"
FIELD = "must be a whole number from 1 to 9223372036854775807, not 0"
NOT_ALLOWED = "You are not allowed to call this"

UNAUTHENTICATED = (
    errors.NotAuthenticated("The header Authorization: Bearer <token> is missing"),
    ErrorExample(401, "UNAUTHORIZED", NOT_ALLOWED),  # of a host's own authenticate()
)
FORBIDDEN = ErrorExample(403, "FORBIDDEN", NOT_ALLOWED)
LIMITED = errors.LimitExceeded(LIMIT, 12)
FIELD_INVALID = ErrorExample(
    422, "FIELD_INVALID", f"serialNo {FIELD}", {"json": {"serialNo": [FIELD]}}
)
QUERY_NOT_UTF8 = ErrorExample(400, "BAD_REQUEST", "The query is not UTF-8")
OF_BODIES = (
    errors.RequestNotJson("Expecting value: line 1 column 1 (char 0)"),
    errors.BodyMalformed(),
    ErrorExample(413, "REQUEST_ENTITY_TOO_LARGE", "The body is larger than 65536 bytes"),
    errors.ContentTypeNotJson("text/plain"),
    FIELD_INVALID,
)
OF_DATABASE = (
    errors.DatabaseBusy(),
    errors.DatabaseUnreachable("the primary does not answer"),
    errors.DatabaseUnusable("database or disk is full"),
)
OF_WRITES = (errors.EndUserInvalid("On-Behalf-Of", "Bob Miller"), errors.TooBusy(), *OF_DATABASE)
OF_LEDGER = (
    errors.LedgerUnreachable("timed out"),
    errors.LedgerBusy(2),
    errors.LedgerAnswerInvalid("/tokens/0.0.5001: not JSON"),
    errors.SandboxUnusable("In the sandbox: The database can not be used: its file has vanished"),
    errors.AccountNotOnLedger("0x00000000000000000000000000000000000003e9"),
)


class Advice(NamedTuple):
    again: str  # whether the same request may succeed later
    tell: str  # what to tell a user


NO, AGAIN = "no", "after `Retry-After`"
PROGRAM = "A fault of the program"
LATER = "Try again in a moment"
CLOSED = "Nothing can be bought here at the moment"
GONE = "The NFT does not exist any more"
# By reason, in the order of the table.
ADVICE = {
    "ACCOUNT_NOT_ON_LEDGER": Advice(NO, "The network has no account with this address"),
    "ASSOCIATION_NOT_PAID": Advice(
        "once associated", "Associate the collection in your wallet first"
    ),
    "BAD_HOST": Advice(NO, PROGRAM),
    "BAD_REQUEST": Advice(NO, PROGRAM),
    "BALANCE_TOO_LOW": Advice(AGAIN, CLOSED),
    "BASKET_TOO_EXPENSIVE": Advice("with fewer NFTs", "Buy fewer at once"),
    "BODY_MALFORMED": Advice(NO, PROGRAM),
    "BUDGET_TOO_SMALL": Advice(AGAIN, CLOSED),
    "BUYER_BALANCE_TOO_LOW": Advice("once paid in", "You have too little HBAR for this price"),
    "BUYER_IS_MARKETPLACE": Advice(NO, "Choose another account: the marketplace's own can't buy"),
    "BUYER_IS_OWNER": Advice(NO, "This NFT is yours already"),
    "BUYER_NOT_ASSOCIATED": Advice(
        "once associated", "Associate the collection in your wallet first"
    ),
    "BUYING_OFF": Advice(NO, "Nothing can be bought here"),
    "CLOCK_BEHIND": Advice(AGAIN, CLOSED),
    "COLLECTIONS_MIXED": Advice("without the NFTs it names", "Buy these by themselves"),
    "COLLECTION_NOT_STORED": Advice("once added", "This collection is not known here"),
    "CONTENT_TYPE_NOT_JSON": Advice(NO, PROGRAM),
    "CURSOR_GONE": Advice("no: read the lists again", "Nothing"),
    "DATABASE_BUSY": Advice(AGAIN, LATER),
    "DATABASE_UNREACHABLE": Advice(AGAIN, LATER),
    "DATABASE_UNUSABLE": Advice(AGAIN, "The market is out of order"),
    "END_USER_INVALID": Advice(NO, PROGRAM),
    "FEES_CHANGED": Advice(NO, "The fees have changed: the owner must list the NFT again"),
    "FEES_IN_TOKENS": Advice(NO, "This collection's NFTs can't be bought here"),
    "FEES_SPENT": Advice(AGAIN, "Too many purchases are in progress: try again in a minute"),
    "FIELD_INVALID": Advice(NO, "`errors` says which of the user's entries is wrong"),
    "FORBIDDEN": Advice(NO, "You may not do this"),
    "INTERNAL_SERVER_ERROR": Advice(NO, "A fault of the service, which its operator finds logged"),
    "LEDGER_ANSWER_INVALID": Advice("later", "The network's data makes no sense at the moment"),
    "LEDGER_BEHIND": Advice(AGAIN, "The network's data is late: try again in a moment"),
    "LEDGER_BUSY": Advice(AGAIN, "Too many requests: wait a moment"),
    "LEDGER_UNDECIDED": Advice(AGAIN, LATER),
    "LEDGER_UNREACHABLE": Advice(AGAIN, "The network does not answer: try again in a moment"),
    "LIMIT_EXCEEDED": Advice(AGAIN, "Too many requests: wait a moment"),
    "LISTING_ENDED": Advice(NO, "This listing has ended; the message says why"),
    "MEDIA_UNREACHABLE": Advice(AGAIN, "Nothing: show no image"),
    "METHOD_NOT_ALLOWED": Advice(NO, PROGRAM),
    "NFT_GONE": Advice(NO, GONE),
    "NFT_NOT_ON_LEDGER": Advice(NO, "The network has no such NFT"),
    "NFT_NOT_STORED": Advice("once added", "This NFT is not known here"),
    "NOTHING_LEFT_FOR_SELLER": Advice(NO, "The owner must list the NFT at a higher price"),
    "NOT_AUTHENTICATED": Advice("with another token", "Log in again"),
    "NOT_FOUND": Advice(NO, PROGRAM),
    "NOT_LISTED": Advice("once listed", "This NFT is not for sale any more"),
    "NOT_PREPARED": Advice(NO, "Start again: nothing was prepared"),
    "NOT_READY": Advice(AGAIN, "Nothing: it is for a load balancer"),
    "NOT_THE_OWNER": Advice(NO, "This NFT belongs to another account"),
    "OWNER_IS_MARKETPLACE": Advice(NO, "The marketplace's own account can't list"),
    "PRECONDITION_FAILED": Advice(NO, PROGRAM),
    "PRICE_CHANGED": Advice("with the new `expectedPrice`", "The price has changed: ask the buyer"),
    "PURCHASE_IMPOSSIBLE": Advice(NO, "The network would refuse it; the message says why"),
    "REQUESTED_RANGE_NOT_SATISFIABLE": Advice(NO, PROGRAM),
    "REQUEST_ENTITY_TOO_LARGE": Advice(NO, PROGRAM),
    "REQUEST_NOT_JSON": Advice(NO, PROGRAM),
    "SANDBOX_UNUSABLE": Advice(AGAIN, "The sandbox is out of order"),
    "SCOPE_MISSING": Advice("with another token", "You may not do this"),
    "SIGNER_FAILED": Advice(AGAIN, LATER),
    "TOO_BUSY": Advice(AGAIN, LATER),
    "TOO_MANY_PURCHASES": Advice(AGAIN, "Finish your other purchases, or wait a minute"),
    "TRANSACTION_ALTERED": Advice("no: prepare anew", "The wallet changed the transaction"),
    "TRANSACTION_EXPIRED": Advice("no: prepare anew", "It was signed too late: do it again"),
    "TRANSACTION_REFUSED": Advice(
        "no: prepare anew", "The network refused it; the message says why"
    ),
    "UNAUTHORIZED": Advice("with another login", "Log in again"),
    "WALLET_UNKNOWN": Advice(NO, PROGRAM),
    "WITHDRAWAL_ENDED": Advice(NO, "The NFT was listed again since"),
}
# Errors that no operation of the document declares: those of any address, and of images.
ELSEWHERE = {
    "BAD_HOST": (400, "any address"),
    "NOT_FOUND": (404, "any other address"),
    "METHOD_NOT_ALLOWED": (405, "any address"),
    "INTERNAL_SERVER_ERROR": (500, "any address"),
    "MEDIA_UNREACHABLE": (503, "`/media`"),
    "PRECONDITION_FAILED": (412, "`/media`"),
    "REQUESTED_RANGE_NOT_SATISFIABLE": (416, "`/media`"),
}


def make_table(operations: Mapping[str, Mapping[str, int]]) -> str:
    """Write the table of reasons. ``operations``: the reasons of each call, with their status."""
    rows = ["| Reason | Status | Calls | Again? | What to tell a user |", "|---|---|---|---|---|"]
    groups = _find_groups(operations)
    for reason, advice in ADVICE.items():
        calls = {call: reasons[reason] for call, reasons in operations.items() if reason in reasons}
        status, where = ELSEWHERE.get(reason, (0, ""))
        if calls:
            status, where = next(iter(calls.values())), _describe(set(calls), groups)
        rows.append(f"| `{reason}` | {status} | {where} | {advice.again} | {advice.tell} |")
    return "\n".join(rows)


def _find_groups(operations: Mapping[str, Mapping[str, int]]) -> dict[str, set[str]]:
    """Calls that share errors, and what the table calls them."""

    def having(reason: str) -> set[str]:
        return {call for call, reasons in operations.items() if reason in reasons}

    return {
        "every call under `/v1`": {call for call in operations if "/v1/" in call},
        "every call with parameters or a body": having("FIELD_INVALID"),
        "every POST": having("TOO_BUSY"),
        "every call with a body": having("CONTENT_TYPE_NOT_JSON"),
        "every call with a query": having("BAD_REQUEST"),
    }


def _describe(calls: set[str], groups: Mapping[str, set[str]]) -> str:
    """Name calls: a group, and the others without /v1 and their parameters: nft/traits."""
    described = []
    for name, group in groups.items():
        if group <= calls:
            described.append(name)
            calls = calls - group
    described += [f"`{path}`" for path in sorted(map(_shorten, calls))]
    return ", ".join(described)


def _shorten(call: str) -> str:
    _, path = call.split(" ")
    path = path.partition("/v1/")[2] or path
    return "/".join(part for part in path.split("/") if not part.startswith("{"))
