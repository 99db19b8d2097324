"""The messages to webhooks, as the OpenAPI document describes them. See docs/webhooks.md."""

from typing import Any

HEADERS = {
    "webhook-id": "The event's id: the same in each attempt",
    "webhook-timestamp": "When this attempt was made: seconds since 1970",
    "webhook-signature": "Signature by Standard Webhooks 1.0: v1, and base64 of the HMAC-SHA256",
}
HEADER = {"in": "header", "required": True, "schema": {"type": "string"}}
CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookMessage"}}}
EVENT: dict[str, Any] = {
    "operationId": "receive_event",
    "summary": "Receive what happened",
    "description": "The watcher posts each event in order, at least once. Without a 2xx within 5 s, it"
    " posts the event again, at growing intervals, for three days.",
    "tags": ["Events"],
    "security": [],
    "parameters": [HEADER | {"name": name, "description": text} for name, text in HEADERS.items()],
    "requestBody": {"required": True, "content": CONTENT},
    "responses": {
        "204": {"description": "Accepted: it is not posted again"},
        "410": {"description": "Stop: post nothing more"},
    },
}
