"""Values in environment files, written so that sh, systemd, Docker and this service read the same."""

import re

PLAIN = re.compile(r"[A-Za-z0-9_@%+=:,./*?-]*")
QUOTED = re.compile(r"""'([^']*)'|"((?:[^"\\]|\\.)*)\"""")
SPECIAL = re.compile(r'(["$`\\])')  # in double quotes
ESCAPED = re.compile(r'\\(["$`\\])')


def quote(value: str) -> str:
    """A value as it is written in a file: in double quotes, if it needs them."""
    if PLAIN.fullmatch(value):
        return value
    return '"' + SPECIAL.sub(r"\\\1", value) + '"'


def unquote(value: str) -> str:
    """The value itself: Docker's --env-file leaves the quotes in it."""
    match = QUOTED.fullmatch(value)
    if match is None:
        return value
    return match[1] if match[2] is None else ESCAPED.sub(r"\1", match[2])
