"""Signs purchases for the marketplace's account, and verifies each signature before it is used.

Only this module calls a signer, and only with the body of a purchase that this service has built.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache, partial
from threading import Semaphore, Thread
from typing import Any

from flask import Config, current_app

from marketplace.errors import SignerFailed, StartRefused
from marketplace.ledger import Deadline

# Signs the bytes of a TransactionBody: returns the raw public key, 32 bytes of ED25519 or 33 of compressed
# ECDSA secp256k1, and the signature, 64 bytes; ECDSA signs their Keccak-256.
Sign = Callable[[bytes], tuple[bytes, bytes]]

SIGNER_SECONDS = 5
SIGNATURES_AT_ONCE = 8  # threads; a call that never ends occupies one


class Signer:
    """Calls a signer in threads of its own, so that no request waits longer than SIGNER_SECONDS."""

    def __init__(self, account_id: str, load: Callable[[], Sign]) -> None:
        """``load`` returns the callable that signs, or raises StartRefused. It is called once."""
        self._account_id = account_id
        self.load = cache(load)
        self._free = Semaphore(SIGNATURES_AT_ONCE)

    def sign(self, body: bytes) -> tuple[bytes, bytes]:
        """Return a public key, and its signature of the body of a transaction.

        account_key.compare() compares the key. Raises SignerFailed, after logging the reason.
        """
        try:
            return _require_signature(self._call(body), body)
        except SignerFailed as error:
            current_app.logger.error("The signer of %s: %s", self._account_id, error.reason)
            raise

    def _call(self, body: bytes) -> Any:
        """Call the signer. Raises SignerFailed if it raises, or takes too long."""
        call, deadline = Future[Any](), Deadline(SIGNER_SECONDS)
        if self._free.acquire(timeout=SIGNER_SECONDS):
            call.add_done_callback(lambda _: self._free.release())
            try:
                # A daemon thread: a call that never ends does not keep the process from ending.
                Thread(target=self._run, args=(call, body), name="signer", daemon=True).start()
            except RuntimeError as error:  # no thread can be started
                call.set_exception(error)
        if not wait([call], deadline.left).done:
            raise SignerFailed(f"it took longer than {SIGNER_SECONDS} s")
        if raised := call.exception():
            raise SignerFailed(f"it raised {type(raised).__name__}: {raised}") from raised
        return call.result()

    def _run(self, call: Future[Any], body: bytes) -> None:
        try:
            call.set_result(self.load()(body))
        except BaseException as error:  # also SystemExit
            call.set_exception(error)


def _require_signature(returned: Any, body: bytes) -> tuple[bytes, bytes]:
    """Return the public key and the signature. Raises SignerFailed for anything else."""
    # The SDK takes 70 MB.
    from marketplace.hedera.signatures import (
        ECDSA_BYTES,
        ED25519_BYTES,
        SIGNATURE_BYTES,
        lower,
        verifies,
    )

    is_pair = isinstance(returned, tuple | list) and len(returned) == 2
    if not is_pair or not all(isinstance(part, bytes | bytearray) for part in returned):
        raise SignerFailed("it did not return a pair of bytes (public key, signature)")
    public_key, signature = map(bytes, returned)
    if len(public_key) not in (ED25519_BYTES, ECDSA_BYTES) or len(signature) != SIGNATURE_BYTES:
        raise SignerFailed(
            f"it returned a key of {len(public_key)} bytes, not 32 or 33, and a signature of"
            f" {len(signature)}, not 64"
        )
    if not verifies(public_key, signature, body):
        raise SignerFailed("its signature of the transaction is not valid for the key it returned")
    return public_key, lower(signature) if len(public_key) == ECDSA_BYTES else signature


def _read_key(path: str) -> Sign:
    from marketplace.market.buying import key_file  # which loads the Hedera SDK

    return key_file.read_key(path)


def from_config(config: Config, sign: Sign | None, demo: Sign | None) -> Signer | None:
    """Make the signer from the key in a file, a host's callable, or the sandbox's demo wallet.

    Without any of them, returns None: nothing can be bought. The file is read when the key is first needed.
    """
    path, account_id = config["ACCOUNT_KEY_FILE"], config["ACCOUNT_ID"]
    if path and sign is not None:
        raise StartRefused(
            "MARKETPLACE_ACCOUNT_KEY_FILE and create_app(sign=...) are both set: use one of them"
        )
    if path:
        return Signer(account_id, partial(_read_key, path))
    chosen = sign or demo
    return Signer(account_id, lambda: chosen) if chosen else None
