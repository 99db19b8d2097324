"""Who may change what of a token: the keys of its roles (HIP-540), its treasury, frozen accounts."""

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, TokenKeyValidation

from hiero_sandbox.ledger import keys
from hiero_sandbox.messages import account
from sandbox.tests.accounts import public, update
from sandbox.tests.bodies import association, minting, transfer
from sandbox.tests.people import ALICE, BOB
from sandbox.tests.tokens import ISSUER, NAMES, TREASURY, about, creation

ROLES = tuple(name for name in NAMES if name != "adminKey")
ROLE, NEW, ADMIN = (PrivateKey.generate_ed25519() for _ in range(3))
CHECKED, UNCHECKED = TokenKeyValidation.FULL_VALIDATION, TokenKeyValidation.NO_VALIDATION
NO_KEY = Key(keyList={})


@pytest.fixture
def create(created):
    def create(*signers, admin=None, **fields):
        roles = dict.fromkeys(ROLES, public(ROLE)) | ({"adminKey": public(admin)} if admin else {})
        return created(creation(names=(), **roles | fields), TREASURY, *signers)

    return create


@pytest.fixture
def change(submit):
    def change(token, *signers, **fields):
        return submit(about("tokenUpdate", token, **fields), TREASURY, *signers).result

    return change


@pytest.mark.parametrize("field", ROLES)
@pytest.mark.parametrize(
    ("mode", "signers", "result"),
    [
        (CHECKED, [ROLE, NEW], "SUCCESS"),
        (CHECKED, [ROLE], "INVALID_SIGNATURE"),
        (CHECKED, [NEW], "INVALID_SIGNATURE"),
        (UNCHECKED, [ROLE], "SUCCESS"),
        (UNCHECKED, [NEW], "INVALID_SIGNATURE"),
    ],
)
def test_a_role_changes_its_own_key(create, change, get, field, mode, signers, result):
    token = create()
    fields = {field: public(NEW), "key_verification_mode": mode}
    assert change(token, *signers, **fields) == result
    shown = get(f"/tokens/{token}")[field.replace("Key", "_key").lower()]
    assert shown == keys.shown(public(NEW if result == "SUCCESS" else ROLE))


def test_the_admin_key_changes_and_takes_away_all_others(create, change, get):
    token = create(ADMIN, admin=ADMIN)
    assert change(token, ADMIN, wipeKey=public(NEW)) == "SUCCESS"
    assert change(token, ROLE, supplyKey=NO_KEY) == "INVALID_SIGNATURE"
    assert change(token, ADMIN, supplyKey=NO_KEY) == "SUCCESS"
    assert get(f"/tokens/{token}")["supply_key"] is None
    assert change(token, ADMIN, supplyKey=public(NEW)) == "TOKEN_HAS_NO_SUPPLY_KEY"
    assert change(token, ADMIN, NEW, adminKey=public(NEW)) == "SUCCESS"
    assert change(token, NEW, adminKey=NO_KEY) == "SUCCESS"
    assert change(token, NEW, wipeKey=NO_KEY) == "TOKEN_IS_IMMUTABLE"
    assert change(token, NEW, supplyKey=public(NEW)) == "TOKEN_IS_IMMUTABLE"


def test_a_token_without_an_admin_key_keeps_its_names(create, change):
    token = create()
    assert change(token, ROLE, name="Dogs") == "TOKEN_IS_IMMUTABLE"
    assert change(token, ROLE, metadata={"value": b"new"}) == "SUCCESS"
    assert change(token, NEW, metadata={"value": b"new"}) == "INVALID_SIGNATURE"
    assert change(token, wipeKey=Key(ed25519=b"x")) == "INVALID_WIPE_KEY"


def test_an_update_may_change_nothing(create, change):
    token = create(ADMIN, admin=ADMIN)
    assert change(token) == "SUCCESS"
    assert change(token, ADMIN, treasury=account(TREASURY)) == "SUCCESS"


def test_an_empty_key_is_none(create, submit):
    token = create(wipeKey=NO_KEY)
    body = about("tokenWipe", token, account_id=ALICE, serialNumbers=[1])
    assert submit(body, TREASURY).result == "TOKEN_HAS_NO_WIPE_KEY"


def test_who_renews_it_signs(create, change, submit):
    token = create(ADMIN, admin=ADMIN)
    submit(transfer(BOB, {BOB: -1, ALICE: 1}), BOB)  # so Bob's key is known
    assert change(token, ADMIN, autoRenewAccount=account(BOB)) == "INVALID_SIGNATURE"
    assert change(token, ADMIN, BOB, autoRenewAccount=account(BOB)) == "SUCCESS"


def test_a_new_treasury_is_neither_frozen_nor_without_kyc(create, change, submit, get):
    token = create(ADMIN, admin=ADMIN, kycKey=public(ROLE), freezeDefault=True)
    submit(update(BOB, max_automatic_token_associations={"value": 0}), ALICE, BOB)
    full = "NO_REMAINING_AUTOMATIC_ASSOCIATIONS"
    assert change(token, ADMIN, BOB, treasury=account(BOB)) == full
    submit(association(BOB, token), BOB)
    assert change(token, ADMIN, BOB, treasury=account(BOB)) == "SUCCESS"
    [row] = get(f"/accounts/{BOB}/tokens")["tokens"]
    assert (row["freeze_status"], row["kyc_status"]) == ("UNFROZEN", "GRANTED")


@pytest.mark.parametrize("text", ["symbol", "name"])
def test_a_text_has_no_zero_byte(submit, create, change, text):
    body = creation(**{text: "a\0b"})
    assert submit(body, TREASURY, ISSUER).result == "INVALID_ZERO_BYTE_IN_STRING"
    assert (
        change(create(ADMIN, admin=ADMIN), ADMIN, **{text: "\0"}) == "INVALID_ZERO_BYTE_IN_STRING"
    )


def test_a_frozen_account_changes_in_nothing_else(create, submit):
    token = create(kycKey=public(ROLE))
    submit(minting(TREASURY, token, b"one"), TREASURY, ROLE)

    def do(kind, account_id=None, **fields):
        body = about(kind, token, account_id=account_id, **fields)
        return submit(body, TREASURY, ROLE).result

    frozen = "ACCOUNT_FROZEN_FOR_TOKEN"
    assert do("tokenFreeze", TREASURY) == "SUCCESS"
    assert do("tokenFreeze", TREASURY) == frozen
    assert do("tokenMint", metadata=[b"two"]) == frozen
    assert do("tokenBurn", serialNumbers=[1]) == frozen
    assert do("tokenRevokeKyc", TREASURY) == frozen
    assert do("tokenGrantKyc", TREASURY) == frozen
    assert do("tokenUnfreeze", TREASURY) == "SUCCESS"
    assert do("tokenRevokeKyc", TREASURY) == "SUCCESS"
    without = "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
    assert do("tokenMint", metadata=[b"two"]) == without
    assert do("tokenBurn", serialNumbers=[1]) == without


def test_units_are_minted_burned_and_wiped_without_a_look_at_nfts(create, submit, get):
    token = create(tokenType=0, initialSupply=5)
    for body in (
        about("tokenMint", token, metadata=[b"one"]),
        about("tokenBurn", token, serialNumbers=[1]),
    ):
        assert submit(body, TREASURY, ROLE).result == "SUCCESS"
    assert get(f"/tokens/{token}")["total_supply"] == "5"
    both = about("tokenMint", token, metadata=[b"one"], amount=1)
    assert submit(both, TREASURY, ROLE).result == "INVALID_TRANSACTION_BODY"
    none = about("tokenBurn", token, serialNumbers=[0])
    assert submit(none, TREASURY, ROLE).result == "INVALID_NFT_ID"
