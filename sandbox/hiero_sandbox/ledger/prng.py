"""Pseudorandom numbers. Their seed is a hash of what the ledger has recorded before. HIP-351.

Source: UtilPrngHandler of https://github.com/hiero-ledger/hiero-consensus-node.
"""

import hashlib

from hiero_sdk_python.hapi.services.util_prng_pb2 import UtilPrngTransactionBody

from hiero_sandbox.ledger import queries
from hiero_sandbox.ledger.envelopes import refuse_if
from hiero_sandbox.ledger.execution import Execution, Handler


def check(content: UtilPrngTransactionBody) -> None:
    """Check what a node checks before consensus."""
    refuse_if(content.range < 0, "INVALID_PRNG_RANGE")


def draw(execution: Execution, content: UtilPrngTransactionBody) -> None:
    """Draw a number below a range, or 384 bits without one. The transaction's record has it."""
    last = queries.get_last_consensus(execution.db)
    row = queries.get(execution.db, "transaction_record", consensus_at=last)
    seed = hashlib.sha384((row["hash"] if row else b"") + execution.now.to_bytes(8)).digest()
    if content.range:
        number = int.from_bytes(seed[:4], signed=True) % content.range
        execution.effects.record.prng_number = number
    else:
        execution.effects.record.prng_bytes = seed


HANDLERS = {"util_prng": Handler(draw, check)}
