"""Names of collections: the words by which a search finds them, and names that look alike.

Words are as people type them: without case, accents and punctuation. Chinese, Japanese and Korean names have
no blanks between words, so each part of such a name is found.

Two names look alike if they share a skeleton, by the data of Unicode's UTS #39 (confusables.json). A skeleton
has for each character the one that it looks like. It lacks what is invisible, blanks, punctuation, and Latin
letters' accents. As capitals look like other letters than small ones, a name has up to three skeletons: as it
is written, in small letters, and in capitals.
"""

import json
import re
import unicodedata
from functools import cache
from pathlib import Path

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
MAX_SKELETON = 100  # characters
TABLE = Path(__file__).with_name("confusables.json")
# Default_Ignorable_Code_Point of Unicode's DerivedCoreProperties.txt.
INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
DRAWN_CAPITAL = re.compile(r".*LATIN (?:LETTER SMALL CAPITAL|CAPITAL LETTER) ([A-Z])")


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


def find_skeletons(name: str) -> set[str]:
    """The skeletons of a name; none for one without letters and digits."""
    seen = unicodedata.normalize("NFKC", INVISIBLE.sub("", name))
    plain = INVISIBLE.sub("", "".join(map(_read_capital, seen)))
    return {_find_skeleton(each) for each in (plain, plain.lower(), plain.upper())} - {""}


def _read_capital(character: str) -> str:
    """The capital that a small capital, or one in a circle or square, is drawn as."""
    drawn = DRAWN_CAPITAL.fullmatch(unicodedata.name(character, ""))
    return drawn[1] if drawn else character


def _find_skeleton(text: str) -> str:
    words = [_map(word) if any(map(str.isalpha, word)) else word for word in text.split()]
    kept = [character for word in words for character in word if _is_kept(character)]
    return "".join(kept)[:MAX_SKELETON]


def _map(word: str) -> str:
    """Replace each character of a word by the one that it looks like. A number imitates no word."""
    mapped = unicodedata.normalize("NFD", word).translate(_read_table())
    bare, is_latin = "", False
    for character in unicodedata.normalize("NFD", mapped):
        if not unicodedata.category(character).startswith("M"):
            is_latin = unicodedata.name(character, "").startswith("LATIN")
        elif is_latin:  # an accent
            continue
        bare += character
    return unicodedata.normalize("NFC", bare)


def _is_kept(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


@cache
def _read_table() -> dict[int, str]:
    table: dict[str, str] = json.loads(TABLE.read_text())["confusables"]
    return {ord(each): like for like, others in table.items() for each in others}
