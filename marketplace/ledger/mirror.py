"""The mirror node's REST, spoken and understood only here. Its answers are checked, not trusted.

Source of paths and shapes: the mirror node's OpenAPI document, /api/v1.
"""

import base64
import binascii
import json
import random
import time
from typing import NamedTuple

from marshmallow import EXCLUDE, Schema, ValidationError, fields, validate

from marketplace import times
from marketplace.errors import LedgerAnswerInvalid, LedgerUnreachable
from marketplace.ids import TransactionId, is_entity_id
from marketplace.ledger.fetch import Answer, Deadline, Fetcher, FetchError

MAX_ANSWER_BYTES = 5 * 1024 * 1024
ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.2
TRANSIENT = (429, 500, 502, 503, 504)


class Nft(NamedTuple):
    """One NFT as the ledger has it: who owns it, who may spend it, where its metadata is."""

    token: str
    serial_no: int
    owner: str | None
    spender: str | None
    is_deleted: bool
    pointer: str
    modified_at: int  # nanoseconds


class Transaction(NamedTuple):
    """One transaction that reached consensus."""

    name: str
    result: str
    memo: bytes
    consensus_at: int  # nanoseconds


class _Answer(Schema):
    class Meta:
        unknown = EXCLUDE


class _EntityId(fields.String):
    def _deserialize(self, value, attr, data, **kwargs):
        if not isinstance(value, str) or not is_entity_id(value):
            raise ValidationError("is not an entity id")
        return value


class _Consensus(fields.String):
    def _deserialize(self, value, attr, data, **kwargs):
        return times.from_consensus(super()._deserialize(value, attr, data, **kwargs))


class _Base64(fields.String):
    def _deserialize(self, value, attr, data, **kwargs):
        return _decode(super()._deserialize(value, attr, data, **kwargs))


class NftAnswer(_Answer):
    token = _EntityId(required=True, data_key="token_id")
    serial_no = fields.Integer(required=True, strict=True, data_key="serial_number")
    owner = _EntityId(required=True, allow_none=True, data_key="account_id")
    spender = _EntityId(allow_none=True, load_default=None)  # left out by old mirror nodes
    is_deleted = fields.Boolean(required=True, data_key="deleted")
    pointer = fields.String(allow_none=True, load_default="", data_key="metadata")
    modified_at = _Consensus(required=True, data_key="modified_timestamp")


class NftsAnswer(_Answer):
    nfts = fields.List(fields.Nested(NftAnswer), required=True)


class TokenAnswer(_Answer):
    name = fields.String(required=True)


class TransactionAnswer(_Answer):
    name = fields.String(required=True)
    result = fields.String(required=True, validate=validate.Regexp(r"[A-Z0-9_]{1,80}\Z"))
    memo = _Base64(allow_none=True, load_default=b"", data_key="memo_base64")
    consensus_at = _Consensus(required=True, data_key="consensus_timestamp")
    nonce = fields.Integer(load_default=0)
    scheduled = fields.Boolean(load_default=False)


class TransactionsAnswer(_Answer):
    transactions = fields.List(fields.Nested(TransactionAnswer), required=True)


NFT, NFTS, TOKEN, TRANSACTIONS = NftAnswer(), NftsAnswer(), TokenAnswer(), TransactionsAnswer()


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4))


class MirrorNode:
    """Reads the ledger. Every method raises LedgerUnreachable (503) or LedgerAnswerInvalid (502)."""

    def __init__(self, fetcher: Fetcher, base_url: str) -> None:
        self._fetcher = fetcher
        self._base_url = f"{base_url}/api/v1"

    def find_nft(self, token: str, serial_no: int, deadline: Deadline) -> Nft | None:
        """The NFT, burned or not, or None where the ledger has none of that id."""
        answer = self._get(f"/tokens/{token}/nfts/{serial_no}", NFT, deadline)
        return answer and self._nft(answer, token, serial_no)

    def find_nft_of(
        self, account_id: str, token: str, serial_no: int, deadline: Deadline
    ) -> Nft | None:
        """The NFT, where the account owns it; otherwise None."""
        path = f"/accounts/{account_id}/nfts?token.id={token}&serialnumber=eq:{serial_no}"
        answer = self._get(path, NFTS, deadline)
        if not answer or not answer["nfts"]:
            return None
        return self._nft(answer["nfts"][0], token, serial_no)

    def find_token_name(self, token: str, deadline: Deadline) -> str | None:
        answer = self._get(f"/tokens/{token}", TOKEN, deadline)
        return answer and answer["name"]

    def list_transactions(
        self, transaction_id: TransactionId, deadline: Deadline
    ) -> list[Transaction]:
        """What reached consensus under this id: none yet, one, or several where it was submitted twice.

        Children of a contract call and scheduled executions share the id; they are left out.
        """
        answer = self._get(f"/transactions/{transaction_id.dashed}", TRANSACTIONS, deadline)
        rows = answer["transactions"] if answer else []
        return [
            Transaction(row["name"], row["result"], row["memo"] or b"", row["consensus_at"])
            for row in rows
            if row["nonce"] == 0 and not row["scheduled"]
        ]

    def _nft(self, row: dict, token: str, serial_no: int) -> Nft:
        if (row["token"], row["serial_no"]) != (token, serial_no):
            raise LedgerAnswerInvalid(f"another NFT than {token} #{serial_no}")
        try:
            pointer = _decode(row["pointer"] or "").decode()
        except (binascii.Error, UnicodeDecodeError):
            pointer = row["pointer"]
        return Nft(**row | {"pointer": pointer})

    def _get(self, path: str, schema: Schema, deadline: Deadline) -> dict | None:
        answer = self._get_patiently(self._base_url + path, deadline)
        if answer.status == 404:
            return None
        if answer.status != 200:
            raise LedgerAnswerInvalid(f"status {answer.status}")
        try:
            return schema.load(json.loads(answer.content))
        except ValidationError as error:
            raise LedgerAnswerInvalid(str(error.messages)[:200]) from error
        except (ValueError, RecursionError) as error:
            raise LedgerAnswerInvalid("it is not JSON") from error

    def _get_patiently(self, url: str, deadline: Deadline) -> Answer:
        """Try a few times, pausing longer each time, while the deadline allows."""
        for attempt in range(ATTEMPTS):
            try:
                answer = self._fetcher.get(url, max_bytes=MAX_ANSWER_BYTES, deadline=deadline)
                if answer.status not in TRANSIENT:
                    return answer
                reason = f"status {answer.status}"
                if attempt + 1 < ATTEMPTS:
                    pause = FIRST_PAUSE_SECONDS * 2**attempt * random.uniform(0.5, 1.5)
                    time.sleep(min(pause, deadline.remaining()))
            except FetchError as error:
                reason = str(error)
        raise LedgerUnreachable(reason)
