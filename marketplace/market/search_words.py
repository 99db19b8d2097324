"""The words of a name, as people type them: without case, accents and punctuation.

Chinese, Japanese and Korean names have no blanks between words, so each part of such a name is found.
"""

import re
import unicodedata

MAX_WORDS = 20  # of a collection
MAX_WORD = 50  # characters
MAX_PARTS = (
    100  # words of a collection, the ends of its Chinese, Japanese and Korean words included
)
# Chinese characters, kana, and Korean syllables.
CJK = (
    "\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
WORD = re.compile(rf"[0-9]+(?:\.[0-9]+)+|[{CJK}]+|[^\W_{CJK}]+")  # an id is one word
CHECKSUM = re.compile(r"\b([0-9]+\.[0-9]+\.[0-9]+)-[a-z]{5}\b", re.IGNORECASE)  # of an id: HIP-15


def fold(text: str) -> str:
    """Remove case and accents from a text. Letters that Unicode does not decompose, such as ø, stay."""
    letters = unicodedata.normalize("NFKD", text.casefold())
    plain = "".join(letter for letter in letters if not unicodedata.combining(letter)).strip()
    return unicodedata.normalize("NFC", plain)  # Korean syllables are one letter again


def find_words(*texts: str | None, limit: int) -> list[str]:
    """The distinct words of some texts: the first ones, up to a limit."""
    words = [word[:MAX_WORD] for text in texts if text for word in WORD.findall(fold(text))]
    return [*dict.fromkeys(words)][:limit]


def find_parts(*texts: str | None) -> list[str]:
    """The words of a collection's texts. A search finds the collection by the beginning of any of them.

    For a Chinese, Japanese or Korean word, includes every suffix, so that a search finds any part of it.
    """
    words = find_words(*texts, limit=MAX_WORDS)
    ends = [word[at:] for word in words if re.match(f"[{CJK}]", word) for at in range(1, len(word))]
    return [*dict.fromkeys(words + ends)][:MAX_PARTS]


def read_query(text: str) -> str:
    """A query, in characters of the usual width, and without the checksums of ids: 0.0.2002-vfmkw."""
    return CHECKSUM.sub(r"\1", unicodedata.normalize("NFKC", text))
