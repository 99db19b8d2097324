"""The OpenAPI document in the forms of others: a Postman collection (v2.1), and llms.txt (llmstxt.org)."""

import json
from collections import defaultdict
from typing import Any
from urllib.parse import urlencode

Json = dict[str, Any]

COLLECTION_SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"


def by_tag(document: Json) -> dict[str, list[tuple[str, str, Json]]]:
    """The operations of each tag: method, path, and what the document says."""
    found = defaultdict(list)
    for path, item in document["paths"].items():
        for method, operation in item.items():
            found[operation["tags"][0]].append((method.upper(), path, operation))
    return found


def make_collection(document: Json) -> Json:
    """The Postman collection: every operation, filled in with its examples. Its user sets ``token``."""
    info, [server] = document["info"], document["servers"]
    token = {"key": "token", "value": "{{token}}", "type": "string"}
    return {
        "info": {
            "name": info["title"],
            "description": info["description"],
            "schema": COLLECTION_SCHEMA,
        },
        "auth": {"type": "bearer", "bearer": [token]},
        "variable": [{"key": "url", "value": server["url"]}, {"key": "token", "value": ""}],
        "item": [
            {"name": tag, "item": [_make_item(*each) for each in operations]}
            for tag, operations in by_tag(document).items()
        ],
    }


def _make_item(method: str, path: str, operation: Json) -> Json:
    path = path.replace("{", ":").replace("}", "")
    query = _fill_in(operation, "query")
    sent = urlencode([(each["key"], each["value"]) for each in query if not each["disabled"]])
    request = {
        "method": method,
        "description": operation["description"],
        "url": {
            "raw": f"{{{{url}}}}{path}{sent and '?'}{sent}",
            "host": ["{{url}}"],
            "path": path.strip("/").split("/"),
            "query": query,
            "variable": _fill_in(operation, "path"),
        },
    }
    if "requestBody" in operation:
        example = operation["requestBody"]["content"]["application/json"]["example"]
        request["header"] = [{"key": "Content-Type", "value": "application/json"}]
        request["body"] = {"mode": "raw", "raw": json.dumps(example, indent=2)}
    return {"name": operation["summary"], "request": request}


def _fill_in(operation: Json, place: str) -> list[Json]:
    """The parameters of the path or the query, with their examples: one that may be left out is off."""
    filled = []
    for each in operation.get("parameters", ()):
        if each["in"] == place:
            example = each["schema"].get("example", "")
            shown = {"key": each["name"], "description": each.get("description", "")}
            shown["disabled"] = not each.get("required", False)
            examples = example if isinstance(example, list) else [example]
            filled += [shown | {"value": str(value)} for value in examples]
    return filled


def make_llms_txt(document: Json, prefix: str) -> str:
    """llms.txt: the service in a paragraph, then a link for each operation, with what it takes and does."""
    info, [server] = document["info"], document["servers"]
    summary, *others = [" ".join(part.split()) for part in info["description"].split("\n\n")]
    schemes = document["components"].get("securitySchemes", {}).values()
    url = f"{server['url']}{prefix}"
    documents = [
        f"- [OpenAPI document]({url}/openapi.json): all fields, bounds, errors and examples",
        f"- [Postman collection]({url}/postman.json): every call, filled in",
    ]
    sections = [
        f"## {tag}\n\n" + "\n".join(_make_link(server["url"], *each) for each in operations)
        for tag, operations in by_tag(document).items()
    ]
    said = [
        f"# {info['title']}",
        f"> {summary}",
        *others,
        *(each["description"] for each in schemes),
    ]
    return "\n\n".join([*said, "## Documents", "\n".join(documents), *sections]) + "\n"


def _make_link(server: str, method: str, path: str, operation: Json) -> str:
    names = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
    if "requestBody" in operation:
        names += operation["requestBody"]["content"]["application/json"]["example"]
    takes = f" with {', '.join(names)}" if names else ""
    description = " ".join(operation["description"].split())
    return f"- [{operation['summary']}]({server}{path}): `{method} {path}`{takes}. {description}"
