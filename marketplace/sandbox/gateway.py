"""The sandbox's IPFS gateway: metadata documents and artwork of all of its NFTs."""

from flask import Blueprint, Response, abort

from marketplace.hedera.ids import MAX_INT64
from marketplace.sandbox import catalogue

CACHED = {"Cache-Control": "max-age=86400, immutable"}

blp = Blueprint("gateway", __name__)


@blp.get("/ipfs/<cid>/<int:serial_no>.json")
def show_metadata(cid: str, serial_no: int) -> Response:
    """Serve a HIP-412 document"""
    content = catalogue.metadata(_token(cid, serial_no), serial_no)
    return Response(content, content_type="application/json", headers=CACHED)


@blp.get("/ipfs/<cid>/collection.json")
def show_collection_metadata(cid: str) -> Response:
    """Serve a HIP-766 document"""
    content = catalogue.collection_metadata(_token(cid, 1))
    return Response(content, content_type="application/json", headers=CACHED)


@blp.get("/ipfs/<cid>/<int:serial_no>.png")
def show_image(cid: str, serial_no: int) -> Response:
    """Serve an artwork"""
    content = catalogue.image(_token(cid, serial_no), serial_no)
    return Response(content, content_type="image/png", headers=CACHED)


def _token(cid: str, serial_no: int) -> str:
    token = catalogue.token_of(cid)
    if token is None or not 1 <= serial_no <= MAX_INT64:
        abort(404)
    return token
