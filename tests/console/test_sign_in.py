"""Operators sign in to the console with their wallet's signature of a challenge, which works once."""

import base64
import re

import pytest
from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, KeyList, SignatureMap

from harness.apps import copy_app
from harness.cast import ALICE, BOB, CHARLIE
from harness.mirror import MISSING, Mirror
from marketplace.hedera import times
from marketplace.sandbox import wallet
from tests.console.operator import ORIGIN, ask, post, sign, sign_in
from tests.engines import both_engines

EXPIRED = "has expired, or was used"


@pytest.fixture
def client(app):
    return app.test_client()


@pytest.fixture
def mirror(app):
    return Mirror(app)


def is_signed_in(client):
    return client.get("/console").status_code == 200


def assert_refused(client, response, sentence, status=403):
    assert (response.status_code, sentence in response.text) == (status, True), response.text
    assert "Set-Cookie" not in response.headers
    assert not is_signed_in(client)
    assert 'action="/console"' in response.text  # to begin again


def set_key(mirror, kind, content):
    key = {"_type": kind, "key": bytes(content).hex()}
    mirror.alter(f"/accounts/{ALICE}", lambda account: account.update(key=key))


def test_it_works(client):
    assert client.get("/console").status_code == 403
    response = sign_in(client)
    assert (response.status_code, response.location) == (303, "/console")
    assert ALICE in client.get("/console").text


def test_the_text_says_who_signs_in_where_and_until_when(make):
    client = make(PUBLIC_URL="https://nft.example.com", NAME="The shop").test_client()
    _, text = ask(client)
    for word in (
        "The shop: ",
        "of https://nft.example.com as 0.0.1001 on sandbox",
        "Until 20",
        "Z, once",
    ):
        assert word in text, word
    assert ask(client)[1] != text


def test_the_session_is_a_cookie_of_this_site_alone(make):
    cookie = sign_in(make().test_client()).headers["Set-Cookie"]
    attributes = set(cookie.split("; ")[1:])
    assert {"HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age=3600"} <= attributes
    assert "Secure" not in attributes and "Domain" not in cookie
    secure = sign_in(make(PUBLIC_URL="https://nft.example.com").test_client())
    assert "; Secure" in secure.headers["Set-Cookie"]


def test_it_lasts_an_hour(client, monkeypatch):
    sign_in(client)
    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now + times.HOUR)
    assert not is_signed_in(client)


@pytest.mark.parametrize("kind", ["ED25519", "ECDSA_SECP256K1"])
def test_both_kinds_of_keys_and_shortened_prefixes_work(client, mirror, kind):
    own = PrivateKey.generate_ed25519() if kind == "ED25519" else PrivateKey.generate_ecdsa()
    set_key(mirror, kind, own.public_key().to_bytes_raw())
    for shown in (None, 4, 0):
        another = client.application.test_client()
        assert sign_in(another, own, shown).status_code == 303
        assert is_signed_in(another)


def test_of_a_list_of_keys_all_must_have_signed(client, mirror):
    keys = [PrivateKey.generate_ed25519(), PrivateKey.generate_ed25519()]
    listed = [Key(ed25519=bytes(key.public_key().to_bytes_raw())) for key in keys]
    set_key(mirror, "ProtobufEncoded", Key(keyList=KeyList(keys=listed)).SerializeToString())
    assert_refused(client, sign_in(client, keys[0]), "is not by the key")
    challenge, text = ask(client)
    both = SignatureMap()
    for key in keys:
        both.MergeFromString(base64.b64decode(sign(text, key)))
    post(client, challenge, base64.b64encode(both.SerializeToString()).decode())
    assert is_signed_in(client)


def test_another_key_is_refused_whatever_prefix_it_shows(client, mirror):
    own = PrivateKey.generate_ed25519()
    set_key(mirror, "ED25519", own.public_key().to_bytes_raw())
    assert_refused(client, sign_in(client), "is not by the key")
    assert_refused(client, sign_in(client, shown=0), "is not by the key")
    challenge, text = ask(client)
    forged = SignatureMap.FromString(base64.b64decode(sign(text)))
    forged.sigPair[0].pubKeyPrefix = bytes(own.public_key().to_bytes_raw())
    signature = base64.b64encode(forged.SerializeToString()).decode()
    assert_refused(client, post(client, challenge, signature), "is not by the key")


@pytest.mark.parametrize("signature", ["", "?", "é", "AAAA", "/w=="])
def test_what_is_no_signature_is_refused_without_asking_the_ledger(client, mirror, signature):
    challenge, _ = ask(client)
    assert_refused(client, post(client, challenge, signature), "not a signature map")
    assert mirror.count("/accounts/") == 0


def test_an_address_signs_in_as_often_as_it_may_write(make):
    client = make(WRITE_LIMIT="1/m").test_client()
    challenge, text = ask(client)
    assert post(client, challenge, "").status_code == 403
    assert post(client, challenge, sign(text)).status_code == 429


def test_an_account_that_was_deleted_or_is_gone_is_refused(client, mirror):
    mirror.alter(f"/accounts/{ALICE}", lambda account: account.update(deleted=True))
    assert_refused(client, sign_in(client), "was deleted")
    mirror.answer(f"/accounts/{ALICE}", MISSING)
    assert_refused(client, sign_in(client), "has no account")


def test_a_ledger_that_does_not_answer_is_said(client, mirror):
    mirror.fail(f"/accounts/{ALICE}", 400)
    assert_refused(client, sign_in(client), "invalid answer", status=502)


def test_only_named_accounts_are_asked(client):
    page = client.get(f"/console?account={CHARLIE}")
    assert (page.status_code, "STOREFRONT_OPERATORS" in page.text) == (403, True)
    assert 'name="challenge"' not in page.text


def test_an_account_that_is_no_longer_named_is_signed_out(make):
    first = make().test_client()
    challenge, text = ask(first, BOB)
    sign_in(first)
    cookie = first.get_cookie("console", path="/console").value
    later = make(STOREFRONT_OPERATORS=CHARLIE).test_client()
    later.set_cookie("console", cookie, path="/console")
    assert not is_signed_in(later)
    refused = post(later, challenge, sign(text, wallet.private_key(BOB)))
    assert_refused(later, refused, "STOREFRONT_OPERATORS")


def test_a_challenge_expires(client, monkeypatch):
    challenge, text = ask(client)
    now = times.now()
    monkeypatch.setattr(times, "now", lambda: now + 5 * times.MINUTE)
    assert_refused(client, post(client, challenge, sign(text)), EXPIRED)


@both_engines
def test_a_challenge_and_a_session_work_once(app, client):
    earlier, used = ask(client), ask(client)
    assert post(client, used[0], sign(used[1])).status_code == 303
    cookie = client.get_cookie("console", path="/console").value
    client.post("/console/sign-out", headers=ORIGIN)
    for challenge, text in (used, earlier):
        assert_refused(client, post(client, challenge, sign(text)), EXPIRED)
    client.set_cookie("console", cookie, path="/console")
    assert not is_signed_in(client)
    assert sign_in(client).status_code == 303
    sign_in(app.test_client())
    assert not is_signed_in(client)  # one session of an account at a time


def test_signing_out_works_after_the_clock_was_set_back(client, monkeypatch):
    sign_in(client)
    cookie = client.get_cookie("console", path="/console").value
    now = times.now() - 10 * times.MINUTE
    monkeypatch.setattr(times, "now", lambda: now)
    client.post("/console/sign-out", headers=ORIGIN)
    client.set_cookie("console", cookie, path="/console")
    assert not is_signed_in(client)
    assert_refused(client, sign_in(client), "later than this machine&#39;s clock")


@pytest.mark.parametrize("other", [{"PUBLIC_URL": "http://evil.example"}, {"NAME": "Another"}])
def test_a_signature_for_another_site_is_refused(make, client, other):
    """Although the same database has signed the challenge."""
    challenge, text = ask(make(**other).test_client())
    assert_refused(client, post(client, challenge, sign(text)), "is not by the key")


def test_a_host_header_does_not_change_the_text(client):
    page = client.get(f"/console?account={ALICE}", headers={"Host": "evil"})
    assert "evil" not in re.search("<pre.*?</pre>", page.text, re.DOTALL)[0]


def test_a_token_of_another_service_or_purpose_is_refused(client, tmp_path):
    challenge, text = ask(client)
    (tmp_path / "other").mkdir()
    other = copy_app(tmp_path / "other", STOREFRONT_OPERATORS=ALICE).test_client()
    assert_refused(other, post(other, challenge, sign(text)), EXPIRED)
    other.set_cookie("console", challenge, path="/console")
    assert not is_signed_in(other)
    assert_refused(client, post(client, challenge + "x", sign(text)), EXPIRED)


@pytest.mark.parametrize(
    "origin",
    [
        {},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "https://evil.example"},
        {"Host": "a b"},
    ],
)
def test_forms_of_other_pages_are_refused(client, origin):
    challenge, text = ask(client)
    form = {"challenge": challenge, "signature": sign(text)}
    refused = client.post("/console/sign-in", data=form, headers=origin)
    assert_refused(client, refused, "Another page")
    sign_in(client)
    assert client.post("/console/sign-out", headers=origin).status_code == 403
    assert is_signed_in(client)


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/", "/console.evil", "/console/\r\nX: y"]
)
def test_it_leads_back_to_pages_of_the_console_alone(client, to):
    challenge, text = ask(client, path="/console/nft/0.0.7001/7")
    assert post(client, challenge, sign(text), to=to).location == "/console"
    challenge, text = ask(client.application.test_client())
    back = post(client, challenge, sign(text), to="/console/nft/0.0.7001/7")
    assert back.location == "/console/nft/0.0.7001/7"


@pytest.mark.parametrize("path", ["sign-in", "sign-out"])
def test_the_address_of_a_form_leads_to_the_console(client, path):
    sign_in(client)
    assert client.get(f"/console/{path}").location == "/console"


def test_failures_count_as_failed_logins(client):
    for _ in range(30):
        assert client.get(f"/console?account={CHARLIE}").status_code == 403
    challenge, _ = ask(client)
    limited = post(client, challenge, "")
    assert limited.status_code == 429
    assert limited.headers["Retry-After"]


def test_the_demo_wallet_signs_in(client):
    challenge, text = ask(client, BOB)
    signed = client.get("/demo/message", query_string={"accountId": BOB, "message": text}).json
    assert post(client, challenge, signed["signatureMap"]).status_code == 303
