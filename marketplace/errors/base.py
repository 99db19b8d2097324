"""What all errors have, and how those that a client may receive are found."""

from collections.abc import Mapping
from http import HTTPStatus

from marketplace.text import printable, upper_words

# Groups of calls that share errors, in the words of the table.
ANYWHERE = "any address"
MEDIA = "`/media`"
STATUS = "`/status`"
SCOPED = "every call under `/v1`, `/metrics`"
PARAMETERS = "every call with parameters or a body"
QUERIES = "every call with a query"
POSTS = "every POST"
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


def find_kinds(base: type[MarketplaceError] = MarketplaceError) -> list[type[MarketplaceError]]:
    """Find the errors that a client may receive."""
    below = [kind for each in base.__subclasses__() for kind in find_kinds(each)]
    return [base, *below] if base.tell and "tell" in vars(base) else below


def answered_by(*calls: str) -> list[type[MarketplaceError]]:
    """The errors that these calls may answer, such as POSTS."""
    return [kind for kind in find_kinds() if {*kind.calls} & {*calls}]
