"""webargs' parser, made strict, and flask-smorest's blueprint, which documents each view's errors."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import cache, partial
from typing import Any, NoReturn
from urllib.parse import urlsplit

import flask_smorest
from flask import Request, current_app, g, url_for
from marshmallow import Schema, ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from marketplace import errors
from marketplace.api.errors import REFUSALS
from marketplace.api.paging import require_room_for_link
from marketplace.errors import BODIES, PARAMETERS, QUERIES, MarketplaceError, answered_by

NEARLY = 0.8  # how similar an unknown name must be to a known one: sorted and sort
SHORT = 900  # bytes of a query: with each escaped, a link fits
MOST_COMPARED = 20  # names: a body may have thousands


class RequestParser(FlaskParser):
    """The parser of all our blueprints: JSON of RFC 8259 alone, and no name that is nearly a known one."""

    def use_args(self, argmap: Any, *args: Any, **kwargs: Any) -> Any:
        """Do what webargs does, but make the schema once, not for each request."""
        return super().use_args(argmap() if isinstance(argmap, type) else argmap, *args, **kwargs)

    def load_json(self, req: Request, schema: Schema) -> Any:
        """Parse a JSON body: declared as JSON, strictly RFC 8259. No body causes a 500."""
        if not req.is_json:
            raise errors.ContentTypeNotJson(req.content_type)
        try:
            content = _read_whole(req)
            return json.loads(content, parse_constant=_refuse_constant, parse_int=_read_integer)
        except RecursionError:
            raise BadRequest("The body is not JSON: it is nested too deeply") from None
        except ValueError as error:
            raise BadRequest(f"The body is not JSON: {error}") from None

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        """The query's parameters. The known ones are also in ``g.query``, for the link to the next page."""
        try:
            given = super().load_querystring(req, schema)
        except UnicodeDecodeError:
            raise BadRequest("The query is not UTF-8") from None
        known = _names_of(schema)
        g.query = {name: given[name] for name in given if name in known}
        if len(req.query_string) > SHORT and not known.isdisjoint(("page", "after")):
            require_room_for_link()
        return given

    def pre_load(self, location_data: Any, *, schema: Schema, req: Request, location: str) -> Any:
        """Refuse an unknown name that is similar to a known one which is missing. Checks 20 unknown names."""
        if location != "path" and isinstance(location_data, Mapping):
            kind = "parameter" if location == "query" else "field"
            for name, hint in _find_unknown(location_data.keys(), schema):
                raise ValidationError({name: [f"is no {kind} here{hint}"]})
        return location_data


@cache
def _names_of(schema: Schema) -> set[str]:
    return {field.data_key or name for name, field in schema.fields.items()}


def _find_unknown(given: Collection[str], schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield unknown names that are similar to a missing known one, each with a hint."""
    known, instead = _names_of(schema), getattr(schema, "instead", {})
    others = [name for name in given if name not in known][:MOST_COMPARED]
    plain = {name.lower(): name for name in known if name not in given} if others else {}
    for name in others:
        near = get_close_matches(name.lower().replace("_", ""), plain, 1, NEARLY)
        if name in instead:
            yield name, f": use {instead[name]}"
        elif near:
            yield name, f": did you mean {plain[near[0]]}?"


def _read_whole(req: Request) -> bytes:
    """Read the body. Werkzeug cuts a chunked one, without a length, at the maximum: it is too large."""
    try:
        content = req.get_data()
    except HTTPException:
        raise
    except Exception as error:  # each server raises errors of its own
        raise BadRequest("The body cannot be read: its chunked encoding is damaged") from error
    if req.content_length is None and len(content) >= (req.max_content_length or 0):
        raise RequestEntityTooLarge
    return content


def _read_integer(digits: str) -> int | str:
    """Parse an integer. One with 100 digits or more stays text, which every field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


View = Callable[..., Any]
Decorator = Callable[[View], View]

# By the part of a request: which errors refuse it while it is read.
OF_LOCATIONS = {"path": (PARAMETERS,), "query": (PARAMETERS, QUERIES), "json": (PARAMETERS, BODIES)}


class Blueprint(flask_smorest.Blueprint):
    ARGUMENTS_PARSER = RequestParser()

    def arguments(
        self, schema: type[Schema] | Schema, *, location: str = "json", **options: Any
    ) -> Decorator:
        """Load parameters or a body, and pass each value by the name of its field: as_kwargs of webargs."""
        load: Decorator = super().arguments(schema, location=location, as_kwargs=True, **options)
        refuse = self.refuses(*answered_by(*OF_LOCATIONS[location]))
        return lambda view: load(refuse(view))

    def register_views_in_doc(self, api: Any, *of_application: Any, **options: Any) -> None:
        """Leave it to the Api when the views are documented."""
        api.later.append(partial(super().register_views_in_doc, api, *of_application, **options))

    @staticmethod
    def refuses(*kinds: type[MarketplaceError]) -> Decorator:
        """Document errors of the view. The OpenAPI document groups them by status."""
        documented: Decorator = flask_smorest.Blueprint.doc(
            **{REFUSALS: {kind.word(): kind for kind in kinds}}
        )
        return documented


def public_url_for(endpoint: str, **values: Any) -> str:
    """The address of a view at PUBLIC_URL. A request's own Host may lack the port, or be a stranger's."""
    public = urlsplit(current_app.config["PUBLIC_URL"])
    return f"{public.scheme}://{public.netloc}{url_for(endpoint, **values)}"
