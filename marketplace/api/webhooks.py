"""The messages to webhooks, for the OpenAPI document: docs/webhooks.md."""

from typing import Any

HEADERS = {
    "webhook-id": "The event's id: the same at each attempt",
    "webhook-timestamp": "When this attempt was made: seconds since 1970",
    "webhook-signature": "Its signature by Standard Webhooks 1.0: v1, and base64 of HMAC-SHA256",
}
HEADER = {"in": "header", "required": True, "schema": {"type": "string"}}
CONTENT = {"application/json": {"schema": {"$ref": "#/components/schemas/WebhookMessage"}}}
EVENT: dict[str, Any] = {
    "operationId": "receive_event",
    "summary": "Receive what happened",
    "description": "The watcher posts each event in order, at least once. Without a 2xx within 5 s it"
    " posts it again, ever later, for three days.",
    "tags": ["Events"],
    "security": [],
    "parameters": [HEADER | {"name": name, "description": text} for name, text in HEADERS.items()],
    "requestBody": {"required": True, "content": CONTENT},
    "responses": {
        "204": {"description": "Taken: it is not posted again"},
        "410": {"description": "Nothing more is to be posted"},
    },
}
