"""/llms.txt: a short form of the OpenAPI document for language models (https://llmstxt.org)."""

from collections import defaultdict
from typing import Any

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
