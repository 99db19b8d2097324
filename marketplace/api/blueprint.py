"""flask-smorest's blueprint, made strict: JSON bodies, validated paths, one error shape."""

import json
from collections.abc import Callable
from functools import update_wrapper, wraps
from typing import Any, NoReturn

import flask_smorest
from flask import Request, Response, request
from marshmallow import Schema, ValidationError
from marshmallow.fields import List
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from marketplace import errors
from marketplace.api import error_handlers, row_json
from marketplace.api.response_schemas import ApiErrorSchema
from marketplace.services import services

View = Callable[..., Any]
Decorator = Callable[[View], View]


class Parser(FlaskParser):
    """Reads a JSON body strictly: declared as JSON, RFC 8259 JSON, and never a 500."""

    def load_json(self, req: Request, schema: Schema) -> Any:
        if not req.is_json:
            raise errors.ContentTypeNotJson(req.content_type)
        try:
            return json.loads(
                _read_whole(req), parse_constant=_refuse_constant, parse_int=_read_integer
            )
        except RecursionError:
            raise errors.RequestNotJson("it is nested too deeply") from None
        except ValueError as error:
            raise errors.RequestNotJson(str(error)) from None

    def load_querystring(self, req: Request, schema: Schema) -> Any:
        try:
            return super().load_querystring(req, schema)
        except UnicodeDecodeError:
            raise BadRequest("The query is not UTF-8") from None


def _read_whole(req: Request) -> bytes:
    """Read the body. Werkzeug cuts one without a length (chunked) at the maximum: that one is too large."""
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
    """The number. One that is far too long for any field stays text, which the field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")


def _document_only(decorate: Decorator) -> Decorator:
    """Keep what a decorator documents, on the view itself, without a layer that each call goes through."""

    def decorator(view: View) -> View:
        update_wrapper(view, decorate(view), assigned=())
        del view.__wrapped__  # type: ignore[attr-defined]  # it leads back to the view
        return view

    return decorator


class Blueprint(flask_smorest.Blueprint):
    ARGUMENTS_PARSER = Parser()

    def add_url_rule(
        self,
        rule: str,
        endpoint: str | None = None,
        view_func: View | None = None,
        *arguments: Any,
        **options: Any,
    ) -> None:
        """Name the operation after its view: that is what generated clients call it."""
        assert view_func is not None  # noqa: S101
        view = self.doc(operationId=view_func.__name__)(view_func)
        super().add_url_rule(rule, endpoint, view, *arguments, **options)

    @staticmethod
    def doc(**documentation: Any) -> Decorator:
        return _document_only(flask_smorest.Blueprint.doc(**documentation))

    def alt_response(self, *args: Any, **documentation: Any) -> Decorator:
        return _document_only(super().alt_response(*args, **documentation))

    def arguments(self, *arguments: Any, **options: Any) -> Decorator:
        """Validate what a request sends; the error names each wrong field."""
        validate = super().arguments(*arguments, **options)
        document = self.doc(responses={422: "FieldInvalid"})
        return lambda view: document(validate(view))

    def path(self, schema_class: type[Schema]) -> Decorator:
        """Validate the path's own parameters, and pass them on by inside name."""
        schema = schema_class()
        document = _document_only(self.arguments(schema, location="path"))
        # One by one takes half the time of schema.load(), which collects all errors.
        parameters = [(n, f.data_key or n, f.deserialize) for n, f in schema.fields.items()]

        def decorator(view: View) -> View:
            @wraps(view)
            def with_inside_names(**raw: str) -> Any:
                try:
                    path = {name: load(raw[key]) for name, key, load in parameters}
                except ValidationError:
                    wrong = ValidationError({"path": schema.validate(raw)})
                    self.ARGUMENTS_PARSER.handle_error(
                        wrong, request, schema, error_status_code=None, error_headers=None
                    )
                return view(**path)

            return document(with_inside_names)

        return decorator

    def query(self, schema_class: type[Schema]) -> Decorator:
        """Validate the query's parameters, and pass them on by inside name."""
        schema = schema_class()
        validate = super().arguments(schema, location="query", as_kwargs=True)
        fields = {field.data_key or name: (name, field) for name, field in schema.fields.items()}
        defaults = {name: field.load_default for name, field in fields.values()}
        agree = getattr(schema, "require_agreement", lambda query: None)
        gather = getattr(schema, "gather", dict)

        def read() -> Any:
            """Read field by field, in half the time of schema.load(), which collects all errors."""
            arguments = request.args
            given = {
                name: field.deserialize(
                    arguments.getlist(key) if isinstance(field, List) else arguments.get(key)
                )
                for key, (name, field) in fields.items()
                if key in arguments or field.required
            }
            query = defaults | given
            agree(query)
            return gather(query)

        def decorator(view: View) -> View:
            with_all_errors = validate(view)

            @wraps(with_all_errors)
            def with_inside_names(**path: Any) -> Any:
                try:
                    query = read()
                except (ValidationError, UnicodeDecodeError):
                    return with_all_errors(**path)
                return view(**path, **query)

            return with_inside_names

        return decorator

    def body(self, schema_class: type[Schema]) -> Decorator:
        """Validate the JSON body, and pass its fields on by inside name.

        The document's example has only the required fields.
        """
        schema = schema_class()
        example = {
            f.data_key or n: f.metadata["example"] for n, f in schema.fields.items() if f.required
        }
        validate = self.arguments(schema, as_kwargs=True, example=example)
        document = self.doc(
            responses={
                400: "RequestNotJson",
                413: "RequestTooLarge",
                415: "ContentTypeNotJson",
                502: "LedgerAnswerInvalid",
                503: "Unavailable",
            }
        )
        return lambda view: document(validate(view))

    def rows(self, schema: Schema, *, shown: Any = None, **documentation: Any) -> Decorator:
        """Answer with rows, encoded as the schema says: one, a list, or an iterator of lists.

        The view returns them alone, or with a dict of headers. ``shown`` documents them instead.
        """
        document = _document_only(self.response(200, shown or schema, **documentation))
        others = self.doc(responses={304: "NotModified", 503: "Unavailable"})
        answer = row_json.answer_many if schema.many else row_json.answer_one

        def decorator(view: View) -> View:
            @wraps(view)
            def encoded(*args: Any, **kwargs: Any) -> Response:
                returned = view(*args, **kwargs)
                rows, headers = returned if isinstance(returned, tuple) else (returned, {})
                return answer(services().encoders[type(schema)], rows, headers)

            return others(document(encoded))

        return decorator

    def refuses(self, status: int, description: str) -> Decorator:
        """Document an error of a view."""
        return self.alt_response(
            status,
            schema=ApiErrorSchema,
            description=description,
            example=error_handlers.body(status, description),
        )
