"""Accounts and tokens keep their expiry and period of renewal; HAPI shows the tokens of accounts, too."""

import pytest
from hiero_sdk_python import PrivateKey

from hiero_sandbox import times
from hiero_sandbox.messages import account, token
from sandbox.tests import hapi
from sandbox.tests.accounts import creation, public, update
from sandbox.tests.fungible_tokens import move
from sandbox.tests.people import ALICE
from sandbox.tests.tokens import ISSUER, TREASURY, about
from sandbox.tests.tokens import creation as token_creation

BALANCE = "/proto.CryptoService/cryptoGetBalance"
DAY = 24 * 3600
SIGNER = PrivateKey.generate_ed25519()


@pytest.fixture
def made(created):
    return created(creation(key=public(SIGNER), max_automatic_token_associations=-1), ALICE)


@pytest.fixture
def info_of(ask):
    def info_of(account_id):
        asked = {"payment": hapi.payment(ALICE), "accountID": account(account_id)}
        return ask("cryptoGetInfo", **asked)[0].accountInfo

    return info_of


def test_an_accounts_expiry_does_not_move(made, done, get, info_of):
    shown = get(f"/accounts/{made}")
    expiry = times.from_consensus(shown["created_timestamp"]) + 90 * DAY * times.SECOND
    assert shown["expiry_timestamp"] == times.to_consensus(expiry)
    done(update(made, autoRenewPeriod={"seconds": 40 * DAY}), ALICE, SIGNER)
    shown = get(f"/accounts/{made}")
    assert (shown["auto_renew_period"], shown["expiry_timestamp"]) == (
        40 * DAY, times.to_consensus(expiry),
    )  # fmt: skip
    later = expiry // times.SECOND + 5
    done(update(made, expirationTime={"seconds": later}), ALICE, SIGNER)
    assert get(f"/accounts/{made}")["expiry_timestamp"] == f"{later}.000000000"
    info = info_of(made)
    assert (info.expirationTime.seconds, info.autoRenewPeriod.seconds) == (later, 40 * DAY)


@pytest.mark.parametrize(
    ("days", "result"),
    [(-1, "INVALID_EXPIRATION_TIME"), (93, "INVALID_EXPIRATION_TIME"),
     (89, "EXPIRATION_REDUCTION_NOT_ALLOWED"), (91, "SUCCESS")],
)  # fmt: skip
def test_an_expiry_is_extended_only(made, submit, created, days, result):
    coin = created(token_creation(tokenType=0), TREASURY, ISSUER)
    moment = {"seconds": times.now() // times.SECOND + days * DAY}
    assert submit(update(made, expirationTime=moment), ALICE, SIGNER).result == result
    body = about("tokenUpdate", coin, expiry=moment)
    assert submit(body, TREASURY, ISSUER).result == result
    if result != "EXPIRATION_REDUCTION_NOT_ALLOWED":
        body = token_creation(tokenType=0, expiry=moment)
        assert submit(body, TREASURY, ISSUER).result == result


def test_a_tokens_expiry_does_not_move(done, created, get, ask):
    coin = created(token_creation(tokenType=0), TREASURY, ISSUER)
    expiry = get(f"/tokens/{coin}")["expiry_timestamp"]
    done(about("tokenUpdate", coin, autoRenewPeriod={"seconds": 40 * DAY}), TREASURY, ISSUER)
    shown = get(f"/tokens/{coin}")
    assert shown["auto_renew_period"] == 40 * DAY
    assert shown["expiry_timestamp"] // times.SECOND == expiry // times.SECOND
    paid = {"payment": hapi.payment(ALICE), "token": token(coin)}
    info = ask("tokenGetInfo", **paid)[0].tokenInfo
    assert info.expiry.seconds == expiry // times.SECOND


def test_an_account_shows_its_tokens(done, created, made, info_of):
    names = ("adminKey", "freezeKey", "kycKey", "supplyKey")
    created(token_creation(names=names, tokenType=0), TREASURY, ISSUER)
    fields = {"tokenType": 0, "initialSupply": 50, "decimals": 3, "symbol": "FREE"}
    free = created(token_creation(names=(), **fields), TREASURY)
    done(move(TREASURY, free, {TREASURY: -7, made: 7}), TREASURY)
    [shown] = info_of(made).tokenRelationships
    assert (shown.tokenId, shown.symbol, shown.balance, shown.decimals) == (
        token(free), "FREE", 7, 3,
    )  # fmt: skip
    assert (shown.freezeStatus, shown.kycStatus, shown.automatic_association) == (0, 0, True)
    [newest, _] = info_of(TREASURY).tokenRelationships
    assert newest.tokenId == token(free)
    [shown] = [each for each in info_of(TREASURY).tokenRelationships if each.tokenId != token(free)]
    assert (shown.freezeStatus, shown.kycStatus, shown.automatic_association) == (2, 1, False)


def test_a_balance_has_the_tokens(app, done, created, made, ask):
    app.config["BALANCE_QUERIES"] = True
    coin = created(token_creation(tokenType=0, initialSupply=50, decimals=3), TREASURY, ISSUER)
    done(move(TREASURY, coin, {TREASURY: -7, made: 7}), TREASURY)
    [held] = ask("cryptogetAccountBalance", BALANCE, accountID=account(made))[0].tokenBalances
    assert (held.tokenId, held.balance, held.decimals) == (token(coin), 7, 3)
