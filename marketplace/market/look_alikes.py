"""Finds names that look alike: they have the same skeleton.

A skeleton drops case, accents, blanks and punctuation. It replaces digits and other scripts' letters with the
Latin letters that they look like. This follows Unicode's UTS #39, limited to letters that imitations use.
"""

import unicodedata

from marketplace.market.search_words import fold

MAX_SKELETON = 100  # characters
# Lower-case letters by the Latin letter that they, or their capitals, look like.
_LIKE = {
    "a": "\u0430\u03b1\u0251@4",
    "b": "\u0432\u03b2\u044c8",
    "c": "\u0441\u03f2",
    "d": "\u0501",
    "e": "\u0435\u03b5\u04543",
    "g": "\u0261\u0581",
    "h": "\u043d\u04bb\u03b7",
    "i": "\u0456\u03b9\u0131l1|\u04cf\u0142",
    "j": "\u0458\u03f3",
    "k": "\u043a\u03ba",
    "m": "\u043c\u03bc",
    "n": "\u0578\u03bd\u043f",
    "o": "\u043e\u03bf\u05430\u00f8\u0585",
    "p": "\u0440\u03c1",
    "q": "\u051b",
    "r": "\u0433",
    "s": "\u0455$5",
    "t": "\u0442\u03c47",
    "u": "\u057d\u03c5",
    "v": "\u0475",
    "w": "\u0461\u051d\u03c9",
    "x": "\u0445\u03c7\u00d7",
    "y": "\u0443\u03b3\u04af",
    "z": "\u03b62",
}
LETTERS = str.maketrans({letter: latin for latin, others in _LIKE.items() for letter in others})
PAIRS = (("rn", "m"), ("vv", "w"))


def find_skeleton(name: str) -> str:
    """The skeleton of a name; empty for one without letters."""
    folded = fold(unicodedata.normalize("NFKC", name)).translate(LETTERS)
    letters = "".join(letter for letter in folded if letter.isalnum())
    for pair, letter in PAIRS:
        letters = letters.replace(pair, letter)
    return letters[:MAX_SKELETON]
