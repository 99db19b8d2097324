"""How an operator signs in: a wallet signs a challenge, and an hour's session begins.

Challenges and sessions are signed and not stored. The database has one date for each operator: when the
session began, or the last one ended. What is older is refused, so that a challenge works once, and only the
newest session does.
"""

import base64
import hashlib
import secrets
from typing import Any, NamedTuple

from flask import current_app
from itsdangerous import BadData, URLSafeSerializer

from marketplace.api import visitors
from marketplace.errors import Forbidden
from marketplace.hedera import times
from marketplace.ledger import Deadline
from marketplace.services import mirror_node, read, services, write
from marketplace.store import properties

CHALLENGE_MINUTES = 5
LEDGER_SECONDS = 10
EXPIRED = "This challenge has expired, or was used: begin again"


class Challenge(NamedTuple):
    account_id: str
    issued_at: int
    code: str  # random

    @property
    def expires_at(self) -> int:
        return self.issued_at + CHALLENGE_MINUTES * times.MINUTE

    @property
    def text(self) -> str:
        """What a wallet shows and signs. The address is the setting's: a request may name any host."""
        config = current_app.config
        return (
            f"{config['NAME']}: sign in to the console of {config['PUBLIC_URL']} as {self.account_id} on"
            f" {config['NETWORK']}.\n\n"
            f"Whoever has this signature can hide, block and verify there for an hour. Sign it only on a page"
            f" of {config['PUBLIC_URL']}. It moves nothing and costs nothing.\n\n"
            f"Until {times.to_second(times.to_iso(self.expires_at))}, once. Code: {self.code}"
        )

    @property
    def token(self) -> str:
        return _serializer("challenge").dumps(self)


def make_challenge(account_id: str) -> Challenge:
    """Make a challenge for an operator. Raises Forbidden for other accounts."""
    _require_operator(account_id)
    return Challenge(account_id, times.now(), secrets.token_urlsafe(16))


def sign_in(token: str, signature_map: str) -> str:
    """Begin a session. Returns its token.

    Raises Forbidden unless a challenge of ours was signed by its account's key, in time and once, and the
    ledger's errors.
    """
    values = _load("challenge", token)
    if values is None:
        raise Forbidden(EXPIRED)
    challenge = Challenge(*values)
    if challenge.expires_at <= times.now():
        raise Forbidden(EXPIRED)
    _require_operator(challenge.account_id)
    _require_signed(challenge, signature_map)
    if not _note(challenge.account_id, challenge.issued_at):
        raise Forbidden(_explain_used(challenge.account_id))
    return _serializer("session").dumps([challenge.account_id, challenge.issued_at])


def find_operator(token: str) -> str | None:
    """The account whose session this is; None if there is none, or it has ended."""
    values = _load("session", token)
    if values is None:
        return None
    account_id, began_at = values
    last = properties.get_property(read(), properties.CONSOLE + account_id)
    is_current = last == _write(began_at) and times.now() < began_at + times.HOUR
    return account_id if is_current and _is_operator(account_id) else None


def sign_out(account_id: str) -> None:
    """End the account's session, wherever it is, also if the clock was set back."""
    name = properties.CONSOLE + account_id
    with write() as db:
        last = _read_date(properties.get_property(db, name))
        properties.mark_later(db, name, _write(max(times.now(), last + 1)))


def _explain_used(account_id: str) -> str:
    """Why a challenge of the account is refused, which is older than its last date."""
    last = _read_date(properties.get_property(read(), properties.CONSOLE + account_id))
    if last <= times.now():
        return EXPIRED
    return f"The last sign-in was at {times.to_iso(last)}, later than this machine's clock: is it right?"


def _is_operator(account_id: str) -> bool:
    return account_id in current_app.config["STOREFRONT_OPERATORS"]


def _require_operator(account_id: str) -> None:
    if not _is_operator(account_id):
        raise Forbidden(f"{account_id} is not an account of MARKETPLACE_STOREFRONT_OPERATORS")


def _require_signed(challenge: Challenge, signature_map: str) -> None:
    # The SDK is loaded when it is needed.
    from marketplace.hedera import signatures, transactions

    account_id = challenge.account_id
    try:
        pairs = signatures.read_signatures(base64.b64decode(signature_map, validate=True))
    except (ValueError, signatures.Unreadable):
        pairs = ()
    if not pairs:
        raise Forbidden("This is not a signature map in base64, as wallets return it")
    account = mirror_node().find_account(account_id, Deadline(LEDGER_SECONDS))
    if account is None or account.is_deleted:
        raise Forbidden(f"The ledger has no account {account_id}, or it was deleted")
    if account.key:
        key = transactions.make_key(*account.key)
    elif sandbox := services().sandbox:  # whoever signs first there gives it a key
        key = transactions.make_public_key(sandbox.find_key(account_id))
    else:
        raise Forbidden(
            f"The account {account_id} has no key yet: sign a transaction with it first"
        )
    if signatures.find_signers(key, pairs, signatures.wrap_message(challenge.text)) is None:
        raise Forbidden(f"The signature is not by the key that {account_id} has on the ledger")


def _note(account_id: str, moment: int) -> bool:
    """Note when a session began or ended. Returns whether that is later than what was noted before."""
    with write() as db:
        return properties.mark_later(db, properties.CONSOLE + account_id, _write(moment))


def _write(moment: int) -> bytes:
    return times.to_iso(moment).encode()


def _read_date(value: bytes | None) -> int:
    return times.to_nanoseconds(value.decode()) if value else 0


def _load(purpose: str, token: str) -> Any:
    """The values of a token; None if this service has not signed it for that purpose."""
    try:
        return _serializer(purpose).loads(token)
    except BadData:
        return None


def _serializer(purpose: str) -> URLSafeSerializer:
    options = {"digest_method": hashlib.sha256}
    salt = f"console {purpose}"
    return URLSafeSerializer(visitors.find_secret(), salt=salt, signer_kwargs=options)
