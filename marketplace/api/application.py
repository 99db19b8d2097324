"""Flask, as all views here need it."""

from collections.abc import Callable
from typing import Any, cast

from flask import Flask, Request, g, request
from flask.json.provider import DefaultJSONProvider

MAX_BODY_BYTES = 64 * 1024


class Application(Flask):
    """An application whose views are plain functions, and whose addresses and JSON are taken as they are."""

    def __init__(self, name: str, **config: Any) -> None:
        super().__init__(name, static_folder=None)
        self.config.update(config, MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
        self.url_map.merge_slashes = False
        cast(DefaultJSONProvider, self.json).sort_keys = False

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func  # no view is a coroutine: looking at each costs a twelfth of a request


def current_request() -> Request:
    """The request that is answered: Flask's, or that of a view which the response cache calls itself."""
    current: Request = g.get("marketplace_request", request)
    return current
