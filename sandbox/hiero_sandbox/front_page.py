"""What hiero-sandbox says of itself: the page at /, and the OpenAPI document of its own addresses."""

from typing import Any

from flask import Blueprint, current_app, render_template_string

from hiero_sandbox import __version__, control, openapi

# What each address of control.py takes.
EXAMPLES: dict[str, dict[str, Any]] = {
    "/clock": {"seconds": 86400},
    "/delay": {"seconds": 5},
    "/drop": {"snapshot": 1},
    "/fault": {"fault": "NODE_BUSY", "requests": 1},
    "/faucet": {"accountId": "0.0.1002", "amount": 100_000_000},
    "/lag": {"seconds": 5},
    "/restore": {"snapshot": 1},
    "/sign": {"accountId": "0.0.1002", "transaction": "CqcBKqQB..."},
}
TYPES = {int: "integer", str: "string"}
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>hiero-sandbox {{ version }}</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; margin: 2rem; } td { padding-right: 2rem; }</style>
<h1>hiero-sandbox {{ version }}</h1>
<p>A small Hedera on this machine. Its keys are public: they protect nothing.
<table>
{% for name, place in places.items() %}<tr><td>{{ name }}<td><code>{{ place }}</code>
{% endfor %}</table>
<h2>Controls</h2>
<p><a href="openapi.json">OpenAPI document</a>
<table>
{% for path, item in paths.items() %}{% for method, operation in item.items() %}<tr><td><code>\
{{ method.upper() }} {{ path }}</code><td>{{ operation.summary }}
{% endfor %}{% endfor %}</table>
<h2>Accounts</h2>
<table>
{% for each in accounts %}<tr><td>{{ each.accountId }}<td>{{ each.keyType }}<td><code>\
{{ each.privateKey }}</code>
{% endfor %}</table>
"""

blp = Blueprint("front_page", __name__)


@blp.get("/")
def show_page() -> str:
    """Show a page: the version, the addresses, the controls, and the keys."""
    url = current_app.config["PUBLIC_URL"]
    places = {"Mirror node": f"{url}/api/v1"} | current_app.config.get("PLACES", {})
    return render_template_string(
        PAGE,
        version=__version__,
        places=places,
        paths=show_openapi()["paths"],
        accounts=control.list_known_accounts()["accounts"],
    )


@blp.get("/openapi.json")
def show_openapi() -> dict[str, Any]:
    """Show the OpenAPI document of these addresses."""
    document = openapi.document()
    paths = {path: dict(item) for path, item in document["paths"].items()}
    for rule in current_app.url_map.iter_rules():
        if rule.endpoint.startswith(("control.", "front_page.")):
            for method in sorted((rule.methods or set()) - {"HEAD", "OPTIONS"}):
                paths.setdefault(rule.rule, {})[method.lower()] = _describe(rule.endpoint, method)
    return document | {
        "servers": [{"url": current_app.config["PUBLIC_URL"]}],
        "paths": dict(sorted(paths.items())),
    }


def _describe(endpoint: str, method: str) -> dict[str, Any]:
    """An operation in OpenAPI's words, from the docstring of its function."""
    summary, _, description = (current_app.view_functions[endpoint].__doc__ or "").partition("\n")
    operation: dict[str, Any] = {
        "summary": summary.strip().removesuffix("."),
        "description": " ".join(description.split()),
        "operationId": endpoint.partition(".")[2],
        "tags": ["Sandbox"],
        "responses": {"200": {"description": "Done"}},
    }
    [path] = {rule.rule for rule in current_app.url_map.iter_rules(endpoint)}
    example = EXAMPLES.get(path) if method == "POST" else None
    if example:
        properties = {name: {"type": TYPES[type(value)]} for name, value in example.items()}
        schema = {"type": "object", "properties": properties}
        content = {"application/json": {"schema": schema, "example": example}}
        operation["requestBody"] = {"required": True, "content": content}
        refusal = {"$ref": "#/components/responses/FieldInvalid"}
        operation["responses"] |= {"422": refusal}
    return operation
