"""The door to whoever signs for the marketplace's account: what comes back is checked before it is handed on.

Only this module calls a signer, and only with the body of a purchase that this service has built.
"""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from flask import Config, Flask, current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerUnreachable,
    SignerFailed,
    StartRefused,
)
from marketplace.ledger import Deadline, mirror_node
from marketplace.services import services

# Signs the bytes of a TransactionBody: returns the raw public key, 32 bytes of ED25519 or 33 of compressed
# ECDSA secp256k1, and the signature, 64 bytes; ECDSA signs their Keccak-256.
Sign = Callable[[bytes], tuple[bytes, bytes]]

ED25519_BYTES, ECDSA_BYTES = 32, 33  # of a public key
SIGNER_SECONDS = 5
SIGNATURES_AT_ONCE = 8  # more wait; who hangs, hangs in one of as many threads
KEY_SECONDS = 3  # for the mirror node to tell the account's key
KEY_KEPT_SECONDS = 600
SIGNATURE_BYTES = 64
SECP256K1_ORDER = 0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFEBAAEDCE6AF48A03BBFD25E8CD0364141
Answer = tuple[Any, BaseException | None]  # what a signer returned, or raised
KEY_BYTES = {"ED25519": ED25519_BYTES, "ECDSA_SECP256K1": ECDSA_BYTES}


class KeyUnusable(Exception):
    """Why the account's key on the ledger is none that one signature satisfies: a sentence's end."""


def find_key(account_id: str) -> bytes | None:
    """The public key that must sign for an account; None where the sandbox has none for it yet.

    Raises KeyUnusable, and the ledger's errors.
    """
    account = mirror_node().find_account(account_id, Deadline(KEY_SECONDS))
    if account is None or account.is_deleted:
        raise KeyUnusable(f"{account_id} is not an account on the ledger")
    if account.key is None and current_app.config["NETWORK"] == "sandbox":
        return None
    if account.key is None:
        raise KeyUnusable(
            f"{account_id} is hollow: it has no key before it has signed a transaction"
        )
    if account.key.type not in KEY_BYTES:
        raise KeyUnusable(
            f"the key of {account_id} is a list of keys, or a contract ({account.key.type}): one signature"
            " is not enough for it. Use an account with a single key"
        )
    try:
        return bytes.fromhex(account.key.hex)
    except ValueError:
        raise KeyUnusable(f"the key of {account_id} is not hexadecimal") from None


def verifies(public_key: bytes, signature: bytes, content: bytes) -> bool:
    """Tell whether a signature is that of a key, over some content."""
    try:
        if len(public_key) == ED25519_BYTES:
            Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
        else:
            from hiero_sdk_python.crypto.public_key import PublicKey

            PublicKey.from_bytes_ecdsa(public_key).verify(signature, content)
    except (InvalidSignature, ValueError):
        return False
    return True


class Signer:
    """Has bodies signed, in threads of its own: whoever signs may hang for ever, and nobody waits as long."""

    def __init__(self, account_id: str, load: Callable[[], Sequence[Sign]]) -> None:
        """``load`` returns alternatives: the first whose key is the account's signs."""
        self._account_id = account_id
        self._load = load
        self._signs: tuple[Sign, ...] = ()
        self._places = threading.BoundedSemaphore(SIGNATURES_AT_ONCE)
        self._key: bytes | None = None
        self._key_until = 0.0

    def load(self) -> None:
        """Read the key's file, once. Raises StartRefused for one that holds no key."""
        self._signs = self._signs or tuple(self._load())

    def sign(self, body: bytes) -> tuple[bytes, bytes]:
        """The account's public key, and its signature of the body of a transaction.

        Raises SignerFailed, whose reason is logged, and the ledger's errors.
        """
        try:
            return self._sign(body)
        except SignerFailed as error:
            current_app.logger.error("The signer of %s: %s", self._account_id, error.reason)
            raise

    def require_account(self) -> None:
        """Compare what signs with the account's key on the ledger. Raises StartRefused.

        While the ledger does not answer, that is said: the first purchase compares then. What a host brings
        shows its key only when it signs.
        """
        self.load()
        try:
            expected = find_key(self._account_id)
        except KeyUnusable as error:
            raise StartRefused(f"Nobody could buy: {error}") from None
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            current_app.logger.warning(
                "The signer was not compared with the account's key, which the first purchase will do: %s",
                error,
            )
            return
        finally:
            mirror_node().close()
        keys = [getattr(sign, "public_key", expected) for sign in self._signs]
        if expected is not None and expected not in keys:
            raise StartRefused(
                "MARKETPLACE_ACCOUNT_KEY_FILE holds another key than that of"
                f" {self._account_id} on the ledger"
            )

    def _sign(self, body: bytes) -> tuple[bytes, bytes]:
        try:
            self.load()
        except StartRefused as error:
            raise SignerFailed(str(error)) from error
        until = time.monotonic() + SIGNER_SECONDS
        reason: str | None = "there is none"
        for sign in self._signs:
            returned = self._call(sign, body, until)
            public_key, signature = _require_signature(returned, body)
            reason = self._find_wrong(public_key)
            if reason is None:
                self._signs = (sign, *(other for other in self._signs if other is not sign))
                return public_key, signature
        raise SignerFailed(str(reason))

    def _find_wrong(self, public_key: bytes) -> str | None:
        """Why a key is not the account's on the ledger, if it is not. The one that is known may be old."""
        expected = self._key  # which another thread may replace at any time
        try:
            if expected is None or public_key != expected or time.monotonic() > self._key_until:
                self._key = expected = find_key(self._account_id)
                self._key_until = time.monotonic() + KEY_KEPT_SECONDS
        except KeyUnusable as error:
            return str(error)
        if expected in (None, public_key):
            return None
        return f"it signs with the key {public_key.hex()}, and the account's is {expected.hex()}"

    def _call(self, sign: Sign, body: bytes, until: float) -> Any:
        """Call the signer. Raises SignerFailed where it raises, or takes too long."""
        timeout = max(0.0, until - time.monotonic())
        if not self._places.acquire(timeout=timeout):
            raise SignerFailed(f"{SIGNATURES_AT_ONCE} signatures are under way, and none ends")
        answers: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        thread = threading.Thread(target=self._work, args=(sign, body, answers), daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            self._places.release()
            raise SignerFailed(f"no thread can be had for it: {error}") from error
        try:
            returned, raised = answers.get(timeout=max(0.0, until - time.monotonic()))
        except queue.Empty:
            raise SignerFailed(f"it took longer than {SIGNER_SECONDS} s") from None
        if raised is not None:
            raise SignerFailed(f"it raised {type(raised).__name__}: {raised}") from raised
        return returned

    def _work(self, sign: Sign, body: bytes, answers: queue.SimpleQueue[Answer]) -> None:
        try:
            answers.put((sign(body), None))
        except BaseException as error:  # whatever a host's own code raises
            answers.put((None, error))
        finally:
            self._places.release()


def _require_signature(returned: Any, body: bytes) -> tuple[bytes, bytes]:
    """The key and the signature, if that is what they are. Raises SignerFailed."""
    is_pair = isinstance(returned, tuple | list) and len(returned) == 2
    if not is_pair or not all(isinstance(part, bytes | bytearray) for part in returned):
        raise SignerFailed("it returned no pair of bytes (public key, signature)")
    public_key, signature = map(bytes, returned)
    if len(public_key) not in KEY_BYTES.values() or len(signature) != SIGNATURE_BYTES:
        raise SignerFailed(
            f"it returned a key of {len(public_key)} bytes, not 32 or 33, and a signature of"
            f" {len(signature)}, not 64"
        )
    if not verifies(public_key, signature, body):
        raise SignerFailed("its signature is not one of the transaction by the key it names")
    return public_key, _lower(signature) if len(public_key) == ECDSA_BYTES else signature


def _lower(signature: bytes) -> bytes:
    """The same ECDSA signature with the lower of its two values of s: some verifiers take no other."""
    r, s = signature[:32], int.from_bytes(signature[32:])
    return r + (SECP256K1_ORDER - s if s > SECP256K1_ORDER // 2 else s).to_bytes(32)


def _read_keys(path: str) -> Sequence[Sign]:
    from marketplace.market import key_file  # which loads the Hedera SDK

    return key_file.read_keys(path)


def from_config(config: Config, sign: Sign | None, demo: Sign | None) -> Signer | None:
    """Make what signs purchases: what a host brings, the key in a file, or in the sandbox its wallet.

    Without any of them nothing is bought. The file is read when the key is needed; the ledger is asked by
    require_account().
    """
    path, account_id = config["ACCOUNT_KEY_FILE"], config["ACCOUNT_ID"]
    if path and sign is not None:
        raise StartRefused(
            "MARKETPLACE_ACCOUNT_KEY_FILE is set, and create_app(sign=...) is, too: only one can sign"
        )
    if sign is not None and not callable(sign):
        raise StartRefused(
            "create_app(sign=...) is not callable: give it what takes a body's bytes, and returns the public"
            " key and the signature"
        )
    if path:
        return Signer(account_id, partial(_read_keys, path))
    chosen = sign or demo
    return Signer(account_id, partial(list, [chosen])) if chosen else None


def require_account(app: Flask) -> None:
    """Look at the account before anybody buys, where purchases are signed. Raises StartRefused."""
    if (signer := services(app).signer) and app.config["SALE_FEE_BUDGET"]:
        with app.app_context():
            signer.require_account()
