"""Finds words that our plain English avoids: python tests/lint/words.py. ``make lint`` runs it.

Each has a plainer one. Names count as well: ``_`` separates words.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# Hashes of packages; this file, which lists the words; and what is still to be cleaned.
BUNDLES = (
    ":!*/static/market.js",
    ":!*/static/wallet-link.js",
    ":!*/static/wallet-check.js",
)
SKIPPED = (":!*package-lock.json", *BUNDLES, ":!tests/lint/words.py")
# The network's own sentences, which the sandbox repeats.
QUOTED = ("token.id and name can not be used together",)
PLAINER = {
    "anew": "again",
    "can not": "cannot",
    "dearest": "most expensive",
    "he|him|his": "they, them, their",
    "in vain": "failed, without success",
    "nonsense": "invalid, random",
    "so many": "N, a number",
    "told": "reported, shown, recorded",
}
WORDS = re.compile(
    r"(?<![A-Za-z])(?:{})(?![A-Za-z])".format("|".join(PLAINER).replace(" ", "[ _]")), re.IGNORECASE
)


def plainer(word: str) -> str:
    word = word.lower().replace("_", " ")
    return next(better for words, better in PLAINER.items() if word in words.split("|"))


def find() -> list[str]:
    """The lines with such a word, as editors open them."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", *SKIPPED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = []
    for name in filter(None, listed.stdout.split("\0")):
        try:
            lines = (ROOT / name).read_text().splitlines()
        except (UnicodeDecodeError, FileNotFoundError):  # an image; a file that is removed
            continue
        found += [
            f'{name}:{number}: "{match[0]}": {plainer(match[0])}'
            for number, line in enumerate(lines, 1)
            for match in WORDS.finditer(line)
            if not any(quoted in line for quoted in QUOTED)
        ]
    return found


if __name__ == "__main__":
    found = find()
    print(*found, sep="\n", end="\n" if found else "")
    sys.exit(bool(found))
