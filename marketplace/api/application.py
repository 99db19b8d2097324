"""The Flask application class."""

import logging
from collections.abc import Callable
from functools import cached_property
from typing import Any, cast

from flask import Flask
from flask.json.provider import DefaultJSONProvider

from marketplace.api.log import make_logger

MAX_BODY_BYTES = 64 * 1024


class Application(Flask):
    """An application whose views are synchronous. It keeps double slashes in URLs and the order of keys."""

    def __init__(self, name: str, **config: Any) -> None:
        super().__init__(name, static_folder=None)
        self.config.update(config, MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
        self.url_map.merge_slashes = False
        cast(DefaultJSONProvider, self.json).sort_keys = False

    @cached_property
    def logger(self) -> logging.Logger:
        """The log, made when it is first used: until then the host may configure logging."""
        return make_logger(self)

    def ensure_sync(self, func: Callable[..., Any]) -> Callable[..., Any]:
        return func  # no view is a coroutine: Flask's check costs a twelfth of a request
