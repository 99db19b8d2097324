"""flask-smorest's blueprint, made strict: JSON bodies, validated paths, one error shape."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import update_wrapper, wraps
from typing import Any, NoReturn

import flask_smorest
from flask import Request, g, request
from marshmallow import Schema, ValidationError, missing
from marshmallow.fields import List
from werkzeug.exceptions import (
    BadRequest,
    HTTPException,
    RequestEntityTooLarge,
    UnprocessableEntity,
)

from marketplace import errors
from marketplace.api.error_responses import REFUSALS, document_refusals
from marketplace.errors import BODIES, PARAMETERS, QUERIES, MarketplaceError, answered_by

NEARLY = 0.8  # how similar an unknown name must be to a known one: sorted and sort
MOST_COMPARED = 20  # names: a body may have thousands

View = Callable[..., Any]
Decorator = Callable[[View], View]


def _read_json(req: Request) -> Any:
    """Parse a JSON body: declared as JSON, strictly RFC 8259. No body causes a 500."""
    if not req.is_json:
        raise errors.ContentTypeNotJson(req.content_type)
    try:
        content = _read_whole(req)
        return json.loads(content, parse_constant=_refuse_constant, parse_int=_read_integer)
    except RecursionError:
        raise errors.RequestNotJson("it is nested too deeply") from None
    except ValueError as error:
        raise errors.RequestNotJson(str(error)) from None


def _read_whole(req: Request) -> bytes:
    """Read the body. Werkzeug cuts a chunked one, without a length, at the maximum: it is too large."""
    try:
        content = req.get_data()
    except HTTPException:
        raise
    except Exception as error:  # each server raises errors of its own
        raise errors.BodyMalformed from error
    if req.content_length is None and len(content) >= (req.max_content_length or 0):
        raise RequestEntityTooLarge
    return content


def _read_integer(digits: str) -> int | str:
    """Parse an integer. One with 100 digits or more stays text, which every field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _refuse(location: str, wrong: Any) -> NoReturn:
    """Answer 422, naming each wrong field."""
    refusal = UnprocessableEntity()
    refusal.data = {"messages": {location: wrong}}  # type: ignore[attr-defined]  # as flask-smorest does
    raise refusal


def find_unknown(
    given: Collection[str], known: Collection[str]
) -> Iterator[tuple[str, str | None]]:
    """Yield the first unknown names, each with a similar known one that is not given, or None."""
    others = [name for name in given if name not in known][:MOST_COMPARED]
    plain = {name.lower(): name for name in known if name not in given}
    for name in others:
        near = get_close_matches(name.lower().replace("_", ""), plain, 1, NEARLY)
        yield name, plain[near[0]] if near else None


def _require_meant(location: str, given: Mapping[str, Any], known: set[str]) -> None:
    """Refuse an unknown name that is similar to a known one which is missing. Checks 20 unknown names.

    With Prefer: handling=strict, refuse every unknown name; with handling=lenient, none.
    """
    prefer = request.headers.get("Prefer", "")
    if "handling=lenient" in prefer:
        return
    kind = "parameter" if location == "query" else "field"
    for name, near in find_unknown(given, known):
        if near or "handling=strict" in prefer:
            meant = f": did you mean {near}?" if near else ""
            _refuse(location, {name: [f"is no {kind} here{meant}"]})


def _compile_load(schema: Schema, location: str) -> Callable[[Any], dict[str, Any]]:
    """Make a function that loads as the schema's own load() does, in half the time."""
    fields = [(field.data_key or name, name, field) for name, field in schema.fields.items()]
    known = {key for key, _, _ in fields}
    defaults = {name: field.load_default for _, name, field in fields}
    defaults = {name: value for name, value in defaults.items() if value is not missing}
    agree = getattr(schema, "require_agreement", lambda loaded: None)

    def load(given: Any) -> dict[str, Any]:
        if not isinstance(given, dict):
            _refuse(location, schema.validate(given))
        if location != "path" and not given.keys() <= known:
            _require_meant(location, given, known)
        try:
            loaded = defaults | {
                name: field.deserialize(given.get(key, missing))
                for key, name, field in fields
                if key in given or field.required
            }
            agree(loaded)
        except ValidationError:
            _refuse(location, schema.validate(given))  # lists all errors, not only the first
        return loaded

    return load


class BodyForm:
    """One of the forms that the body of a request can have."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.load = _compile_load(schema, "json")
        fields = {field.data_key or name: field for name, field in schema.fields.items()}
        self.names = {*fields}
        self.example = {
            name: field.metadata["example"] for name, field in fields.items() if field.required
        }


def _choose_form(forms: Sequence[BodyForm], given: Any) -> BodyForm:
    """Choose the form by the required fields that only one form has. Refuse a mixture of two."""
    chosen: dict[str, BodyForm] = {}
    for form in forms:
        elsewhere = set().union(*(other.names for other in forms if other is not form))
        own = form.example.keys() - elsewhere
        if isinstance(given, dict) and (names := own & given.keys()):
            chosen[min(names)] = form
    if len(chosen) > 1:
        first, *others = chosen
        _refuse("json", {name: [f"must not be given beside {first}"] for name in others})
    return next(iter(chosen.values()), forms[0])


def _read_query(names: Mapping[str, bool]) -> dict[str, Any]:
    """The query's parameters: the first value of each, or all values if the name is that of a list."""
    try:
        given = request.args
    except UnicodeDecodeError:
        raise BadRequest("The query is not UTF-8") from None
    return {key: given.getlist(key) if names.get(key) else given[key] for key in given}


def _document_only(decorate: Decorator) -> Decorator:
    """Put the decorator's documentation on the view itself, without the wrapper: it would slow each call."""

    def decorator(view: View) -> View:
        update_wrapper(view, decorate(view), assigned=())
        del view.__wrapped__  # type: ignore[attr-defined]  # the wrapper, which leads back to the view
        return view

    return decorator


class Blueprint(flask_smorest.Blueprint):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._prepare_doc_cbks.append(document_refusals)

    def response(self, *args: Any, **documentation: Any) -> Decorator:
        """Also name the operation after its view: generated clients use this name."""
        document = super().response(*args, **documentation)
        return lambda view: self.doc(operationId=view.__name__)(document(view))

    @staticmethod
    def doc(**documentation: Any) -> Decorator:
        return _document_only(flask_smorest.Blueprint.doc(**documentation))

    def alt_response(self, *args: Any, **documentation: Any) -> Decorator:
        return _document_only(super().alt_response(*args, **documentation))

    def _takes(
        self,
        document: Decorator,
        load: Callable[[dict[str, Any]], dict[str, Any]],
        refused: Iterable[type[MarketplaceError]],
    ) -> Decorator:
        """Document the parameters or the body, and call the view with the loaded values and the path's."""
        refuse = self.refuses(*refused)

        def decorator(view: View) -> View:
            @wraps(view)
            def with_inside_names(**path: Any) -> Any:
                return view(**load(path))

            return refuse(document(with_inside_names))

        return decorator

    def arguments(self, schema: Schema, **documentation: Any) -> Decorator:
        """Document parameters or a body. flask-smorest's own would also load them."""
        return _document_only(super().arguments(schema, **documentation))

    def path(self, schema_class: type[Schema]) -> Decorator:
        """Validate the path's parameters, and pass them to the view by their inside names."""
        schema = schema_class()
        document = self.arguments(schema, location="path")
        return self._takes(document, _compile_load(schema, "path"), answered_by(PARAMETERS))

    def query(self, schema_class: type[Schema]) -> Decorator:
        """Validate the query's parameters, and pass them to the view by their inside names.

        The view knows these parameters as ``query_names``; of a request, they are in ``g.query``.
        """
        schema = schema_class()
        load = _compile_load(schema, "query")
        names = {
            field.data_key or name: isinstance(field, List) for name, field in schema.fields.items()
        }

        def load_with_query(path: dict[str, Any]) -> dict[str, Any]:
            given = _read_query(names)
            loaded = load(given)
            g.query = {name: value for name, value in given.items() if name in names}
            return path | loaded

        document = self.arguments(schema, location="query")
        decorate = self._takes(document, load_with_query, answered_by(PARAMETERS, QUERIES))

        def decorator(view: View) -> View:
            decorated = decorate(view)
            decorated.query_names = names  # type: ignore[attr-defined]
            return decorated

        return decorator

    def body(self, schema_class: type[Schema], *others: type[Schema]) -> Decorator:
        """Validate the JSON body, and pass its fields to the view by their inside names.

        ``others``: other forms of the body, each with a required field that the others do not know. The
        example in the OpenAPI document has only the required fields of the first form.
        """
        forms = [BodyForm(each()) for each in (schema_class, *others)]

        def load_with_body(path: dict[str, Any]) -> dict[str, Any]:
            given = _read_json(request)
            form = _choose_form(forms, given) if others else forms[0]
            return path | form.load(given)

        document = self.arguments(forms[0].schema, example=forms[0].example)
        if others:
            content = {
                "schema": {"oneOf": [form.schema for form in forms]},
                "example": forms[0].example,
            }
            document = self.doc(
                requestBody={"required": True, "content": {"application/json": content}}
            )
        return self._takes(document, load_with_body, answered_by(PARAMETERS, BODIES))

    @staticmethod
    def refuses(*kinds: type[MarketplaceError]) -> Decorator:
        """Document errors of the view. The OpenAPI document groups them by status."""

        def decorator(view: View) -> View:
            documented = getattr(view, "_apidoc", {})
            known = documented.get(REFUSALS, [])
            view._apidoc = documented | {REFUSALS: [*known, *kinds]}  # type: ignore[attr-defined]
            return view

        return decorator
