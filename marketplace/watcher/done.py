"""What was done, in the operator's words: counted by the watcher and by commands."""

import enum
from collections import Counter


class Done(enum.Enum):
    """The result of one piece of work, in the operator's words."""

    SELLERS = "sellers checked"
    TOKENS = "tokens checked"
    LISTED = "NFTs listed"
    TAKEN_OFF = "NFTs taken off the order book"
    OFFER_LISTS = "lists of offers checked"
    OFFERS = "offers changed"
    UNCHANGED = "NFTs found unchanged"
    UNDECIDED = "NFTs not decided yet"
    NOT_CHECKED = "not checked"
    UNREADABLE = "lists with NFTs that cannot be read"
    COMPLETED = "NFTs completed"
    INCOMPLETE = "NFTs still incomplete"
    COLLECTIONS = "collections read"
    COLLECTIONS_LATE = "collections not read yet"

    @property
    def is_final(self) -> bool:
        """Whether no further check is needed."""
        return self not in (Done.UNDECIDED, Done.NOT_CHECKED)


def is_complete(counts: Counter[Done]) -> bool:
    """Whether nothing was left out."""
    return not counts.keys() & {Done.UNDECIDED, Done.NOT_CHECKED, Done.UNREADABLE}


def summary(counts: Counter[Done]) -> str:
    """The counts as one line, such as ``tokens checked: 3, NFTs listed: 1``."""
    return ", ".join(f"{done.value}: {counts[done]}" for done in Done if counts[done])
