"""The words of a name, as people type them: without case, accents and punctuation."""

import re
import unicodedata

MAX_WORDS = 20  # of a collection
MAX_WORD = 50  # characters
MAX_WORDS_ASKED = 8
WORD = re.compile(r"[0-9]+(?:\.[0-9]+)+|[^\W_]+")  # an id is one word


def fold(text: str) -> str:
    """Remove case and accents from a text. Letters that Unicode does not decompose, such as ø, stay."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).strip()


def find_words(*texts: str | None, limit: int = MAX_WORDS_ASKED) -> list[str]:
    """The distinct words of some texts: the first ones, up to a limit."""
    words = [word[:MAX_WORD] for text in texts if text for word in WORD.findall(fold(text))]
    return [*dict.fromkeys(words)][:limit]
