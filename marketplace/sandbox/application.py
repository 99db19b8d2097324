"""The sandbox beside a marketplace: a hiero_sandbox in which every id exists, with the demo's addresses.

They are a wallet that signs for anybody, and moves of NFTs.

openapi.json describes them. The ledger's own document has what hiero_sandbox answers.
"""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, current_app, request

from hiero_sandbox import application, decoding, openapi
from hiero_sandbox.api import show_result
from hiero_sandbox.conditions import now
from hiero_sandbox.errors import FieldsInvalid
from hiero_sandbox.fields import ACCOUNT_ID, SERIAL_NO, TOKEN_ID, TRANSACTION, read_body
from marketplace.sandbox import wallet
from marketplace.sandbox.world import EveryId, hand_over

DOCUMENT = Path(__file__).with_name("openapi.json")

blp = Blueprint("demo", __name__)


@blp.post("/sign")
def sign_transaction() -> dict[str, str]:
    account_id, transaction = read_body(accountId=ACCOUNT_ID, transaction=TRANSACTION)
    parties = decoding.parties(transaction)
    if parties is not None and account_id not in parties:
        named = " or ".join(sorted(parties))
        raise FieldsInvalid(
            {"accountId": f"must be {named}: {account_id} has nothing to sign here"}
        )
    return {"transaction": base64.b64encode(wallet.sign(account_id, transaction)).decode()}


@blp.post("/transfers")
def transfer_nft() -> dict[str, str]:
    nft = {"tokenId": TOKEN_ID, "serialNo": SERIAL_NO}
    token, serial_no, account_id = read_body(**nft, accountId=ACCOUNT_ID)
    return show_result(hand_over(token, serial_no, account_id, now()))


@cache
def _document() -> dict[str, Any]:
    """The sandbox's own document, with the demo's addresses."""
    shared, own = openapi.document(), json.loads(DOCUMENT.read_text())
    schemas = shared["components"]["schemas"] | own["components"]["schemas"]
    return shared | {
        "info": shared["info"] | own["info"],
        "paths": shared["paths"] | own["paths"],
        "components": shared["components"] | {"schemas": schemas},
    }


@blp.get("/openapi.json")
def show_openapi() -> dict[str, Any]:
    """The OpenAPI document. Its server is PUBLIC_URL, which has the path where the sandbox is mounted."""
    document, url = _document(), _server()
    contact = {"name": document["info"]["title"], "url": url}
    return document | {"info": document["info"] | {"contact": contact}, "servers": [{"url": url}]}


def _server() -> str:
    """The sandbox's address. A prefix that its host adds in front of PUBLIC_URL's path is added here, too."""
    url: str = current_app.config["PUBLIC_URL"]
    mount = urlsplit(url).path
    root = request.script_root
    return url if root == mount or not root.endswith(mount) else url.removesuffix(mount) + root


@blp.get("/llms.txt")
def show_llms_txt() -> Response:
    """The document in short, for language models: https://llmstxt.org"""
    document, url = _document(), _server()
    summary, *others = document["info"]["description"].split("\n\n")
    lines = [
        f"- [{operation['summary']}]({url}{path}): `POST {path}` with"
        f" {', '.join(operation['requestBody']['content']['application/json']['example'])}."
        f" {operation['description']}"
        for path, item in document["paths"].items()
        for operation in item.values()
    ]
    blocks = [
        f"# {document['info']['title']}",
        f"> {summary}",
        *others,
        "## Documents",
        f"- [OpenAPI document]({url}/openapi.json): all fields, bounds, errors and examples",
        "## Sandbox",
        "\n".join(lines),
    ]
    return Response("\n\n".join(blocks) + "\n", mimetype="text/plain")


def create_sandbox(
    path: str | Path | None,
    public_url: str = "http://127.0.0.1:8000/sandbox",
    signs_for: str | None = None,
) -> Flask:
    """Make the application. Its ledger is the file at the path, or in memory. EveryId explains ``signs_for``.

    Raises LedgerRefused.
    """
    world = EveryId(signs_for)
    sandbox = application.create_sandbox(path, public_url, world=world, accounts=None)
    sandbox.register_blueprint(blp)
    return sandbox
