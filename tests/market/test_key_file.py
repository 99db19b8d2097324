"""The key of the marketplace's account: which files are taken, and that no refusal shows what is in them."""

import base64
import os
import subprocess

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hiero_sdk_python.crypto.private_key import PrivateKey

from marketplace import create_app
from marketplace.errors import StartRefused
from marketplace.market.key_file import FileKey, read_keys
from marketplace.market.signer import verifies
from marketplace.sandbox.ledger import accounts
from marketplace.store.database import write
from tests.conftest import BOB, TOKEN, Ledger, authorized_client, settings

pytestmark = pytest.mark.once("no statement is asked")

ED25519 = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
ECDSA = ec.derive_private_key(int.from_bytes(bytes(range(1, 33))), ec.SECP256K1())
PLAIN = serialization.NoEncryption()


def encode(key, encoding, form, encryption=PLAIN):
    encoding = getattr(serialization.Encoding, encoding)
    return key.private_bytes(encoding, getattr(serialization.PrivateFormat, form), encryption)


def parameters_first(key):
    """As openssl ecparam -genkey writes it: the name of the curve, and then the key."""
    parameters = base64.b64encode(bytes.fromhex("06052b8104000a")).decode()
    pem = encode(key, "PEM", "TraditionalOpenSSL")
    return (
        f"-----BEGIN EC PARAMETERS-----\n{parameters}\n-----END EC PARAMETERS-----\n".encode() + pem
    )


RAW = ECDSA.private_numbers().private_value.to_bytes(32)
HEDERAS = bytes.fromhex("3030020100300706052b8104000a04220420") + RAW
TAKEN = {
    "ED25519, PEM": (ED25519, encode(ED25519, "PEM", "PKCS8")),
    "ED25519, DER": (ED25519, encode(ED25519, "DER", "PKCS8")),
    "ED25519, DER in hexadecimal": (ED25519, encode(ED25519, "DER", "PKCS8").hex().encode()),
    "ED25519, raw": (ED25519, bytes(range(32)).hex().encode() + b"\n"),
    "ED25519, raw with 0x": (ED25519, b"0x" + bytes(range(32)).hex().upper().encode()),
    "ECDSA, PEM": (ECDSA, encode(ECDSA, "PEM", "PKCS8")),
    "ECDSA, older PEM": (ECDSA, encode(ECDSA, "PEM", "TraditionalOpenSSL")),
    "ECDSA, openssl's PEM": (ECDSA, parameters_first(ECDSA)),
    "ECDSA, DER": (ECDSA, encode(ECDSA, "DER", "PKCS8")),
    "ECDSA, older DER in hexadecimal": (
        ECDSA,
        encode(ECDSA, "DER", "TraditionalOpenSSL").hex().encode(),
    ),
    "ECDSA, Hedera's DER": (ECDSA, HEDERAS),
    "ECDSA, Hedera's DER in hexadecimal": (ECDSA, HEDERAS.hex().encode() + b"\r\n"),
    "ECDSA, raw": (ECDSA, RAW.hex().encode()),
    "with blanks around": (ED25519, b"\n \n" + encode(ED25519, "PEM", "PKCS8") + b"\n\n"),
}


def raw(key):
    return PrivateKey(key).public_key().to_bytes_raw()


@pytest.fixture
def put(tmp_path):
    def put(content, mode=0o600):
        path = tmp_path / "key"
        path.write_bytes(content)
        path.chmod(mode)
        return str(path)

    return put


@pytest.mark.parametrize("name", TAKEN)
def test_it_works(put, name):
    key, content = TAKEN[name]
    keys = {each.public_key: each for each in read_keys(put(content))}
    public_key, signature = keys[raw(key)](b"body")
    assert public_key == raw(key)
    assert verifies(public_key, signature, b"body")
    assert len(keys) == (2 if "raw" in name else 1)  # of which type, only the ledger says


SECRET = b"0123456789abcdef" * 5
REFUSED = {
    "empty": (b"", "is empty"),
    "blank": (b" \n\t", "is empty"),
    "garbage": (SECRET + b"?", "does not hold a private key"),
    "too many digits": (SECRET, "does not hold a private key"),
    "too few digits": (SECRET[:60], "does not hold a private key"),
    "an odd number of digits": (SECRET[:63], "does not hold a private key"),
    "binary": (bytes(range(128, 255)), "does not hold a private key"),
    "cut": (TAKEN["ED25519, PEM"][1][:60], "does not hold a private key"),
    "cut in the middle": (TAKEN["ED25519, DER"][1][:40], "does not hold a private key"),
    "no scalar": (HEDERAS[:-32] + bytes(32), "does not hold a private key"),
    "too large": (b"A" * 20_000, "is larger than 16384 bytes"),
    "a public key": (
        ED25519.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
        "does not hold a private key",
    ),
    "RSA": (
        encode(rsa.generate_private_key(65537, 2048), "PEM", "PKCS8"),
        "a key of a kind that Hedera has not",
    ),
    "another curve": (
        encode(ec.generate_private_key(ec.SECP256R1()), "PEM", "PKCS8"),
        "a key of a kind that Hedera has not",
    ),
    "encrypted": (
        encode(ED25519, "PEM", "PKCS8", serialization.BestAvailableEncryption(b"secret")),
        "is encrypted",
    ),
    "encrypted DER": (
        encode(ED25519, "DER", "PKCS8", serialization.BestAvailableEncryption(b"secret")),
        "is encrypted",
    ),
}


def refusal(path):
    with pytest.raises(StartRefused) as refused:
        read_keys(path)
    assert str(refused.value).startswith(f"MARKETPLACE_ACCOUNT_KEY_FILE={path} ")
    return str(refused.value)


@pytest.mark.parametrize("name", REFUSED)
def test_it_rejects_what_is_no_key(put, name):
    content, words = REFUSED[name]
    sentence = refusal(put(content))
    assert words in sentence
    for part in (content.strip()[:12], content.hex()[:12].encode()):
        assert not part or part.decode(errors="replace") not in sentence.partition(" ")[2]


def test_it_rejects_what_is_not_there(tmp_path):
    assert "No such file" in refusal(f"{tmp_path}/nothing")


def test_it_rejects_a_folder(tmp_path):
    assert "is a folder" in refusal(str(tmp_path))


def test_it_rejects_a_pipe_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is no file" in refusal(f"{tmp_path}/pipe")


def test_it_rejects_a_link(put, tmp_path):
    (tmp_path / "link").symlink_to(put(TAKEN["ED25519, PEM"][1]))
    assert "is a link" in refusal(f"{tmp_path}/link")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666, 0o777])
def test_it_rejects_what_others_may_read(put, mode):
    sentence = refusal(put(TAKEN["ED25519, PEM"][1], mode))
    assert f"its mode is {mode:o}" in sentence
    assert "chmod 600" in sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_it_rejects_another_users(put):
    path = put(TAKEN["ED25519, PEM"][1])
    os.chown(path, 12345, -1)
    assert "belongs to another user" in refusal(path)


def test_a_key_shows_only_its_public_half():
    key = FileKey(PrivateKey(ED25519))
    assert repr(key) == f"<FileKey {raw(ED25519).hex()}>"


# The start


def start(tmp_path, path, **more):
    return create_app(ACCOUNT_KEY_FILE=path, **settings(tmp_path), **more)


def learn(app, key):
    """Let the ledger know the account's key: it signs something."""
    ledger = Ledger(app)
    with ledger.sandbox.app_context(), write() as db:
        kind = "ED25519" if len(raw(key)) == 32 else "ECDSA_SECP256K1"
        accounts.learn_key(db, "0.0.9001", kind, raw(key).hex(), 1)


@pytest.mark.parametrize("name", ["ED25519, raw", "ECDSA, raw", "ED25519, PEM", "ECDSA, DER"])
def test_purchases_are_signed_by_it(tmp_path, put, decoder, name):
    key, content = TAKEN[name]
    path = put(content)
    learn(create_app(**settings(tmp_path)), key)
    app = start(tmp_path, path)
    app.extensions["decoder"] = decoder
    client, ledger = authorized_client(app, "read", "write"), Ledger(app)
    keys = {"accountId": "0.0.1001", "tokenId": TOKEN, "serialNo": 7}
    assert client.post("/v1/add", json=keys).status_code == 200
    listed = client.post("/v1/list/extwallet", json=keys | {"listingPrice": 5}).json
    ledger.sign_and_submit(listed["byteArray"])
    r = client.post("/v1/buy/extwallet", json=keys | {"accountId": BOB})
    ledger.sign_and_submit(r.json["byteArray"], BOB)


@pytest.mark.parametrize("name", ["ED25519, raw", "ECDSA, PEM"])
def test_a_start_with_another_key_is_refused(tmp_path, put, name):
    path = put(TAKEN[name][1])
    learn(create_app(**settings(tmp_path)), Ed25519PrivateKey.generate())
    with pytest.raises(StartRefused, match=r"holds another key than that of 0\.0\.9001 on the led"):
        start(tmp_path, path)


def test_a_start_without_the_mirror_node_warns(tmp_path, put, caplog):
    path = put(TAKEN["ED25519, PEM"][1])
    real = {"NETWORK": "testnet", "ACCOUNT_ID": "0.0.4321", "MIRROR_NODE_URL": "http://127.0.0.1:9"}
    app = start(tmp_path, path, **real)
    assert "was not compared with the account's key" in caplog.text
    assert app.extensions["signer"]


def test_two_signers_are_one_too_many(tmp_path, put):
    path = put(TAKEN["ED25519, PEM"][1])
    with pytest.raises(StartRefused, match="only one can sign"):
        start(tmp_path, path, sign=lambda body: None)


def test_an_operators_command_needs_no_key(tmp_path):
    environ = os.environ | {
        "MARKETPLACE_ACCOUNT_KEY_FILE": str(tmp_path),
        "MARKETPLACE_DATABASE_URL": f"sqlite:///{tmp_path}/m.db",
        "MARKETPLACE_SANDBOX_DATABASE_URL": f"sqlite:///{tmp_path}/s.db",
    }
    command = [".venv/bin/flask", "--app", "wsgi", "token", "list"]
    assert subprocess.run(command, env=environ, capture_output=True).returncode == 0
    served = [".venv/bin/python", "-c", "import wsgi"]
    process = subprocess.run(served, env=environ, capture_output=True, text=True)
    assert process.returncode
    assert "is a folder" in process.stderr


def test_a_wrong_file_is_a_sentence_of_the_server(tmp_path):
    with pytest.raises(StartRefused, match="is a folder: name a file that holds a private key"):
        start(tmp_path, str(tmp_path))
