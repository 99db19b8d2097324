"""flask-smorest's blueprint, bent to our contract: strict bodies, validated paths, one error shape."""

import json
from functools import wraps

import flask_smorest
from flask import request
from marshmallow import ValidationError
from webargs.flaskparser import FlaskParser
from werkzeug.exceptions import BadRequest, HTTPException, RequestEntityTooLarge

from marketplace import errors
from marketplace.api import error_handlers, row_json
from marketplace.api.response_schemas import ApiErrorSchema
from marketplace.services import services


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

    def arguments(self, *arguments, **options):
        """Validate what a request brings; what is wrong with a field is told in the one shape."""
        validate = super().arguments(*arguments, **options)
        document = self.doc(responses={422: "FieldInvalid"})
        return lambda view: document(validate(view))

    def path(self, schema):
        """Validate the path's own parameters, and pass them on by inside name."""
        schema = schema()
        document = _only_documenting(self.arguments(schema, location="path"))
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
        fields = {field.data_key or name: (name, field) for name, field in schema.fields.items()}
        unasked = {name: field.load_default for name, field in fields.values()}
        agree = getattr(schema, "require_agreement", lambda query: None)
        gather = getattr(schema, "gather", dict)

        def read():
            """The query, field by field: half of what schema.load() costs, which tells all that is wrong."""
            asked = {
                name: field.deserialize(request.args[key])
                for key, (name, field) in fields.items()
                if key in request.args
            }
            query = unasked | asked
            agree(query)
            return gather(query)

        def decorator(view):
            telling = validate(view)

            @wraps(telling)
            def with_inside_names(**path):
                try:
                    query = read()
                except (ValidationError, UnicodeDecodeError):
                    return telling(**path)
                return view(**path, **query)

            return with_inside_names

        return decorator

    def body(self, schema):
        """Validate the JSON body, and pass its fields on by inside name.

        The document's example has what is required: the rest may only make sense at some moment.
        """
        schema = schema()
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

    def rows(self, schema, **documentation):
        """Answer with rows, written as the schema says: one, a list, or a list that is still being read.

        The view returns them alone, or with a dict of headers.
        """
        document = _only_documenting(self.response(200, schema, **documentation))
        others = self.doc(responses={304: "NotModified", 503: "Unavailable"})
        answer = row_json.answer_many if schema.many else row_json.answer_one

        def decorator(view):
            @wraps(view)
            def encoded(*args, **kwargs):
                returned = view(*args, **kwargs)
                rows, headers = returned if isinstance(returned, tuple) else (returned, {})
                response = answer(services().encoders[type(schema)], rows)
                response.headers.extend(headers)
                return response

            return others(document(encoded))

        return decorator

    def refuses(self, status, description):
        """Document an error of a view, in the one shape."""
        return self.alt_response(
            status,
            schema=ApiErrorSchema,
            description=description,
            example=error_handlers.body(status, description),
        )
