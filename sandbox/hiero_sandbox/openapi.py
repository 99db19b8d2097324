"""The OpenAPI document of what api.py answers. A host adds its own addresses to it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

from hiero_sandbox import __version__

DOCUMENT = Path(__file__).with_name("openapi.json")


@cache
def document() -> dict[str, Any]:
    """The document, without its server. Not to be changed."""
    read: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return read | {"info": read["info"] | {"version": __version__}}
