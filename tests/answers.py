"""What an answer of the API must be: an error's one shape, a transaction's one envelope."""

import base64
import re
from functools import cache
from tempfile import TemporaryDirectory

from hiero_sandbox.ledger import envelopes
from marketplace import create_app
from marketplace.errors import ANYWHERE, MEDIA, find_kinds
from marketplace.hedera import times

KINDS = {kind.word(): kind for kind in find_kinds()}


def opened(response):
    """The one transaction that was handed out: its body, its id, and who has signed it."""
    [transaction] = envelopes.read_list(base64.b64decode(response.json["byteArray"]))
    return envelopes.open_transaction(transaction)


def handed_out(response, account_id, returns=False, **metadata):
    """The transaction of an answer that has nothing else but what a wallet needs to know of it.

    ``returns``: whether the wallet is to return it. ``metadata``: more of it.
    """
    assert response.status_code == 200, response.text
    transaction = opened(response)
    start = transaction.body.transactionID.transactionValidStart
    # Nodes refuse the last ten seconds.
    seconds = start.seconds + transaction.body.transactionValidDuration.seconds - 10
    expires_at = times.to_iso(seconds * times.SECOND + start.nanos)
    payer = transaction.body.transactionID.accountID.accountNum
    assert response.json == {
        "byteArray": response.json["byteArray"],
        "metadata": {
            "accountToSign": account_id,
            "returnTransaction": returns,
            "transactionId": f"0.0.{payer}@{start.seconds}.{start.nanos:09d}",
            "expiresAt": f"{expires_at[:23]}Z",
            "network": "sandbox",
            **metadata,
        },
    }
    return transaction


@cache
def documented_errors():
    """Of each operation: its method, a pattern of its address, and the reasons of each status."""
    with TemporaryDirectory() as folder:
        app = create_app(DATA_DIR=folder, DATABASE_URL=f"sqlite:///{folder}/market.db")
        document = app.test_client().get("/openapi.json").json
    responses = document["components"]["responses"]
    found = []
    for path, item in document["paths"].items():
        address = re.compile(re.sub("{[^}]+}", "[^/]+", path) + "$")
        for method, operation in item.items():
            named = {
                int(status): responses[answer["$ref"].rpartition("/")[2]].get("content", {})
                for status, answer in operation["responses"].items()
                if "$ref" in answer
            }
            known = {
                status: {*content["application/json"]["examples"]}
                for status, content in named.items()
                if content
            }
            found.append((method.upper(), address, known))
    return found


def assert_documented(request, status, reason):
    """The OpenAPI document says that the operation, if it is one, may answer with this reason."""
    calls = KINDS[reason].calls
    if ANYWHERE in calls or "/media/" in request.path:
        assert ANYWHERE in calls or MEDIA in calls or status == 404, (request.path, reason)
        return
    for method, address, known in documented_errors():
        if method == request.method and address.search(request.path):
            assert reason in known.get(status, ()), (method, request.path, status, reason)


def assert_error(response, status, *expected):
    """The one shape of every error. ``expected``: its reason, or what its sentence must hold."""
    assert response.status_code == status, response.text
    assert response.content_type == "application/json"
    body = response.json
    assert body.keys() - {"errors"} == {"code", "status", "message", "reason"}
    assert body["code"] == status
    assert body["reason"] in KINDS
    assert KINDS[body["reason"]].status == status
    assert_documented(response.request, status, body["reason"])
    for word in expected:
        assert word == body["reason"] or str(word) in body["message"], body
    return body
