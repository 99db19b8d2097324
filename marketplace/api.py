"""flask-smorest, bent to our contract: strict bodies, validated paths, one error shape, one document."""

import json
from functools import wraps

import flask_smorest
from apispec.ext.marshmallow import MarshmallowPlugin, resolver
from flask import Flask, current_app, request
from flask_smorest.utils import unpack_tuple_response
from marshmallow import ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.routing import MapAdapter
from werkzeug.wsgi import get_path_info

from marketplace import errors, wire
from marketplace.schemas import ErrorSchema, RequestSchema

# What any request with a token, or with a body, may be answered with, by the response's name.
SHARED_RESPONSES = {
    "NotAuthenticated": (401, "No access token, or one that is unknown, expired or revoked"),
    "ScopeMissing": (403, "The access token lacks the scope: read for GET, write for POST"),
    "RequestNotJson": (400, "The body is not JSON"),
    "RequestTooLarge": (413, "The body is too large"),
    "ContentTypeNotJson": (415, "The body is not declared as application/json"),
    "LedgerAnswerInvalid": (502, "The ledger's answer made no sense"),
    "Unavailable": (503, "The ledger or the database did not answer; nothing was changed"),
}
HEADERS = {
    401: {"WWW-Authenticate": {"description": "RFC 6750", "schema": {"type": "string"}}},
    403: {"WWW-Authenticate": {"description": "RFC 6750", "schema": {"type": "string"}}},
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


def _read_whole(req):
    """The body. One without a length (chunked) is cut at the maximum, and that is told by its size."""
    content = req.get_data()
    if req.content_length is None and len(content) >= req.max_content_length:
        raise RequestEntityTooLarge
    return content


def _read_integer(digits):
    """The number; what is far too long for any field stays text, which the field refuses."""
    return int(digits) if len(digits) < 100 else digits


def _refuse_constant(name):
    raise ValueError(f"{name} is not a JSON number")


def _only_documenting(decorate):
    """Take a decorator's documentation, and leave out the call it would add to every request."""

    def decorator(view):
        view._apidoc = decorate(view)._apidoc
        return view

    return decorator


class Blueprint(flask_smorest.Blueprint):
    ARGUMENTS_PARSER = Parser()

    @staticmethod
    def doc(**documentation):
        return _only_documenting(flask_smorest.Blueprint.doc(**documentation))

    def alt_response(self, *args, **documentation):
        return _only_documenting(super().alt_response(*args, **documentation))

    def path(self, schema):
        """Validate the path's own parameters, after authentication, and pass them on by inside name."""
        schema = schema()
        document = super().arguments(schema, location="path")
        # One by one: half of what schema.load() costs, which is for telling all that is wrong.
        parameters = [(n, f.data_key or n, f.deserialize) for n, f in schema.fields.items()]

        def decorator(view):
            @wraps(view)
            def with_inside_names(**raw):
                try:
                    path = {name: load(raw[key]) for name, key, load in parameters}
                except ValidationError:
                    self.ARGUMENTS_PARSER.handle_error(
                        ValidationError({"path": schema.validate(raw)}),
                        request,
                        schema,
                        error_status_code=None,
                        error_headers=None,
                    )
                return view(**path)

            with_inside_names._apidoc = document(view)._apidoc
            return with_inside_names

        return decorator

    def query(self, schema):
        """Validate the query's parameters, and pass them on by inside name."""
        return super().arguments(schema(), location="query", as_kwargs=True)

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

    def records(self, schema, **documentation):
        """Answer with rows, written as the schema says: one, a list, or a list that is still being read."""
        document = _only_documenting(self.response(200, schema, **documentation))
        not_modified = self.doc(responses={304: "NotModified"})

        def decorator(view):
            @wraps(view)
            def encoded(*args, **kwargs):
                rows, _, headers = unpack_tuple_response(view(*args, **kwargs))
                encode = current_app.extensions["encoders"][type(schema)]
                answer = wire.answer_many if schema.many else wire.answer_one
                response = answer(encode, rows)
                if headers:
                    response.headers.extend(headers)
                return response

            return not_modified(document(encoded))

        return decorator

    def refuses(self, status, description):
        """Document an error of a view, in the one shape."""
        return self.alt_response(
            status,
            schema=ErrorSchema,
            description=description,
            example=errors.body(status, description),
        )

    def _store_endpoint_docs(self, endpoint, obj, *args, **options):
        """Name the operation after its view: that is what generated clients call it."""
        super()._store_endpoint_docs(endpoint, obj, *args, **options)
        for name, operation in self._docs[endpoint].items():
            if name != "parameters":
                operation.setdefault("manual_doc", {})["operationId"] = endpoint


def _name_schema(schema):
    """Name a schema in the document: Nft, Error; AddRequest, as clients make a class of it."""
    name = resolver(schema)
    is_request = issubclass(schema if isinstance(schema, type) else type(schema), RequestSchema)
    return f"{name}Request" if is_request else name


class Service(Flask):
    """Flask, whose routes depend on the path and the method alone."""

    def create_url_adapter(self, request):
        # What Flask does, without its look at hosts and subdomains: a twentieth of a request.
        if request is None:
            return super().create_url_adapter(request)
        return MapAdapter(
            self.url_map,
            server_name=request.host,
            script_name=request.root_path,
            subdomain="",
            url_scheme=request.scheme,
            path_info=get_path_info(request.environ),
            default_method=request.method,
            query_args=request.query_string.decode("latin-1"),
        )


class Api(flask_smorest.Api):
    ERROR_SCHEMA = ErrorSchema
    DEFAULT_ERROR_RESPONSE_NAME = None  # each operation names its own; the tests see to it

    def __init__(self, app):
        plugin = MarshmallowPlugin(schema_name_resolver=_name_schema)
        super().__init__(app, spec_kwargs={"marshmallow_plugin": plugin})

    def _register_error_handlers(self):
        errors.init_app(self._app)

    def _register_pagination_header(self):
        """Leave flask-smorest's own paging out of the document: ours is in paging."""

    def _register_responses(self):
        super()._register_responses()
        self.spec.components.security_scheme("bearerToken", {"type": "http", "scheme": "bearer"})
        not_modified = {
            "description": "If-None-Match holds the ETag of this answer: nothing has changed"
        }
        self.spec.components.response("NotModified", not_modified, lazy=True)
        for name, (status, description) in SHARED_RESPONSES.items():
            content = {"schema": ErrorSchema, "example": errors.body(status, description)}
            response = {
                "description": description,
                "headers": HEADERS.get(status, {}),
                "content": {"application/json": content},
            }
            self.spec.components.response(name, response, lazy=True)

    def _openapi_json(self):
        document = self.spec.to_dict() | {"servers": [{"url": request.script_root or "/"}]}
        for path in document["paths"].values():
            path.pop("parameters", None)  # what Flask knows of them; each operation tells it better
        return current_app.json.response(document)
