"""The mirror node's contracts and their results: none, as the sandbox runs no contracts."""

from flask import Blueprint

from hiero_sandbox.mirror import parameters
from hiero_sandbox.mirror.parameters import BOOLEAN, Document

HEX = "(eq:)?(0x)?[0-9a-f]{64}([0-9a-f]{32})?"
NUMBER = "(eq:)?[0-9]{1,19}"
RESULT_PARAMETERS = {
    "block.hash": HEX,
    "block.number": NUMBER,
    "from": r"(eq:)?(0x)?[0-9a-f]{1,40}|(eq:)?([0-9]+\.){1,2}[0-9]+",
    "hbar": BOOLEAN,
    "internal": BOOLEAN,
    "transaction.index": NUMBER,
}

blp = Blueprint("contracts", __name__)


@blp.get("/contracts")
def list_contracts() -> Document:
    """List nothing: the sandbox runs no contracts."""
    parameters.require_known("contract.id", "limit", "order")
    return {"contracts": [], "links": {"next": None}}


@blp.get("/contracts/results")
def list_contract_results() -> Document:
    """List nothing: the sandbox runs no contracts."""
    parameters.require_known("limit", "order", "timestamp", **RESULT_PARAMETERS)
    return {"results": [], "links": {"next": None}}
