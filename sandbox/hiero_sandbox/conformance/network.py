"""A network as its clients see it: a node that takes transactions, a mirror node that shows them."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, NamedTuple, TypeVar
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
from google.protobuf.message import Message
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, SignatureMap, TransactionID
from hiero_sdk_python.hapi.services.query_header_pb2 import ResponseType
from hiero_sdk_python.hapi.services.query_pb2 import Query
from hiero_sdk_python.hapi.services.response_code_pb2 import ResponseCodeEnum
from hiero_sdk_python.hapi.services.response_pb2 import Response
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody
from hiero_sdk_python.hapi.services.transaction_receipt_pb2 import TransactionReceipt
from hiero_sdk_python.hapi.services.transaction_response_pb2 import TransactionResponse

from hiero_sandbox import messages, times
from hiero_sandbox.ids import TINYBARS

# A node looks at a request's content, and takes each by any method of its message: TransactionMethod and
# QueryMethod of hiero-consensus-node.
TRANSACTIONS = "/proto.CryptoService/cryptoTransfer"
QUERIES = "/proto.CryptoService/getTransactionReceipts"
MAX_FEE = 200 * TINYBARS
SECONDS = 30  # for one answer
CLOCK_DIFFERENCE = 5 * times.SECOND  # by which a client's clock may be ahead of the network's
AGAIN = ("BUSY", "PLATFORM_TRANSACTION_NOT_CREATED")
NOT_YET = ("UNKNOWN", "RECEIPT_NOT_FOUND", "RECORD_NOT_FOUND")
T = TypeVar("T")


class NetworkFault(Exception):
    """The network gives no answer, or none that a case can be judged by."""


class Unsupported(Exception):
    """The network does not have this type of transaction."""


class Account(NamedTuple):
    id: str
    key: PrivateKey


Signer = Account | PrivateKey


class Outcome(NamedTuple):
    """What became of a transaction."""

    code: str  # of the receipt, or of the node's refusal
    reached_consensus: bool
    transaction_id: TransactionID
    receipt: TransactionReceipt
    cost: int  # that the node's refusal names

    @property
    def path(self) -> str:
        """Its path at the mirror node."""
        start = self.transaction_id.transactionValidStart
        payer = text(self.transaction_id.accountID)
        return f"/transactions/{payer}-{start.seconds}-{start.nanos:09}"


class Shown(NamedTuple):
    """An answer of the mirror node."""

    status: int
    body: Any
    content_type: str


class Network:
    """The operator pays, unless a body names another payer. Several threads may use it."""

    operator: Account

    def __init__(self, node: str, node_account: str, mirror: str, patience: float) -> None:
        self.node_account = node_account
        self.mirror = mirror.rstrip("/").removesuffix("/api/v1")
        self.patience = patience  # seconds for consensus, and for the mirror node after it
        self._channel = grpc.insecure_channel(node)
        self._lock, self._last_start = Lock(), 0
        self._made: dict[Callable[..., Any], Any] = {}
        self._locks: dict[Callable[..., Any], Lock] = {}
        self._funded: list[Account] = []

    def __enter__(self) -> "Network":
        return self

    def __exit__(self, *_: object) -> None:
        self._channel.close()

    def find_key(self, account_id: str, key: str) -> PrivateKey:
        """Read an account's key, DER or hexadecimal, of the kind that it has. Raises ValueError."""
        shown = self.get(f"/accounts/{account_id}?transactions=false")
        public = ((shown.body.get("key") or {}) if shown.status == 200 else {}).get("key")
        for read in (
            PrivateKey.from_string_der,
            PrivateKey.from_string_ed25519,
            PrivateKey.from_string_ecdsa,
        ):
            with suppress(ValueError):
                found = read(key)
                if found.public_key().to_bytes_raw().hex() == public:
                    return found
        raise ValueError(f"The key is not that of {account_id}, whose public key is {public}")

    # Transactions

    def body(self, kind: str, payer: str = "", /, **fields: Any) -> TransactionBody:
        """A transaction of a kind, by its field of TransactionBody. Messages in it may be dicts."""
        with self._lock:
            start = max(self._last_start + 1, time.time_ns() - CLOCK_DIFFERENCE)
            self._last_start = start
        body = TransactionBody(
            transactionID={
                "accountID": messages.account(payer or self.operator.id),
                "transactionValidStart": messages.timestamp(start),
            },
            nodeAccountID=messages.account(self.node_account),
            transactionFee=MAX_FEE,
            transactionValidDuration={"seconds": 120},
        )
        content = getattr(body, kind)
        content.SetInParent()
        content.MergeFrom(type(content)(**fields))
        return body

    def submit(self, body: TransactionBody, *signers: Signer) -> Outcome:
        """Sign for the operator, where it pays, and for others. Waits for the receipt."""
        payer = text(body.transactionID.accountID)
        first = [self.operator] if payer == self.operator.id else []
        outcome = self.send(envelope(body, *first, *signers), body.transactionID)
        if outcome.code == "NOT_SUPPORTED":
            raise Unsupported(f"{body.WhichOneof('data')} is {outcome.code}")
        return outcome

    def send(self, content: bytes, transaction_id: TransactionID) -> Outcome:
        """Send the bytes of a transaction. Waits for the receipt, unless the node refuses."""

        def ask() -> TransactionResponse:
            return TransactionResponse.FromString(self._call(TRANSACTIONS, content))

        answer = self._patiently(ask, lambda answer: code_of(answer) not in AGAIN)
        if code_of(answer) != "OK":
            refusal = (code_of(answer), False, transaction_id, TransactionReceipt(), answer.cost)
            return Outcome(*refusal)
        receipt = self.receipt(transaction_id)
        code = ResponseCodeEnum.Name(receipt.status)
        return Outcome(code, True, transaction_id, receipt, 0)

    def done(self, body: TransactionBody, *signers: Signer) -> Outcome:
        """Submit what the network must execute: what a case needs, before its own question."""
        outcome = self.submit(body, *signers)
        if outcome.code != "SUCCESS":
            raise NetworkFault(f"{body.WhichOneof('data')} is {outcome.code}")
        return outcome

    # Queries

    def ask(self, name: str, **fields: Any) -> Any:
        """A query's answer, with its code in the header. The operator pays what it costs."""
        cost = self._ask(name, fields, ResponseType.COST_ANSWER, None)
        if code_of(cost.header) != "OK":
            return cost
        return self._ask(name, fields, ResponseType.ANSWER_ONLY, cost.header.cost)

    def free(self, name: str, **fields: Any) -> Any:
        """The answer to a query that costs nothing, or that is not paid for."""
        return self._ask(name, fields, ResponseType.ANSWER_ONLY, None)

    def receipt(self, transaction_id: TransactionID) -> TransactionReceipt:
        """A transaction's receipt, when it has reached consensus."""

        def ask() -> Any:
            return self.free("transactionGetReceipt", transactionID=transaction_id)

        def is_final(answer: Any) -> bool:
            status = ResponseCodeEnum.Name(answer.receipt.status)
            return code_of(answer.header) not in (*AGAIN, *NOT_YET) and status not in NOT_YET

        receipt: TransactionReceipt = self._patiently(ask, is_final).receipt
        return receipt

    def _ask(self, name: str, fields: dict[str, Any], kind: int, cost: int | None) -> Any:
        query = Query()
        content = getattr(query, name)
        content.MergeFrom(type(content)(**fields))
        content.header.responseType = kind
        if cost is not None:
            content.header.payment.ParseFromString(self.payment(cost))
        return getattr(Response.FromString(self._call(QUERIES, query.SerializeToString())), name)

    def payment(self, tinybars: int) -> bytes:
        """A transfer from the operator to the node."""
        amounts = [(self.operator.id, -tinybars), (self.node_account, tinybars)]
        return envelope(self.body("cryptoTransfer", transfers=transfers(*amounts)), self.operator)

    # Mirror node

    def get(self, path: str) -> Shown:
        """The mirror node's present answer to a path below /api/v1."""
        path = path.removeprefix("/api/v1")
        try:
            with urlopen(f"{self.mirror}/api/v1{path}", timeout=SECONDS) as answer:  # noqa: S310
                return Shown(answer.status, json.load(answer), answer.headers.get_content_type())
        except HTTPError as error:
            return Shown(error.code, json.load(error), error.headers.get_content_type())
        except (OSError, ValueError) as error:
            raise NetworkFault(f"The mirror node does not answer {path}: {error}") from error

    def row(self, outcome: Outcome, **fields: Any) -> Any:
        """The mirror node's row of a transaction, once it is there. Fields choose among rows of one id."""
        wanted = {"nonce": 0, "scheduled": False} | fields

        def find(shown: Shown) -> list[Any]:
            rows = shown.body["transactions"] if shown.status == 200 else []
            return [row for row in rows if wanted.items() <= row.items()]

        shown = self._patiently(lambda: self.get(outcome.path), lambda shown: bool(find(shown)))
        return find(shown)[0]

    def shown(self, path: str, until: Callable[[Any], object]) -> Any:
        """The mirror node's answer, as soon as it is as expected, or the last one when patience is over."""

        def is_expected(shown: Shown) -> bool:
            return shown.status == 200 and bool(until(shown.body))

        with suppress(NetworkFault):
            return self._patiently(lambda: self.get(path), is_expected).body
        return self.get(path).body

    # What cases need

    def account(self, usd: float = 0, **fields: Any) -> Account:
        """A new account with a key of its own. What is left of its USD is given back at the end."""
        key = PrivateKey.generate_ed25519()
        given = {"key": key_of(key), "autoRenewPeriod": {"seconds": 7_776_000}}
        given |= {"initialBalance": self.tinybars(usd)} | fields
        made = self.done(self.body("cryptoCreateAccount", **given))
        account = Account(text(made.receipt.accountID), key)
        if usd:
            with self._lock:
                self._funded.append(account)
        return account

    def once(self, make: Callable[["Network"], T]) -> T:
        """What a function makes, made once for all cases."""
        with self._lock:
            lock = self._locks.setdefault(make, Lock())
        with lock:
            if make not in self._made:
                self._made[make] = make(self)
            made: T = self._made[make]
        return made

    def tinybars(self, usd: float) -> int:
        rate = self.once(_rate)
        tinybars: float = 100 * TINYBARS * rate["hbar_equivalent"] / rate["cent_equivalent"]
        return round(usd * tinybars)

    def balance(self) -> int:
        """The operator's tinybars, as the node knows them."""
        answer = self.ask("cryptoGetInfo", accountID=messages.account(self.operator.id))
        if code_of(answer.header) != "OK":
            raise NetworkFault(f"A query for the operator's account is {code_of(answer.header)}")
        return int(answer.accountInfo.balance)

    def give_back(self) -> None:
        """Delete the accounts that were given HBAR, which goes back to the operator."""
        back = messages.account(self.operator.id)
        for account in self._funded:
            fields = {"deleteAccountID": messages.account(account.id), "transferAccountID": back}
            with suppress(NetworkFault):
                self.submit(self.body("cryptoDelete", **fields), account)

    def _call(self, path: str, content: bytes) -> bytes:
        ends_at = time.monotonic() + self.patience
        while True:
            try:
                answer: bytes = self._channel.unary_unary(path)(content, timeout=SECONDS)
                return answer
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.UNAVAILABLE or time.monotonic() > ends_at:
                    raise NetworkFault(f"The node answers {error.code().name}") from error
                time.sleep(0.5)

    def _patiently(self, ask: Callable[[], T], is_enough: Callable[[T], bool]) -> T:
        """Ask until the answer is enough, again and again while patience lasts."""
        ends_at, pause = time.monotonic() + self.patience, 0.05
        while True:
            answer = ask()
            if is_enough(answer):
                return answer
            if time.monotonic() > ends_at:
                raise NetworkFault(f"No other answer within {self.patience:g} s: {answer}")
            time.sleep(pause)
            pause = min(2 * pause, 1)


def _rate(network: Network) -> Any:
    return network.get("/network/exchangerate").body["current_rate"]


def envelope(body: TransactionBody, *signers: Signer) -> bytes:
    """The bytes of a signed transaction."""
    content = body.SerializeToString()
    signed = SignedTransaction(bodyBytes=content, sigMap=SignatureMap())
    for signer in signers:
        key = signer.key if isinstance(signer, Account) else signer
        field = "ed25519" if key.is_ed25519() else "ECDSA_secp256k1"
        pair = signed.sigMap.sigPair.add(pubKeyPrefix=key.public_key().to_bytes_raw())
        setattr(pair, field, key.sign(content))
    wrapped = Transaction(signedTransactionBytes=signed.SerializeToString())
    return bytes(wrapped.SerializeToString())


def code_of(header: Any) -> str:
    """The code in a node's answer."""
    return str(ResponseCodeEnum.Name(header.nodeTransactionPrecheckCode))


def key_of(key: PrivateKey) -> Key:
    content = key.public_key().to_bytes_raw()
    return Key(ed25519=content) if key.is_ed25519() else Key(ECDSA_secp256k1=content)


def text(entity: Message) -> str:
    """An id as text: 0.0.1001."""
    number = entity.DESCRIPTOR.name.removesuffix("ID").lower()
    named: Any = entity
    return f"{named.shardNum}.{named.realmNum}.{getattr(named, f'{number}Num')}"


def transfers(*amounts: tuple[str, int]) -> dict[str, Any]:
    """A TransferList, of accounts and tinybars."""
    return {"accountAmounts": account_amounts(*amounts)}


def account_amounts(*amounts: tuple[str, int], is_approval: bool = False) -> list[dict[str, Any]]:
    return [
        {
            "accountID": messages.account(account_id),
            "amount": amount,
            "is_approval": is_approval and amount < 0,
        }
        for account_id, amount in amounts
    ]
