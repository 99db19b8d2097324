"""The key of the marketplace's account: which files are taken, and that no refusal shows what is in them."""

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hiero_sdk_python.crypto.private_key import PrivateKey
from werkzeug.wrappers import Response

from harness.apps import on_testnet, settings
from harness.cast import TESTNET
from harness.ledger import Ledger
from harness.network import serve
from harness.serving import run_flask
from hiero_sandbox.ledger import keys
from marketplace import create_app
from marketplace.errors import StartRefused
from marketplace.hedera.signatures import verifies
from marketplace.ledger.mirror import MirrorNode
from marketplace.market.buying.key_file import FileKey, read_key
from marketplace.services import services
from marketplace.serving import startup
from marketplace.settings import load

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
    "ECDSA, PEM": (ECDSA, encode(ECDSA, "PEM", "PKCS8")),
    "ECDSA, older PEM": (ECDSA, encode(ECDSA, "PEM", "TraditionalOpenSSL")),
    "ECDSA, openssl's PEM": (ECDSA, parameters_first(ECDSA)),
    "ECDSA, DER": (ECDSA, encode(ECDSA, "DER", "PKCS8")),
    "ECDSA, Hedera's DER": (ECDSA, HEDERAS),
    "ECDSA, Hedera's DER in hexadecimal": (ECDSA, HEDERAS.hex().encode() + b"\r\n"),
    "with 0x": (ED25519, b"0x" + encode(ED25519, "DER", "PKCS8").hex().upper().encode()),
    "with 0X": (ED25519, b"0X" + encode(ED25519, "DER", "PKCS8").hex().encode()),
    "UTF-16": (ED25519, encode(ED25519, "PEM", "PKCS8").decode().encode("utf-16")),
    "UTF-16, DER": (ECDSA, HEDERAS.hex().encode("utf-16")),
    "UTF-8 with a mark": (ED25519, b"\xef\xbb\xbf" + encode(ED25519, "PEM", "PKCS8")),
    "CRLF": (ED25519, encode(ED25519, "PEM", "PKCS8").replace(b"\n", b"\r\n")),
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
def test_a_private_key_of_each_form_is_read(put, name):
    key, content = TAKEN[name]
    public_key, signature = read_key(put(content))(b"body")
    assert public_key == raw(key)
    assert verifies(public_key, signature, b"body")


SECRET = b"0123456789abcdef" * 5
PUBLIC = ED25519.public_key().public_bytes(
    serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
)
LOCKED = serialization.BestAvailableEncryption(b"secret")
NO_KEY = "does not hold a private key of ED25519 or ECDSA secp256k1, not encrypted"
REFUSED = {
    "nothing": b"",
    "blank": b" \n\t",
    "garbage": SECRET + b"?",
    "too many digits": SECRET,
    "an odd number of digits": SECRET[:63],
    "cut": TAKEN["ED25519, PEM"][1][:60],
    "cut in the middle": TAKEN["ED25519, DER"][1][:40],
    "no scalar": HEDERAS[:-32] + bytes(32),
    "too large": b"A" * 20_000,
    "a public key": PUBLIC,
    "RSA": encode(rsa.generate_private_key(65537, 2048), "PEM", "PKCS8"),
    "RSA, DER": encode(rsa.generate_private_key(65537, 2048), "DER", "PKCS8"),
    "another curve": encode(ec.generate_private_key(ec.SECP256R1()), "PEM", "PKCS8"),
    "UTF-16, cut": encode(ED25519, "PEM", "PKCS8").decode().encode("utf-16")[:41],
    "encrypted DER": encode(ED25519, "DER", "PKCS8", LOCKED),
    "64 bytes": bytes(range(32)) + raw(ED25519),
}
ENCRYPTED = {
    "PKCS #8": encode(ED25519, "PEM", "PKCS8", LOCKED),
    "older": encode(ECDSA, "PEM", "TraditionalOpenSSL", LOCKED),
}


def refusal(path):
    with pytest.raises(StartRefused) as refused:
        read_key(path)
    assert str(refused.value).startswith(f"MARKETPLACE_ACCOUNT_KEY_FILE={path} ")
    return str(refused.value)


@pytest.mark.parametrize("name", REFUSED)
def test_it_rejects_what_is_no_key(put, name):
    content = REFUSED[name]
    sentence = refusal(put(content))
    assert NO_KEY in sentence
    assert "portal shows an account's key as DER" in sentence
    for part in (content.strip()[:12], content.hex()[:12].encode()):
        assert not part or part.decode(errors="replace") not in sentence.partition(" ")[2]


@pytest.mark.parametrize("name", ENCRYPTED)
def test_the_refusal_says_that_a_key_is_encrypted(put, name):
    assert "is encrypted" in refusal(put(ENCRYPTED[name]))


@pytest.mark.parametrize("before", [b"", b"0x", b"0X"])
@pytest.mark.parametrize(("kind", "key"), [("ED25519", ED25519), ("ECDSA", ECDSA)])
def test_the_refusal_of_a_raw_key_has_the_line_that_converts_it(put, kind, key, before):
    digits = PrivateKey(key).to_bytes_raw().hex()
    sentence = refusal(path := put(before + digits.encode() + b"\n"))
    assert digits[:12] not in sentence
    [line] = re.findall(rf"{kind}: (sed .*?/key)", sentence)
    subprocess.run(line, shell=True, check=True)
    assert read_key(path).public_key == raw(key)


@pytest.mark.parametrize("name", ["nothing", "nothing/at/all", "n" * 300])
def test_it_rejects_what_is_not_there_without_showing_it(tmp_path, name):
    with pytest.raises(StartRefused) as refused:
        read_key(f"{tmp_path}/{name}")
    assert "names no file that can be read: " in str(refused.value)
    assert name not in str(refused.value)


def test_it_rejects_a_folder(tmp_path):
    with pytest.raises(StartRefused, match="names no file that can be read: Is a directory"):
        read_key(str(tmp_path))


def test_it_rejects_a_pipe_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert "is not a regular file" in refusal(f"{tmp_path}/pipe")


def test_it_follows_links_as_kubernetes_makes_them(put, tmp_path):
    put(TAKEN["ED25519, PEM"][1])
    (tmp_path / "..data").symlink_to(".")
    (tmp_path / "link").symlink_to("..data/key")
    assert read_key(f"{tmp_path}/link")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives links away")
def test_it_rejects_another_users_link(put, tmp_path):
    (tmp_path / "link").symlink_to(put(TAKEN["ED25519, PEM"][1]))
    os.lchown(tmp_path / "link", 12345, -1)
    assert "is a file or a link of another user, who can change it" in refusal(f"{tmp_path}/link")


@pytest.fixture
def as_another_user():
    """Be a user who is not root, in a folder that it may read."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
@pytest.mark.parametrize(
    ("mode", "owner", "is_taken"),
    [
        (0o440, 0, True),  # of Kubernetes with fsGroup, and of systemd's LoadCredential
        (0o640, 0, True),
        (0o444, 0, False),
        (0o660, 0, False),
        (0o440, 12345, False),
    ],
)
def test_it_takes_what_root_hands_over_to_a_group(as_another_user, mode, owner, is_taken):
    path = as_another_user / "key"
    path.write_bytes(TAKEN["ED25519, PEM"][1])
    path.chmod(mode)
    os.chown(path, owner, 12345)
    os.setegid(12345)
    os.seteuid(12345)
    try:
        with nullcontext() if is_taken else pytest.raises(StartRefused, match="by others"):
            read_key(str(path))
    finally:
        os.seteuid(0)
        os.setegid(0)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o666, 0o777])
def test_it_rejects_a_file_that_others_may_read(put, mode):
    sentence = refusal(put(TAKEN["ED25519, PEM"][1], mode))
    assert f"its mode is {mode:o}" in sentence
    assert "chmod 600" in sentence


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_it_rejects_another_users(put):
    path = put(TAKEN["ED25519, PEM"][1])
    os.chown(path, 12345, -1)
    assert "of another user" in refusal(path)


def test_a_key_shows_only_its_public_half():
    key = FileKey(PrivateKey(ED25519))
    assert repr(key) == f"<FileKey {raw(ED25519).hex()}>"


# The start


def learn(app, key):
    """Let the ledger know the account's key: it signs something."""
    encoded = keys.of_bytes(raw(key)).SerializeToString().hex()
    Ledger(app).change_account("0.0.9001", key=encoded)


@pytest.mark.parametrize("how", ["ACCOUNT_KEY_FILE", "sign"])
def test_the_sandbox_refuses_a_real_key(tmp_path, put, how):
    """What it signs is valid on the account's network: a transaction names none."""
    given = put(TAKEN["ED25519, PEM"][1]) if how == "ACCOUNT_KEY_FILE" else print
    with pytest.raises(StartRefused, match="MARKETPLACE_NETWORK is sandbox"):
        create_app(**settings(tmp_path), **{how: given})
    assert os.listdir(tmp_path) == ["key"] * (how == "ACCOUNT_KEY_FILE")


@pytest.mark.parametrize("name", ["ED25519, PEM", "ECDSA, DER"])
def test_purchases_are_signed_by_it(tmp_path, make_market, put, name):
    key, content = TAKEN[name]
    learn(create_app(**settings(tmp_path)), key)
    market = make_market(sign=read_key(put(content)))
    assert market.submit(market.buy(market.list_one())).result == "SUCCESS"


@pytest.mark.parametrize("name", ["ED25519, DER", "ECDSA, PEM"])
def test_a_start_with_another_key_is_refused(tmp_path, put, name):
    key = {"_type": "ED25519", "key": raw(Ed25519PrivateKey.generate()).hex()}
    account = Response(json.dumps({"account": "0.0.4321", "balance": {"balance": 5}, "key": key}))
    with serve(account) as url:
        app = on_testnet(tmp_path, url, ACCOUNT_KEY_FILE=put(TAKEN[name][1]))
        account_id = app.config["ACCOUNT_ID"]
        with pytest.raises(StartRefused, match=f"not hold the key that {account_id} has on the l"):
            startup.require_account(app)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"key": None}, "0.0.4321 is hollow: it has no key until it signs a transaction"),
        ({"key": {"_type": "ProtobufEncoded", "key": "32"}}, "is a list of keys, or a contract"),
        ({"deleted": True}, "0.0.4321 is not an account on the ledger"),
    ],
)
def test_a_start_with_an_unfit_account_is_refused(tmp_path, put, change, words):
    """Also where a host signs, whose key nobody knows before it does."""
    account = Response(json.dumps({"account": "0.0.4321", "balance": {"balance": 5}} | change))
    with serve(account) as url:
        for how in ({"ACCOUNT_KEY_FILE": put(TAKEN["ED25519, PEM"][1])}, {"sign": print}):
            app = on_testnet(tmp_path, url, ACCOUNT_ID="0.0.4321", **how)
            with pytest.raises(StartRefused, match=words):
                startup.require_account(app)


def test_making_the_application_asks_nobody(tmp_path, put, monkeypatch):
    monkeypatch.setattr(MirrorNode, "_get_object", None)
    on_testnet(tmp_path, ACCOUNT_KEY_FILE=put(TAKEN["ED25519, PEM"][1]))


def test_a_start_without_the_mirror_node_warns(tmp_path, put, caplog):
    path = put(TAKEN["ED25519, PEM"][1])
    app = on_testnet(tmp_path, ACCOUNT_KEY_FILE=path)
    startup.require_account(app)
    assert "key could not be compared with the account's" in caplog.text
    assert services(app).signer


def test_a_key_file_beside_a_signer_stops_the_start(tmp_path, put):
    path = put(TAKEN["ED25519, PEM"][1])
    with pytest.raises(StartRefused, match="are both set"):
        on_testnet(tmp_path, ACCOUNT_KEY_FILE=path, sign=lambda body: None)


def test_an_operators_command_needs_no_key(tmp_path):
    own = TESTNET | {"ACCOUNT_KEY_FILE": str(tmp_path)}
    assert run_flask(tmp_path, "token", "list", **own).exit_code == 0


# A key in place of the path

DER = encode(ED25519, "DER", "PKCS8")
PASTED = {
    "Hedera's DER": HEDERAS.hex(),
    "raw": RAW.hex(),
    "in quotes": f'"{RAW.hex()}"',
    "on two lines": RAW.hex()[:32] + "\n" + RAW.hex()[32:],
    "cut": RAW.hex()[:50],
    "PEM on one line": encode(ECDSA, "PEM", "PKCS8").decode().replace("\n", "\\n"),
    "base64 of DER": base64.b64encode(DER).decode(),
    "base64 of raw": base64.b64encode(RAW).decode(),
    "base64 without padding": base64.urlsafe_b64encode(RAW).decode().rstrip("="),
    "base64 of PEM": base64.b64encode(encode(ED25519, "PEM", "PKCS8")).decode(),
    "bytes of DER": DER,
    "a recovery phrase": "abandon ability able about above absent absorb abstract absurd abuse access acid",
}


def assert_not_shown(pasted, text):
    pasted = pasted.decode("latin-1") if isinstance(pasted, bytes) else pasted
    for part in (pasted[20:32], repr(pasted)[20:32], RAW.hex()[12:20]):
        assert part not in text


@pytest.mark.parametrize("name", PASTED)
@pytest.mark.parametrize("setting", ["ACCOUNT_KEY_FILE", "ACCOUNT_ID", "DATABASE_URL"])
def test_a_key_in_place_of_a_setting_is_not_shown(tmp_path, name, setting):
    with pytest.raises(StartRefused) as refused:
        startup.require_ready(create_app(**settings(tmp_path) | TESTNET | {setting: PASTED[name]}))
    assert f"MARKETPLACE_{setting} " in str(refused.value)
    assert_not_shown(PASTED[name], str(refused.value))
    assert refused.value.__suppress_context__  # nor in a traceback
    if setting == "ACCOUNT_KEY_FILE":
        assert "give the account a new key" in str(refused.value)


@pytest.mark.parametrize("name", PASTED)
def test_the_status_does_not_show_a_key(tmp_path, name):
    value = PASTED[name] if isinstance(PASTED[name], str) else str(PASTED[name])
    value = value.replace("\n", " ")
    output = run_flask(tmp_path, "status", **TESTNET | {"ACCOUNT_KEY_FILE": value}).output
    assert "\n  MARKETPLACE_ACCOUNT_KEY_FILE=(not shown: it names no file)\n" in output
    assert_not_shown(value, output)


@pytest.mark.parametrize("path", ["/etc/nft-marketplace.key", "/run/secrets/" + 64 * "a", ""])
def test_a_path_may_be_long(path):
    assert load(TESTNET | {"ACCOUNT_KEY_FILE": path}, {})["ACCOUNT_KEY_FILE"] == path
