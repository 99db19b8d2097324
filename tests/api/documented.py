"""The operations of an OpenAPI document, called as the API reference fills them in: with their examples."""

import re


def operations(client, path="/openapi.json"):
    """Every operation of a document: method, address, and what it says."""
    document = client.get(path).json
    root = re.sub(r"^https?://[^/]*", "", document["servers"][0]["url"])
    for address, item in document["paths"].items():
        for method, operation in item.items():
            yield method, root + address, operation


def write(value):
    """Write a value of a path or a query: true and false as in JSON."""
    return str(value).lower() if isinstance(value, bool) else value


def call(client, method, address, operation):
    given = {"path": {}, "query": {}}
    for parameter in operation.get("parameters", []):
        if "example" in parameter["schema"]:
            given[parameter["in"]][parameter["name"]] = write(parameter["schema"]["example"])
        else:
            assert not parameter.get("required"), (address, parameter["name"])
    for name, value in given["path"].items():
        address = address.replace(f"{{{name}}}", str(value))
    body = operation.get("requestBody")
    example = body and body["content"]["application/json"]["example"]
    return client.open(address, method=method, query_string=given["query"], json=example)
