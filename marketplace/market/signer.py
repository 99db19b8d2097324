"""Signs purchases for the marketplace's account, and checks each signature before it is used.

Only this module calls a signer, and only with the body of a purchase that this service has built.
"""

from collections.abc import Callable
from concurrent.futures import Future, wait
from functools import cache, partial
from threading import Semaphore, Thread
from typing import Any

from flask import Config, current_app

from marketplace.errors import (
    LedgerAnswerInvalid,
    LedgerUnreachable,
    SignerFailed,
    StartRefused,
)
from marketplace.hedera.signatures import (
    ECDSA_BYTES,
    ED25519_BYTES,
    SIGNATURE_BYTES,
    lower,
    verifies,
)
from marketplace.ledger import Deadline
from marketplace.ledger.mirror import MirrorNode

# Signs the bytes of a TransactionBody: returns the raw public key, 32 bytes of ED25519 or 33 of compressed
# ECDSA secp256k1, and the signature, 64 bytes; ECDSA signs their Keccak-256.
Sign = Callable[[bytes], tuple[bytes, bytes]]

SINGLE_KEYS = ("ED25519", "ECDSA_SECP256K1")
SIGNER_SECONDS = 5
SIGNATURES_AT_ONCE = 8  # threads; a call that never ends occupies one
KEY_SECONDS = 3  # for the mirror node to show the account's key


def find_key(mirror_node: MirrorNode, account_id: str) -> bytes | None:
    """Read the public key that must sign for an account; None if the sandbox has no key for it yet.

    Raises SignerFailed if one signature is not enough for the account's key, and the ledger's errors.
    """
    account = mirror_node.find_account(account_id, Deadline(KEY_SECONDS))
    if account is None or account.is_deleted:
        raise SignerFailed(f"{account_id} is not an account on the ledger")
    if account.key is None and current_app.config["NETWORK"] == "sandbox":
        return None
    if account.key is None:
        raise SignerFailed(
            f"{account_id} is hollow: it has no key before it has signed a transaction"
        )
    if account.key.type not in SINGLE_KEYS:
        raise SignerFailed(
            f"the key of {account_id} is a list of keys, or a contract ({account.key.type}): one signature"
            " is not enough for it. Use an account with a single key"
        )
    return account.key.content


class Signer:
    """Calls a signer in threads of its own, so that no request waits longer than SIGNER_SECONDS."""

    def __init__(self, account_id: str, load: Callable[[], Sign], mirror_node: MirrorNode) -> None:
        """``load`` returns the callable that signs, or raises StartRefused. It is called once."""
        self._account_id, self._mirror_node = account_id, mirror_node
        self.load = cache(load)
        self._free = Semaphore(SIGNATURES_AT_ONCE)
        self._key: bytes | None = None  # the account's, as the ledger showed it last

    def sign(self, body: bytes) -> tuple[bytes, bytes]:
        """Return the account's public key, and its signature of the body of a transaction.

        Raises SignerFailed, after logging the reason, and the ledger's errors.
        """
        try:
            public_key, signature = _require_signature(self._call(body), body)
            self._require_key(public_key)
        except SignerFailed as error:
            current_app.logger.error("The signer of %s: %s", self._account_id, error.reason)
            raise
        return public_key, signature

    def require_account(self) -> None:
        """Compare the signer's key with the account's on the ledger. Raises StartRefused.

        If the ledger does not answer, it logs a warning, and the first purchase compares the keys. The key of
        a host's callable is known only when it signs.
        """
        sign = self.load()
        try:
            expected = find_key(self._mirror_node, self._account_id)
        except SignerFailed as error:
            raise StartRefused(f"Nobody could buy: {error}") from None
        except (LedgerUnreachable, LedgerAnswerInvalid) as error:
            current_app.logger.warning(
                "The signer's key was not compared with the account's, and will be at the first purchase: %s",
                error,
            )
            return
        finally:
            self._mirror_node.close()
        if expected not in (None, getattr(sign, "public_key", expected)):
            raise StartRefused(
                "MARKETPLACE_ACCOUNT_KEY_FILE holds another key than that of"
                f" {self._account_id} on the ledger"
            )

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

    def _require_key(self, public_key: bytes) -> None:
        """Raise SignerFailed unless a key is the account's on the ledger."""
        if public_key == self._key:
            return
        expected = self._key = find_key(self._mirror_node, self._account_id)
        if expected not in (None, public_key):
            raise SignerFailed(
                f"it signs with the key {public_key.hex()}, but the account's is {expected.hex()}"
            )


def _require_signature(returned: Any, body: bytes) -> tuple[bytes, bytes]:
    """Return the public key and the signature. Raises SignerFailed for anything else."""
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
    from marketplace.market import key_file  # which loads the Hedera SDK

    return key_file.read_key(path)


def from_config(
    config: Config, mirror_node: MirrorNode, sign: Sign | None, demo: Sign | None
) -> Signer | None:
    """Make the signer from the key in a file, a host's callable, or the sandbox's demo wallet.

    Without any of them, returns None: nothing can be bought. The file is read when the key is first needed;
    Signer.require_account() asks the ledger.
    """
    path, account_id = config["ACCOUNT_KEY_FILE"], config["ACCOUNT_ID"]
    if path and sign is not None:
        raise StartRefused(
            "MARKETPLACE_ACCOUNT_KEY_FILE and create_app(sign=...) are both set: use one of them"
        )
    if path:
        return Signer(account_id, partial(_read_key, path), mirror_node)
    chosen = sign or demo
    return Signer(account_id, lambda: chosen, mirror_node) if chosen else None
