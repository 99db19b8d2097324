"""The messages to webhooks, as the OpenAPI document describes them. See docs/webhooks.md."""

from typing import Any

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
