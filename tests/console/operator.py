"""An operator in a browser, with a wallet."""

import base64
import re

from hiero_sdk_python.hapi.services.basic_types_pb2 import SignatureMap

from harness.cast import ALICE
from marketplace.hedera.signatures import wrap_message
from marketplace.sandbox import wallet

ORIGIN = {"Origin": "http://localhost"}


def sign(text, key=None, shown=None):
    """What a wallet returns. ``shown``: how many bytes of its public key."""
    key = key or wallet.private_key(ALICE)
    field = "ed25519" if key.is_ed25519() else "ECDSA_secp256k1"
    signed = SignatureMap()
    prefix = bytes(key.public_key().to_bytes_raw())[:shown]
    signed.sigPair.add(pubKeyPrefix=prefix, **{field: key.sign(wrap_message(text))})
    return base64.b64encode(signed.SerializeToString()).decode()


def ask(client, account=ALICE, path="/console"):
    """The challenge that a page shows: its token and its text."""
    page = client.get(path, query_string={"account": account})
    token = re.search('name="challenge" value="([^"]+)"', page.text)
    assert token, page.text
    return token[1], re.search("<pre[^>]*>(.*?)</pre>", page.text, re.DOTALL)[1]


def post(client, challenge, signature, **more):
    form = {"challenge": challenge, "signature": signature} | more
    return client.post("/console/sign-in", data=form, headers=ORIGIN)


def sign_in(client, key=None, shown=None, account=ALICE):
    challenge, text = ask(client, account)
    return post(client, challenge, sign(text, key, shown))
