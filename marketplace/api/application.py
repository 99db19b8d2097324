"""The Flask application class, and its JSON."""

import logging
from functools import cached_property
from typing import Any

from flask import Flask, Response
from flask.json.provider import DefaultJSONProvider

from marketplace.api.log import make_logger
from marketplace.api.response_cache import finish

MAX_BODY_BYTES = 64 * 1024


class JSONProvider(DefaultJSONProvider):
    """Flask's own, which keeps the order of keys."""

    sort_keys = False


class Application(Flask):
    """An application whose views are synchronous. It keeps double slashes in URLs."""

    json_provider_class = JSONProvider

    def __init__(self, name: str, **config: Any) -> None:
        super().__init__(name, static_folder=None)
        self.config.update(config, MAX_CONTENT_LENGTH=MAX_BODY_BYTES)
        self.url_map.merge_slashes = False

    @cached_property
    def logger(self) -> logging.Logger:
        """The log, made when it is first used: until then the host may configure logging."""
        return make_logger(self)

    def process_response(self, response: Response) -> Response:
        return finish(super().process_response(response))
