"""Collections that transactions create: their keys, fees and supply, and what their issuers may do."""

import base64

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key, KeyList
from hiero_sdk_python.hapi.services.custom_fees_pb2 import CustomFee

from hiero_sandbox.ledger import keys
from hiero_sandbox.messages import account
from sandbox.tests.bodies import HBAR, approval, association, minting, transfer
from sandbox.tests.people import ALICE, BOB, CHARLIE, public_key
from sandbox.tests.tokens import (
    COLLECTOR,
    ISSUER,
    KEY,
    MARKET,
    TREASURY,
    about,
    creation,
    fixed,
    royalty,
)


@pytest.fixture
def create(created):
    """Create a collection; returns its id."""
    return lambda **fields: created(creation(**fields), TREASURY, ISSUER)


@pytest.fixture
def mint(submit):
    def mint(token, count=1):
        body = minting(TREASURY, token, *[b"ipfs://cat"] * count)
        return submit(body, TREASURY, ISSUER).result

    return mint


@pytest.fixture
def cats(create, mint, submit):
    """A collection of five, of which Alice has the first two."""
    token = create(custom_fees=[royalty(fallback=2 * HBAR), fixed(HBAR)])
    assert mint(token, 5) == "SUCCESS"
    given = [((token, number), TREASURY, ALICE) for number in (1, 2)]
    body = transfer(TREASURY, nfts=given)
    body.transactionFee = 30 * HBAR
    assert submit(body, TREASURY).result == "SUCCESS"
    return token


@pytest.fixture
def do(submit, cats):
    """Submit a transaction about the collection, signed by its issuer; returns the result."""

    def do(kind, *signers, **fields):
        return submit(about(kind, cats, **fields), TREASURY, *(signers or [ISSUER])).result

    return do


def test_it_works(create, get, mint, balance):
    token = create(supplyType=1, maxSupply=3, memo="of mine", custom_fees=[royalty(), fixed(5)])
    shown = get(f"/tokens/{token}")
    assert int(token[4:]) > 1_000_000
    assert (shown["name"], shown["symbol"], shown["memo"]) == ("Cats", "CAT", "of mine")
    assert (shown["type"], shown["supply_type"]) == ("NON_FUNGIBLE_UNIQUE", "FINITE")
    assert (shown["max_supply"], shown["total_supply"]) == ("3", "0")
    assert shown["treasury_account_id"] == TREASURY
    assert shown["admin_key"] == shown["supply_key"] == keys.shown(KEY)
    assert shown["kyc_key"] is None
    assert shown["custom_fees"]["royalty_fees"][0]["amount"] == {"denominator": 10, "numerator": 1}
    assert shown["custom_fees"]["fixed_fees"][0]["amount"] == 5
    # $2 with custom fees, seven keys, and a second signature.
    assert balance(TREASURY) == 10_000 * HBAR - 20 * HBAR - 6 * HBAR // 10 - HBAR // 1000
    assert mint(token, 3) == "SUCCESS"
    assert mint(token) == "TOKEN_MAX_SUPPLY_REACHED"
    assert get(f"/tokens/{token}")["total_supply"] == "3"
    nft = get(f"/tokens/{token}/nfts/3")
    assert (nft["account_id"], base64.b64decode(nft["metadata"])) == (TREASURY, b"ipfs://cat")


def test_it_gets_no_id_with_which_an_account_is_associated(create, submit):
    assert submit(association(BOB, "0.0.1000001"), BOB).result == "SUCCESS"
    assert create() == "0.0.1000002"


def test_its_nfts_are_those_that_were_minted(client, cats, get):
    assert client.get(f"/api/v1/tokens/{cats}/nfts/6").status_code == 404


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"name": ""}, "MISSING_TOKEN_NAME"),
        ({"name": "x" * 101}, "TOKEN_NAME_TOO_LONG"),
        ({"symbol": ""}, "MISSING_TOKEN_SYMBOL"),
        ({"symbol": "x" * 101}, "TOKEN_SYMBOL_TOO_LONG"),
        ({"memo": "x" * 101}, "MEMO_TOO_LONG"),
        ({"metadata": b"x" * 101}, "METADATA_TOO_LONG"),
        ({"initialSupply": 1}, "INVALID_TOKEN_INITIAL_SUPPLY"),
        ({"decimals": 1}, "INVALID_TOKEN_DECIMALS"),
        ({"names": ()}, "TOKEN_HAS_NO_SUPPLY_KEY"),
        ({"maxSupply": 1}, "INVALID_TOKEN_MAX_SUPPLY"),
        ({"supplyType": 1}, "INVALID_TOKEN_MAX_SUPPLY"),
        ({"names": ["supplyKey"], "freezeDefault": True}, "TOKEN_HAS_NO_FREEZE_KEY"),
        ({"wipeKey": Key(ed25519=b"x")}, "INVALID_WIPE_KEY"),
        ({"treasury": account(BOB)}, "INVALID_SIGNATURE"),
        ({"custom_fees": [royalty()] * 11}, "CUSTOM_FEES_LIST_TOO_LONG"),
        ({"custom_fees": [royalty(numerator=11)]}, "ROYALTY_FRACTION_CANNOT_EXCEED_ONE"),
        ({"custom_fees": [royalty(denominator=0)]}, "FRACTION_DIVIDES_BY_ZERO"),
        ({"custom_fees": [royalty(fallback=0)]}, "CUSTOM_FEE_MUST_BE_POSITIVE"),
        ({"custom_fees": [fixed(0)]}, "CUSTOM_FEE_MUST_BE_POSITIVE"),
        ({"custom_fees": [CustomFee()]}, "INVALID_CUSTOM_FEE_COLLECTOR"),
    ],
)
def test_creations_are_refused(submit, fields, result):
    submit(transfer(BOB, {BOB: -1, ALICE: 1}), BOB)  # so Bob's key is known
    assert submit(creation(**fields), TREASURY, ISSUER).result == result


def test_the_admin_key_signs_a_creation(submit):
    assert submit(creation(), TREASURY).result == "INVALID_SIGNATURE"


def test_a_sale_pays_its_royalties_and_its_seller_the_fixed_fee(submit, cats, balance):
    assert submit(approval(ALICE, (cats, 1)), ALICE).result == "SUCCESS"
    before = balance(ALICE)
    sale = transfer(MARKET, {ALICE: 50 * HBAR, BOB: -50 * HBAR}, [((cats, 1), ALICE, BOB, True)])
    assert submit(sale, MARKET, BOB).result == "SUCCESS"
    assert balance(ALICE) - before == (50 - 5 - 1) * HBAR
    assert balance(BOB) == (10_000 - 50) * HBAR
    assert balance(COLLECTOR) == (10_000 + 5 + 1) * HBAR


def test_a_gift_costs_the_fallback_fee(submit, cats, balance):
    gift = transfer(ALICE, nfts=[((cats, 1), ALICE, BOB)])
    assert submit(gift, ALICE).result == "INVALID_SIGNATURE"
    assert submit(gift, ALICE, BOB).result == "SUCCESS"
    assert balance(BOB) == (10_000 - 2) * HBAR


@pytest.mark.parametrize(
    ("kind", "owner", "fields"),
    [
        ("tokenBurn", TREASURY, {"serialNumbers": [3, 4]}),
        ("tokenWipe", ALICE, {"serialNumbers": [1, 2], "account_id": ALICE}),
    ],
)
def test_nfts_end(do, get, cats, kind, owner, fields):
    assert do(kind, CHARLIE, **fields) == "INVALID_SIGNATURE"
    assert do(kind, **fields) == "SUCCESS"
    assert get(f"/tokens/{cats}")["total_supply"] == "3"
    serial_no = fields["serialNumbers"][0]
    nft = get(f"/tokens/{cats}/nfts/{serial_no}")
    assert (nft["account_id"], nft["deleted"], nft["spender"]) == (None, True, None)
    [newest, *_] = get(f"/tokens/{cats}/nfts/{serial_no}/transactions")["transactions"]
    assert (newest["sender_account_id"], newest["receiver_account_id"]) == (owner, None)
    assert do(kind, **fields) == "INVALID_NFT_ID"


@pytest.mark.parametrize(
    ("kind", "fields", "result"),
    [
        ("tokenBurn", {"serialNumbers": [1]}, "TREASURY_MUST_OWN_BURNED_NFT"),
        ("tokenBurn", {"serialNumbers": [99]}, "INVALID_NFT_ID"),
        ("tokenBurn", {"serialNumbers": []}, "INVALID_TOKEN_BURN_METADATA"),
        ("tokenBurn", {"serialNumbers": [*range(1, 12)]}, "BATCH_SIZE_LIMIT_EXCEEDED"),
        (
            "tokenWipe",
            {"serialNumbers": [3], "account_id": TREASURY},
            "CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT",
        ),
        (
            "tokenWipe",
            {"serialNumbers": [3], "account_id": ALICE},
            "ACCOUNT_DOES_NOT_OWN_WIPED_NFT",
        ),
        ("tokenWipe", {"serialNumbers": [1], "account_id": BOB}, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ("tokenGrantKyc", {"account_id": ALICE}, "TOKEN_HAS_NO_KYC_KEY"),
        ("tokenFreeze", {"account_id": BOB}, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"),
        ("token_update_nfts", {"serial_numbers": []}, "MISSING_SERIAL_NUMBERS"),
        ("token_update_nfts", {"serial_numbers": [99]}, "INVALID_NFT_ID"),
        ("tokenUpdate", {"kycKey": KEY}, "TOKEN_HAS_NO_KYC_KEY"),
        ("tokenUpdate", {"name": "x" * 101}, "TOKEN_NAME_TOO_LONG"),
    ],
)
def test_what_an_issuer_is_refused(do, kind, fields, result):
    assert do(kind, **fields) == result


def test_metadata_is_updated(do, get, cats):
    body = {"serial_numbers": [1, 3]}
    assert do("token_update_nfts", CHARLIE, **body) == "INVALID_SIGNATURE"
    # Without metadata it stays.
    for fields, shown in (({}, b"ipfs://cat"), ({"metadata": {"value": b"dog"}}, b"dog")):
        assert do("token_update_nfts", **body, **fields) == "SUCCESS"
        assert base64.b64decode(get(f"/tokens/{cats}/nfts/1")["metadata"]) == shown


def test_the_supply_key_updates_what_the_treasury_has(submit, create, mint):
    other = PrivateKey.generate_ed25519()
    metadata_key = keys.of_bytes(other.public_key().to_bytes_raw())
    token = create(metadata_key=metadata_key)
    mint(token)
    body = about("token_update_nfts", token, serial_numbers=[1])
    assert submit(body, TREASURY, ISSUER).result == "SUCCESS"
    submit(transfer(TREASURY, nfts=[((token, 1), TREASURY, ALICE)]), TREASURY)
    assert submit(body, TREASURY, ISSUER).result == "INVALID_SIGNATURE"
    assert submit(body, TREASURY, other).result == "SUCCESS"


def test_it_is_updated(do, get, cats):
    assert do("tokenUpdate", CHARLIE, name="Dogs") == "INVALID_SIGNATURE"
    fields = {
        "name": "Dogs",
        "symbol": "DOG",
        "memo": {"value": "new"},
        "metadata": {"value": b"doc"},
    }
    assert do("tokenUpdate", **fields, wipeKey=Key(keyList=KeyList())) == "SUCCESS"
    shown = get(f"/tokens/{cats}")
    assert (shown["name"], shown["symbol"], shown["memo"]) == ("Dogs", "DOG", "new")
    assert shown["wipe_key"] is None
    assert do("tokenWipe", serialNumbers=[1], account_id=ALICE) == "TOKEN_HAS_NO_WIPE_KEY"
    assert do("tokenUpdate", adminKey=Key(keyList=KeyList())) == "SUCCESS"
    assert do("tokenUpdate", name="Cats") == "TOKEN_IS_IMMUTABLE"


RESTRICTED = {
    "paused": ("token_pause", {}, "token_unpause", "TOKEN_IS_PAUSED"),
    "frozen": ("tokenFreeze", {"account_id": ALICE}, "tokenUnfreeze", "ACCOUNT_FROZEN_FOR_TOKEN"),
}


@pytest.mark.parametrize("case", RESTRICTED)
def test_restrictions_keep_nfts_where_they_are(do, submit, cats, case):
    begin, fields, end, result = RESTRICTED[case]
    assert do(begin, CHARLIE, **fields) == "INVALID_SIGNATURE"
    assert do(begin, **fields) == "SUCCESS"
    gift = transfer(ALICE, nfts=[((cats, 1), ALICE, BOB)])
    assert submit(gift, ALICE, BOB).result == result
    assert do(end, **fields) == "SUCCESS"
    assert submit(gift, ALICE, BOB).result == "SUCCESS"


def test_kyc_is_needed_where_there_is_a_key_for_it(create, mint, submit, get):
    token = create(kycKey=KEY)
    mint(token)
    given = transfer(TREASURY, nfts=[((token, 1), TREASURY, BOB)])
    assert submit(given, TREASURY).result == "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"
    submit(association(BOB, token), BOB)
    grant = about("tokenGrantKyc", token, account_id=BOB)
    assert submit(grant, TREASURY, ISSUER).result == "SUCCESS"
    [row] = get(f"/accounts/{BOB}/tokens")["tokens"]
    assert (row["kyc_status"], row["freeze_status"]) == ("GRANTED", "UNFROZEN")
    assert submit(given, TREASURY).result == "SUCCESS"
    assert (
        submit(about("tokenRevokeKyc", token, account_id=BOB), TREASURY, ISSUER).result == "SUCCESS"
    )
    back = transfer(BOB, nfts=[((token, 1), BOB, TREASURY)])
    assert submit(back, BOB).result == "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN"


def test_custom_fees_are_changed(do, get, cats):
    fees = {"custom_fees": [royalty(numerator=3)]}
    assert do("token_fee_schedule_update", CHARLIE, **fees) == "INVALID_SIGNATURE"
    assert do("token_fee_schedule_update", **fees) == "SUCCESS"
    shown = get(f"/tokens/{cats}")["custom_fees"]
    assert (shown["fixed_fees"], shown["royalty_fees"][0]["amount"]["numerator"]) == ([], 3)
    assert do("token_fee_schedule_update") == "SUCCESS"
    assert do("token_fee_schedule_update") == "CUSTOM_SCHEDULE_ALREADY_HAS_NO_FEES"


def test_a_deleted_one_moves_no_more(do, submit, cats, get):
    assert do("tokenDeletion", CHARLIE) == "INVALID_SIGNATURE"
    assert do("tokenDeletion") == "SUCCESS"
    assert get(f"/tokens/{cats}")["deleted"] is True
    assert do("tokenUpdate", name="Dogs") == "TOKEN_WAS_DELETED"
    gift = transfer(ALICE, nfts=[((cats, 1), ALICE, BOB)])
    assert submit(gift, ALICE, BOB).result == "TOKEN_WAS_DELETED"


def test_a_new_treasury_gets_all_that_the_old_one_had(submit, done, cats, get, follow):
    submit(transfer(BOB, {BOB: -1, ALICE: 1}), BOB)  # so Bob's key is known
    assert submit(approval(TREASURY, (cats, 3)), TREASURY).result == "SUCCESS"
    change = about("tokenUpdate", cats, treasury=account(BOB))
    assert submit(change, TREASURY, ISSUER).result == "INVALID_SIGNATURE"
    row = done(change, TREASURY, ISSUER, BOB)
    assert row["nft_transfers"] == [
        {
            "is_approval": False,
            "receiver_account_id": BOB,
            "sender_account_id": TREASURY,
            "serial_number": -1,
            "token_id": cats,
        }
    ]
    owners = {nft["serial_number"]: nft for nft in follow(f"/tokens/{cats}/nfts", "nfts")}
    assert [owners[number]["account_id"] for number in range(1, 6)] == [ALICE, ALICE, BOB, BOB, BOB]
    assert owners[3]["spender"] is None
    assert owners[3]["modified_timestamp"] == row["consensus_timestamp"]
    [entry, *_] = get(f"/tokens/{cats}/nfts/3/transactions")["transactions"]
    moved = (entry["type"], entry["sender_account_id"], entry["receiver_account_id"])
    assert moved == ("TOKENUPDATE", None, None)
    [entry, *_] = get(f"/tokens/{cats}/nfts/1/transactions")["transactions"]
    assert entry["type"] == "CRYPTOTRANSFER"
    assert get(f"/tokens/{cats}")["treasury_account_id"] == BOB


def test_a_treasury_that_has_some_already_is_refused(submit, do, cats):
    assert do("tokenUpdate", ISSUER, ALICE, treasury=account(ALICE)) == (
        "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES"
    )


def test_units_go_to_a_new_treasury(done, create, get):
    coin = create(tokenType=0, initialSupply=70)
    done(about("tokenUpdate", coin, treasury=account(BOB)), TREASURY, ISSUER, BOB)
    balances = {
        row["account"]: row["balance"] for row in get(f"/tokens/{coin}/balances")["balances"]
    }
    assert balances == {TREASURY: 0, BOB: 70}


def test_a_token_of_the_world_has_its_treasurys_key(submit, get):
    body = about("tokenUpdate", "0.0.5001", payer="0.0.1000", name="Waves")
    assert submit(body, "0.0.1000").result == "SUCCESS"
    assert get("/tokens/0.0.5001")["name"] == "Waves"
    assert get("/tokens/0.0.5001")["supply_key"]["key"] == public_key("0.0.1000").hex()
