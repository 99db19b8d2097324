"""The OpenAPI document, and llms.txt."""

import threading
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

import flask_smorest
from apispec import APISpec, BasePlugin
from apispec.ext.marshmallow import MarshmallowPlugin, resolver
from flask import Flask, Response, current_app, jsonify, request
from flask_smorest.utils import resolve_schema_instance
from werkzeug.routing import Rule

from marketplace.api import cache, errors
from marketplace.api.errors import ApiErrorSchema, document_refusals, list_reasons
from marketplace.api.events import WebhookMessageSchema
from marketplace.api.fields import WalletName
from marketplace.api.schemas import NftsSchema, RequestSchema
from marketplace.version import __version__

HEADERS = {
    "webhook-id": "The event's ID, the same in each attempt",
    "webhook-timestamp": "The time of this attempt, in Unix seconds",
    "webhook-signature": "The signature of Standard Webhooks 1.0: `v1,` and the HMAC-SHA256 in base64",
}
HEADER = {"in": "header", "required": True, "schema": {"type": "string"}}
CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookMessage"}}}
TAG = {"name": "Webhooks", "description": "Messages that the service posts to your server"}
EVENT: dict[str, Any] = {
    # Generators make a class of each tag: a tag that a path has, too, would lose the path's operations.
    "operationId": "receive_event",
    "summary": "Receive an event",
    "description": "The watcher posts the events in order, each at least once. If it gets no 2xx within 5 s,"
    " it posts the event again, at growing intervals, for three days.",
    "tags": [TAG["name"]],
    "security": [],
    "parameters": [HEADER | {"name": name, "description": text} for name, text in HEADERS.items()],
    "requestBody": {"required": True, "content": CONTENT},
    "responses": {
        "204": {"description": "Accepted: the event is not posted again"},
        "410": {"description": "Stop: post nothing more"},
    },
}


Json = dict[str, Any]


def make_llms_txt(document: Json, prefix: str) -> str:
    """Write a paragraph about the service, then each operation's link, parameters and description."""
    info, [server] = document["info"], document["servers"]
    url = server["url"]
    introduction = info["description"].partition("\n## ")[0].strip()  # without the table of errors
    summary, *others = [" ".join(part.split()) for part in introduction.split("\n\n")]
    schemes = document["components"].get("securitySchemes", {}).values()
    links = defaultdict(list)
    for path, item in document["paths"].items():
        for method, operation in item.items():
            links[operation["tags"][0]].append(_make_link(url, method.upper(), path, operation))
    blocks = [
        f"# {info['title']}",
        f"> {summary}",
        *others,
        *(each["description"] for each in schemes),
        "## Documents",
        f"- [OpenAPI document]({url}{prefix}/openapi.json): all fields, bounds, errors and examples",
    ]
    for tag, lines in links.items():
        blocks += [f"## {tag}", "\n".join(lines)]
    return "\n\n".join(blocks) + "\n"


def _make_link(server: str, method: str, path: str, operation: Json) -> str:
    names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    if "requestBody" in operation:
        names += operation["requestBody"]["content"]["application/json"]["example"]
    takes = f" with {', '.join(names)}" if names else ""
    description = " ".join(operation["description"].split())
    return f"- [{operation['summary']}]({server}{path}): `{method} {path}`{takes}. {description}"


# Not 3.0, which cannot describe "an object or null" without loosening the object.
OPENAPI_VERSION = "3.1.0"
LICENSE = {"name": "MIT", "identifier": "MIT"}
BEARER_TOKEN = {
    "type": "http",
    "scheme": "bearer",
    "description": "An access token, created with `flask token create`. The sandbox's token is in the file"
    " `sandbox-token` of `DATA_DIR`, and the API reference fills it in.",
}
# The pages that show the document have tags in their order: the errors come after all operations.
ERRORS_TAG = "Errors"
REASONS = """In your code, check an error's `reason`. This list names calls without `/v1` and parameters.

{}
"""
REASON = "- **{0.reason}**, {0.status}. For users: {0.tell}.<br>Retry: {0.again}. Calls: {0.calls}"
NOT_MODIFIED = "Nothing has changed since the ETag in If-None-Match"


def find_reasons(document: dict[str, Any]) -> dict[str, set[str]]:
    """The reasons of each operation's errors."""
    of_response = {
        f"#/components/responses/{name}": {
            reason
            for media_type in response.get("content", {}).values()
            for reason in media_type["examples"]
        }
        for name, response in document["components"]["responses"].items()
    }
    return {
        f"{method.upper()} {path}": set().union(
            *(of_response.get(each.get("$ref"), ()) for each in operation["responses"].values())
        )
        for path, item in document["paths"].items()
        for method, operation in item.items()
    }


def _name_schema(schema: Any) -> str:
    """Name a schema in the document: Nft, ApiError; AddNftRequest, as clients make a class of it."""
    kind = schema if isinstance(schema, type) else type(schema)
    return f"{resolver(schema)}{'Request' if issubclass(kind, RequestSchema) else ''}"


class Operations(BasePlugin):
    """Completes each operation: its id, the forms of its body with an example, and its errors."""

    def __init__(self, schemas: MarshmallowPlugin) -> None:
        self._schemas = schemas

    def init_spec(self, spec: APISpec) -> None:
        self._spec = spec

    def path_helper(
        self,
        path: str | None = None,
        operations: dict[str, Any] | None = None,
        parameters: list[dict[str, Any]] | None = None,
        **of_smorest: Any,
    ) -> None:
        """apispec calls this for each path, before it replaces schemas by references."""
        rule: Rule = of_smorest["rule"]
        for operation in (operations or {}).values():
            # Generated clients call it by the view's name.
            operation["operationId"] = rule.endpoint.rpartition(".")[2]
            if "requestBody" in operation:
                content = operation["requestBody"]["content"]["application/json"]
                schema = resolve_schema_instance(content["schema"])
                if isinstance(schema, NftsSchema):
                    content |= self._describe_forms(schema)
                else:
                    content["example"] = {
                        str(field.data_key): field.metadata["example"]
                        for field in schema.fields.values()
                        if field.required
                    }
            document_refusals(self._spec, operation)

    def _describe_forms(self, schema: NftsSchema) -> dict[str, Any]:
        """Define a schema for each form of a body. The example has the required fields of the first."""
        convert = self._schemas.converter
        assert convert is not None  # noqa: S101
        of_forms = set().union(*(form.fields for form in schema.forms))
        forms: list[dict[str, str]] = []
        examples: list[dict[str, Any]] = []
        for form in schema.forms:
            kept = [name for name in schema.fields if name in form.fields or name not in of_forms]
            fields = type(schema)(only=kept).fields
            needed = {form.chosen_by, *form.required}
            required = {
                str(field.data_key): field.metadata["example"]
                for name, field in fields.items()
                if field.required or name in needed
            }
            described = convert.fields2jsonschema(fields)  # type: ignore[no-untyped-call]
            name = f"{form.name}Request"
            self._spec.components.schema(name, described | {"required": sorted(required)})
            forms.append({"$ref": f"#/components/schemas/{name}"})
            examples.append(required)
        return {"schema": {"oneOf": forms}, "example": examples[0]}


class Api(flask_smorest.Api):
    """flask-smorest's Api, with its document at ``{prefix}/openapi.json``, and with our errors.

    The operations are documented on the first request for the document: few processes ever get one, and all
    would start later.
    """

    # A class would be instantiated for each status.
    ERROR_SCHEMA = {"$ref": "#/components/schemas/ApiError"}
    DEFAULT_ERROR_RESPONSE_NAME = None  # each operation names its own, which a test checks

    def __init__(self, app: Flask, title: str, description: str, *, prefix: str) -> None:
        self.public_url, self.prefix = app.config["PUBLIC_URL"], prefix
        self.later: list[Callable[[], None]] = []  # document the operations
        self._making = threading.Lock()
        self._made: dict[str, Any] = {}
        schemas = MarshmallowPlugin(schema_name_resolver=_name_schema)
        contact = {"name": title, "url": self.public_url}
        options = {
            "title": title,
            "version": __version__,
            "openapi_version": OPENAPI_VERSION,
            "info": {"description": description, "contact": contact, "license": LICENSE},
            "marshmallow_plugin": schemas,
            "extra_plugins": [Operations(schemas)],
            "security": [],  # each operation that needs a token says so itself
        }
        super().__init__(app, spec_kwargs=options)
        app.cli.commands.pop("openapi")  # it would print a document without operations
        assert schemas.converter is not None  # noqa: S101
        schemas.converter.add_attribute_function(_name_wallets)  # type: ignore[no-untyped-call]
        errors.init_app(app)
        app.add_url_rule(f"{prefix}/openapi.json", "openapi_json", self.send)
        app.add_url_rule(f"{prefix}/llms.txt", "llms_txt", self.show_llms_txt)

    def send(self) -> Response:
        """Answer the document, compressed if the client accepts that."""
        response = jsonify(self.show())
        cache.encode(response, request.environ)
        cache.make_conditional(response, request.environ)
        return response

    def show(self) -> dict[str, Any]:
        """The OpenAPI document. Its server is PUBLIC_URL, which should end with the service's WSGI prefix.

        If PUBLIC_URL lacks this prefix, it is added. The request's own Host is not used: a client can
        send any.
        """
        root = request.script_root
        is_named = urlsplit(self.public_url).path.endswith(root)
        url = self.public_url + ("" if is_named else root)
        return self._document() | {"servers": [{"url": url}]}

    def show_llms_txt(self) -> Response:
        """A short form of the document, for language models."""
        return Response(make_llms_txt(self.show(), self.prefix), mimetype="text/plain")

    def _document(self) -> dict[str, Any]:
        """The document without its servers."""
        with self._making:
            self._made = self._made or self._make()
            return self._made

    def _make(self) -> dict[str, Any]:
        components = self.spec.components
        components.security_scheme("bearerToken", BEARER_TOKEN)
        components.schema("ApiError", schema=ApiErrorSchema)
        components.schema("WebhookMessage", schema=WebhookMessageSchema)
        components.response("NotModified", {"description": NOT_MODIFIED}, lazy=True)
        for document_operations in self.later:
            document_operations()
        document: dict[str, Any] = self.spec.to_dict()
        for path in document["paths"].values():
            # Drop Flask's own parameters: each operation describes them better.
            path.pop("parameters", None)
        # We do not use flask-smorest's paging.
        document["components"]["schemas"].pop("PaginationMetadata", None)
        reasons = [REASON.format(each) for each in list_reasons(find_reasons(document))]
        errors = {"name": ERRORS_TAG, "description": REASONS.format("\n".join(reasons))}
        document["tags"] += [TAG, errors]
        return document | {"webhooks": {"event": {"post": EVENT}}}


def _name_wallets(converter: Any, field: Any, **_: Any) -> dict[str, Any]:
    """The attributes of a field that come from the settings: the names of the wallets."""
    if not isinstance(field, WalletName):
        return {}
    wallets = current_app.config["WALLETS"]
    return {"enum": [*wallets], "example": wallets[0]}
