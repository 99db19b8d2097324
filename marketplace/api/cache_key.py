"""The key of a cached response: all of a request that its response may depend on.

Parameters that the route does not know are no part of it: otherwise ``?x=1``, ``?x=2`` would be made anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode
from wsgiref.types import WSGIEnvironment

from flask import Flask

from marketplace.api.blueprint import find_unknown
from marketplace.api.request_metrics import shown_rule

MAX_LENGTH = 1000  # characters: a longer URL is hardly requested twice
QUERIES_KEPT = 1000

Key = tuple[str, str, str, str, str]


class Route(NamedTuple):
    match: Callable[[str], re.Match[str] | None]
    names: Mapping[str, bool]  # of its parameters, and whether each may be given several times


class CacheKeys:
    """Makes the keys of an application's requests."""

    def __init__(self, app: Flask) -> None:
        self._routes = list(_find_routes(app))
        self._known_query = lru_cache(QUERIES_KEPT)(self._find_known_query)

    def make(self, path: str, environ: WSGIEnvironment) -> Key:
        get = environ.get
        query, prefer = get("QUERY_STRING", ""), get("HTTP_PREFER", "")
        if query and not prefer and len(query) <= MAX_LENGTH:
            query = self._known_query(path, query)
        return path, query, get("SCRIPT_NAME", ""), get("HTTP_ORIGIN", ""), prefer

    def _find_known_query(self, path: str, query: str) -> str:
        """The parameters that the path's route reads. All of the query, if it is to be refused."""
        names = next((route.names for route in self._routes if route.match(path)), {})
        try:
            pairs = parse_qsl(query, keep_blank_values=True, errors="strict")
        except ValueError:
            return query
        # The first value of each, in the order in which the view sees them.
        given: dict[str, str] = {}
        for name, value in pairs:
            given.setdefault(name, value)
        if any(near for _, near in find_unknown(given, names)):
            return query
        return urlencode(
            [
                (name, value)
                for name, value in pairs
                if name in names and (names[name] or value is given[name])
            ]
        )


def _find_routes(app: Flask) -> Iterator[Route]:
    for rule in app.url_map.iter_rules():
        if "GET" in (rule.methods or ()):
            address = re.sub(r"<(\w+)>", "[!-.0-~]+", re.escape(shown_rule(rule.rule)))
            names = getattr(app.view_functions[rule.endpoint], "query_names", {})
            yield Route(re.compile(address).fullmatch, names)
