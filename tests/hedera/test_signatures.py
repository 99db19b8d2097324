"""Which signatures satisfy a key: of ED25519, of ECDSA, and of several keys at once."""

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import ContractID, Key, KeyList, ThresholdKey

from marketplace.hedera import transactions
from marketplace.hedera.signatures import SECP256K1_ORDER, KeySignature, find_signers

BODY = b"the body of a transaction"
A, B, C = (PrivateKey.from_bytes_ed25519(bytes([number]) * 32) for number in (1, 2, 3))
ECDSA = PrivateKey.from_bytes_ecdsa(bytes([4]) * 32)
CONTRACT = Key(contractID=ContractID(contractNum=1001))


def public(private):
    return private.public_key().to_bytes_raw()


def every(*keys):
    return Key(keyList=KeyList(keys=keys))


def some(threshold, *keys):
    return Key(thresholdKey=ThresholdKey(threshold=threshold, keys=KeyList(keys=keys)))


def sign(private, prefix=None, body=BODY):
    prefix = public(private) if prefix is None else prefix
    return KeySignature(prefix, private.sign(body), private is ECDSA)


def find(key, *pairs):
    """The private keys' names whose signatures are taken; None if they do not satisfy the key."""
    pairs = find_signers(key, pairs, BODY)
    names = {public(private): name for name, private in NAMES.items()}
    return None if pairs is None else "".join(names[pair.prefix] for pair in pairs)


NAMES = {"a": A, "b": B, "c": C, "e": ECDSA}
a, b, c, e = (transactions.make_public_key(public(private)) for private in NAMES.values())

CASES = {
    "one key": (a, "a", "a"),
    "another key": (a, "b", None),
    "nobody": (a, "", None),
    "ECDSA": (e, "e", "e"),
    "a list": (every(a, b, e), "eba", "abe"),
    "a list with one missing": (every(a, b, e), "ab", None),
    "a threshold": (some(2, a, b, c), "ca", "ac"),
    "a threshold with one missing": (some(2, a, b, c), "c", None),
    "a threshold with one too many": (some(2, a, b, c), "abc", "ab"),
    "a list in a threshold": (some(1, every(a, b), every(c, e)), "ace", "ce"),
    "halves of two lists": (some(1, every(a, b), every(c, e)), "ac", None),
    "a threshold in a list": (every(e, some(1, a, b)), "be", "eb"),
    "a key that stands twice": (every(a, some(1, a, b)), "a", "a"),
    "a contract": (CONTRACT, "abce", None),
    "a contract in a list": (every(a, CONTRACT), "a", None),
    "a contract in a threshold": (some(1, CONTRACT, a), "a", "a"),
    "no key": (Key(), "a", None),
    "an empty list": (every(), "a", None),
    "an empty threshold": (some(0), "a", None),
    "a list in which one is empty": (every(a, every()), "a", None),
}


@pytest.mark.parametrize(("key", "signers", "taken"), CASES.values(), ids=CASES)
def test_who_satisfies_a_key(key, signers, taken):
    assert find(key, *(sign(NAMES[name]) for name in signers)) == taken


def test_a_high_s_is_lowered():
    low = sign(ECDSA)
    [low] = find_signers(e, [low], BODY)
    r, s = low.signature[:32], int.from_bytes(low.signature[32:])
    assert s <= SECP256K1_ORDER // 2
    high = low._replace(signature=r + (SECP256K1_ORDER - s).to_bytes(32))
    assert find_signers(e, [high], BODY) == [low]


def test_ecdsa_signs_keccak_256():
    """And not SHA-256 or SHA3-256."""
    assert find(e, sign(ECDSA)) == "e"
    number = ec.derive_private_key(int.from_bytes(bytes([4]) * 32), ec.SECP256K1())
    for algorithm in (hashes.SHA256(), hashes.SHA3_256()):
        r, s = utils.decode_dss_signature(number.sign(BODY, ec.ECDSA(algorithm)))
        assert find(e, KeySignature(public(ECDSA), r.to_bytes(32) + s.to_bytes(32), True)) is None


def test_a_prefix_may_be_short_if_it_means_one_key():
    [pair] = find_signers(a, [sign(A, b"")], BODY)
    assert pair.prefix == public(A)
    assert find(every(a, b), sign(A, public(A)[:3]), sign(B, public(B)[:3])) == "ab"
    assert find(some(1, a, b), sign(A, b""), sign(B, b"")) is None
    assert (
        find(every(a, e), sign(A, b""), sign(ECDSA, b"")) == "ae"
    )  # each the only one of its kind


def test_a_repeated_pair_counts_once():
    assert find(some(2, a, b, c), sign(A), sign(A), sign(A, public(A)[:5])) is None
    assert find(a, sign(A), sign(A)) == "a"


def test_junk_is_dropped():
    junk = [
        KeySignature(public(A), bytes(64), False),
        KeySignature(public(A), b"", False),
        KeySignature(public(A), sign(A).signature[:-1], False),
        KeySignature(public(A), sign(A).signature, True),  # as if it were ECDSA
        KeySignature(bytes(32), bytes(64), False),
        KeySignature(bytes(100), bytes(64), True),
        KeySignature(public(ECDSA), b"\xff" * 64, True),
        sign(A, body=b"another body"),
        sign(C),
    ]
    assert find(every(a, e), *junk) is None
    assert find(every(a, e), *junk, sign(A), sign(ECDSA), *junk) == "ae"
