"""flask-smorest, bent to our contract: strict bodies, validated paths, one error shape, one document."""

import json
from functools import wraps

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin, resolver
from flask import Flask, current_app, request
from marshmallow import ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from marketplace import errors
from marketplace.api import refusals, wire
from marketplace.api.schemas import ErrorSchema, RequestSchema

# What any request with a token, or with a body, may be answered with, by the response's name.
SHARED_RESPONSES = {
    "NotAuthenticated": (401, "No access token, or one that is unknown, expired or revoked"),
    "ScopeMissing": (
        403,
        "The access token lacks the scope: read for GET, write for POST, metrics for /metrics",
    ),
    "LimitExceeded": (
        429,
        "Too many writes of the access token or the address, or failures to authenticate: try again later",
    ),
    "RequestNotJson": (400, "The body is not JSON"),
    "RequestTooLarge": (413, "The body is too large"),
    "ContentTypeNotJson": (415, "The body is not declared as application/json"),
    "LedgerAnswerInvalid": (502, "The ledger's answer made no sense"),
    "Unavailable": (503, "The ledger or the database did not answer: try again"),
}
HEADERS = {
    401: {"WWW-Authenticate": {"description": "RFC 6750", "schema": {"type": "string"}}},
    403: {"WWW-Authenticate": {"description": "RFC 6750", "schema": {"type": "string"}}},
    429: {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}},
    503: {"Retry-After": {"description": "Seconds", "schema": {"type": "integer"}}},
}


class Parser(FlaskParser):
    """Reads a JSON body strictly: declared as JSON, RFC 8259 JSON, and never a 500."""

    def load_json(self, req, schema):
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

    def load_querystring(self, req, schema):
        try:
            return super().load_querystring(req, schema)
        except UnicodeDecodeError:
            raise BadRequest("The query is not UTF-8") from None


def _read_whole(req):
    """The body. One without a length (chunked) is cut at the maximum, and that is told by its size."""
    try:
        content = req.get_data()
    except HTTPException:
        raise
    except Exception as error:  # each server has errors of its own for it
        raise errors.BodyMalformed from error
    if req.content_length is None and len(content) >= req.max_content_length:
        raise RequestEntityTooLarge
    return content


def _read_integer(digits):
    """The number; what is far too long for any field stays text, which the field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def _only_documenting(decorate):
    """Take what a decorator says of a view for the document, and leave out the call it would add."""

    def decorator(view):
        said = vars(decorate(view))
        vars(view).update({name: said[name] for name in said if name != "__wrapped__"})
        return view

    return decorator


class Blueprint(flask_smorest.Blueprint):
    ARGUMENTS_PARSER = Parser()

    def add_url_rule(self, rule, endpoint=None, view_func=None, *arguments, **options):
        """Name the operation after its view: that is what generated clients call it."""
        view = self.doc(operationId=view_func.__name__)(view_func)
        super().add_url_rule(rule, endpoint, view, *arguments, **options)

    @staticmethod
    def doc(**documentation):
        return _only_documenting(flask_smorest.Blueprint.doc(**documentation))

    def alt_response(self, *args, **documentation):
        return _only_documenting(super().alt_response(*args, **documentation))

    def path(self, schema):
        """Validate the path's own parameters, and pass them on by inside name."""
        schema = schema()
        document = _only_documenting(super().arguments(schema, location="path"))
        # One by one: half of what schema.load() costs, which is for telling all that is wrong.
        parameters = [(n, f.data_key or n, f.deserialize) for n, f in schema.fields.items()]

        def decorator(view):
            @wraps(view)
            def with_inside_names(**raw):
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

    def query(self, schema):
        """Validate the query's parameters, and pass them on by inside name."""
        schema = schema()
        validate = super().arguments(schema, location="query", as_kwargs=True)
        unasked = schema.load({})

        def decorator(view):
            with_query = validate(view)

            @wraps(with_query)
            def with_inside_names(**path):
                # Nothing asked for is nothing to validate: mostly so, and it would take a tenth of the time.
                if request.query_string:
                    return with_query(**path)
                return view(**path, **unasked)

            return with_inside_names

        return decorator

    def body(self, schema):
        """Validate the JSON body, and pass its fields on by inside name."""
        validate = super().arguments(schema(), as_kwargs=True)
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

    def rows(self, schema, **documentation):
        """Answer with rows, written as the schema says: one, a list, or a list that is still being read.

        The view returns them alone, or with a dict of headers.
        """
        document = _only_documenting(self.response(200, schema, **documentation))
        others = self.doc(responses={304: "NotModified", 503: "Unavailable"})
        answer = wire.answer_many if schema.many else wire.answer_one

        def decorator(view):
            @wraps(view)
            def encoded(*args, **kwargs):
                returned = view(*args, **kwargs)
                rows, headers = returned if isinstance(returned, tuple) else (returned, {})
                response = answer(current_app.extensions["encoders"][type(schema)], rows)
                response.headers.extend(headers)
                return response

            return others(document(encoded))

        return decorator

    def refuses(self, status, description):
        """Document an error of a view, in the one shape."""
        return self.alt_response(
            status,
            schema=ErrorSchema,
            description=description,
            example=refusals.body(status, description),
        )


def _name_schema(schema):
    """Name a schema in the document: Nft, Error; AddRequest, as clients make a class of it."""
    name = resolver(schema)
    is_request = issubclass(schema if isinstance(schema, type) else type(schema), RequestSchema)
    return f"{name}Request" if is_request else name


class Api(flask_smorest.Api):
    """The blueprints of an application, its document at ``{prefix}/openapi.json``, and its errors."""

    ERROR_SCHEMA = ErrorSchema
    DEFAULT_ERROR_RESPONSE_NAME = None  # each operation names its own; the tests see to it

    def __init__(self, app: Flask, prefix: str = "") -> None:
        plugin = MarshmallowPlugin(schema_name_resolver=_name_schema)
        super().__init__(app, spec_kwargs={"marshmallow_plugin": plugin})
        refusals.init_app(app)
        app.add_url_rule(f"{prefix}/openapi.json", "openapi_json", self.show_document)
        components = self.spec.components
        components.security_scheme("bearerToken", {"type": "http", "scheme": "bearer"})
        not_modified = {
            "description": "If-None-Match holds the ETag of this answer: nothing has changed"
        }
        components.response("NotModified", not_modified, lazy=True)
        for name, (status, description) in SHARED_RESPONSES.items():
            content = {"schema": ErrorSchema, "example": refusals.body(status, description)}
            response = {
                "description": description,
                "headers": HEADERS.get(status, {}),
                "content": {"application/json": content},
            }
            components.response(name, response, lazy=True)

    def show_document(self):
        """The OpenAPI document, for where the service is mounted."""
        document = self.spec.to_dict() | {"servers": [{"url": request.script_root or "/"}]}
        for path in document["paths"].values():
            path.pop("parameters", None)  # what Flask knows of them; each operation tells it better
        document["components"]["schemas"].pop("PaginationMetadata", None)  # our paging is another
        return current_app.json.response(document)
