"""Accounts are created by transactions and by transfers to their aliases, updated and deleted."""

import pytest
from hiero_sdk_python import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction

from hiero_sandbox import times
from hiero_sandbox.hapi.services import METHODS
from hiero_sandbox.ledger import keys
from sandbox.tests import hapi
from sandbox.tests.accounts import address, creation, public, to_alias, update
from sandbox.tests.bodies import HBAR, NFT, make, sign, transfer
from sandbox.tests.people import ALICE, BOB

LIMIT = "max_automatic_token_associations"


@pytest.mark.parametrize("generate", [PrivateKey.generate_ed25519, PrivateKey.generate_ecdsa])
def test_it_works(submit, created, row, get, balance, generate):
    key = generate()
    fields = {"initialBalance": 7 * HBAR, "memo": "mine", "max_automatic_token_associations": 3}
    account_id = created(creation(key=public(key), **fields), ALICE)
    assert balance(account_id) == 7 * HBAR
    assert balance(ALICE) == (10_000 - 7) * HBAR - HBAR // 2
    shown = get(f"/accounts/{account_id}")
    assert shown["key"] == keys.shown(public(key))
    assert (shown["memo"], shown["max_automatic_token_associations"]) == ("mine", 3)
    assert shown["alias"] is None
    assert shown["evm_address"] == f"0x{int(account_id[4:]):040x}"
    # It pays with its own key, and with no other.
    body = transfer(account_id, {account_id: -HBAR, BOB: HBAR})
    assert submit(body, BOB).result == "INVALID_SIGNATURE"
    assert submit(body, key).result == "SUCCESS"


def test_two_have_two_ids(created):
    key = PrivateKey.generate_ed25519()
    first, second = (
        created(creation(key=public(key)), ALICE),
        created(creation(key=public(key)), ALICE),
    )
    assert int(second[4:]) == int(first[4:]) + 1


def test_an_account_may_have_an_alias(created, submit, get):
    key = PrivateKey.generate_ecdsa()
    account_id = created(creation(key=public(key), alias=address(key)), ALICE)
    shown = get(f"/accounts/0x{address(key).hex()}")
    assert (shown["account"], shown["evm_address"]) == (account_id, f"0x{address(key).hex()}")
    assert get(f"/accounts/{shown['alias']}")["account"] == account_id
    again = creation(key=public(key), alias=address(key))
    assert submit(again, ALICE).result == "ALIAS_ALREADY_ASSIGNED"
    assert submit(to_alias(address(key)), ALICE).result == "SUCCESS"
    assert get(f"/accounts/{account_id}")["balance"]["balance"] == 5 * HBAR


def test_the_key_of_an_alias_signs_unless_it_is_the_payers_or_the_accounts(submit, created):
    payer, key, other = (PrivateKey.generate_ecdsa() for _ in range(3))
    account_id = created(creation(key=public(payer), initialBalance=100 * HBAR), ALICE)
    body = creation(account_id, key=public(key), alias=address(other))
    assert submit(body, payer, key).result == "INVALID_SIGNATURE"
    assert submit(body, payer, other).result == "SUCCESS"
    assert (
        submit(creation(account_id, key=public(key), alias=address(payer)), payer).result
        == "SUCCESS"
    )


ED25519 = keys.of_bytes(bytes(32))


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({}, "KEY_REQUIRED"),
        ({"alias": b"x" * 20}, "INVALID_ALIAS_KEY"),
        ({"key": Key()}, "BAD_ENCODING"),
        ({"key": Key(ed25519=b"")}, "BAD_ENCODING"),
        ({"key": Key(RSA_3072=b"x")}, "BAD_ENCODING"),
        ({"key": Key(keyList={})}, "KEY_REQUIRED"),
        ({"key": Key(ed25519=b"x")}, "INVALID_ADMIN_KEY"),
        ({"key": Key(ECDSA_secp256k1=bytes(33))}, "INVALID_ADMIN_KEY"),
        (
            {"key": Key(thresholdKey={"threshold": 2, "keys": {"keys": [ED25519]}})},
            "INVALID_ADMIN_KEY",
        ),
        ({"key": ED25519, "initialBalance": 2**63}, "INVALID_INITIAL_BALANCE"),
        ({"key": ED25519, "initialBalance": 20_000 * HBAR}, "INSUFFICIENT_PAYER_BALANCE"),
        ({"key": ED25519, LIMIT: -2}, "INVALID_MAX_AUTO_ASSOCIATIONS"),
        ({"key": ED25519, LIMIT: 5001}, "INVALID_MAX_AUTO_ASSOCIATIONS"),
        ({"key": ED25519, "alias": b"x"}, "INVALID_ALIAS_KEY"),
        ({"key": ED25519, "alias": b"x" * 20}, "INVALID_SIGNATURE"),
        ({"key": ED25519, "alias": ED25519.SerializeToString()}, "INVALID_ALIAS_KEY"),
        ({"key": ED25519, "receiverSigRequired": True}, "INVALID_SIGNATURE"),
        ({"key": ED25519, "memo": "x" * 101}, "MEMO_TOO_LONG"),
    ],
)
def test_creations_are_refused(submit, balance, fields, result):
    assert submit(creation(**fields), ALICE).result == result


def test_a_period_of_renewal_is_needed(submit):
    body = creation(key=ED25519)
    body.cryptoCreateAccount.autoRenewPeriod.seconds = 1
    assert submit(body, ALICE).result == "AUTORENEW_DURATION_NOT_IN_RANGE"
    body.cryptoCreateAccount.autoRenewPeriod.seconds = 0
    assert submit(body, ALICE).result == "INVALID_RENEWAL_PERIOD"
    body.cryptoCreateAccount.ClearField("autoRenewPeriod")
    assert submit(body, ALICE).result == "INVALID_RENEWAL_PERIOD"


@pytest.mark.parametrize(("signers", "result"), [(1, "INVALID_SIGNATURE"), (2, "SUCCESS")])
@pytest.mark.parametrize("kind", ["keyList", "thresholdKey"])
def test_several_keys_submit(submit, created, kind, signers, result):
    several = [PrivateKey.generate_ed25519(), PrivateKey.generate_ecdsa()]
    key = Key()
    if kind == "keyList":
        key.keyList.keys.extend(map(public, several))
    else:
        key.thresholdKey.threshold = 2
        key.thresholdKey.keys.keys.extend([*map(public, several), ED25519])
    account_id = created(creation(key=key, initialBalance=HBAR), ALICE)
    body = transfer(account_id, {account_id: -1, BOB: 1})
    assert submit(body, *several[:signers]).result == result


def resign(content, *prefixes):
    """The bytes with the last signature under each of these prefixes instead."""
    transaction = Transaction.FromString(content)
    signed = SignedTransaction.FromString(transaction.signedTransactionBytes)
    last = signed.sigMap.sigPair.pop()
    for prefix in prefixes:
        last.pubKeyPrefix = prefix
        signed.sigMap.sigPair.append(last)
    return Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()


@pytest.mark.parametrize(
    ("prefixes", "result"),
    [
        ([b""], "SUCCESS"),
        ([b"\x05\x01", b"\x05\x02"], "INVALID_SIGNATURE"),  # keys begin with 2 or 3
        ([b"", b""], "KEY_PREFIX_MISMATCH"),
        ([b"\x02", b"\x02"], "KEY_PREFIX_MISMATCH"),
        ([b"\x02\x01", b"\x03", b"\x02"], "KEY_PREFIX_MISMATCH"),
    ],
    ids=["one empty", "none matches", "empty", "equal", "one begins with another"],
)
def test_a_key_has_one_signature_at_most(ledger, created, prefixes, result):
    several = [PrivateKey.generate_ecdsa() for _ in range(15)]
    key = Key()
    key.thresholdKey.threshold = 1
    key.thresholdKey.keys.keys.extend(map(public, several))
    account_id = created(creation(key=key, initialBalance=HBAR), ALICE)
    content = sign(transfer(account_id, {account_id: -1, BOB: 1}), several[0])
    assert ledger.submit(resign(content, *prefixes)).result == result


def test_it_is_updated(submit, get, balance):
    new = PrivateKey.generate_ecdsa()
    fields = {"memo": {"value": "new"}, LIMIT: {"value": 0}}
    body = update(BOB, key=public(new), receiverSigRequiredWrapper={"value": True}, **fields)
    assert submit(body, ALICE, BOB).result == "INVALID_SIGNATURE"  # the new key has to sign, too
    assert submit(body, ALICE, BOB, new).result == "SUCCESS"
    shown = get(f"/accounts/{BOB}")
    assert shown["key"] == keys.shown(public(new))
    assert (shown["memo"], shown["max_automatic_token_associations"]) == ("new", 0)
    assert shown["receiver_sig_required"] is True
    assert submit(transfer(ALICE, {ALICE: -1, BOB: 1}), ALICE).result == "INVALID_SIGNATURE"
    assert submit(transfer(ALICE, {ALICE: -1, BOB: 1}), ALICE, new).result == "SUCCESS"


@pytest.mark.parametrize(
    ("fields", "result"),
    [
        ({"memo": {"value": "x" * 101}}, "MEMO_TOO_LONG"),
        ({LIMIT: {"value": -2}}, "INVALID_MAX_AUTO_ASSOCIATIONS"),
        ({LIMIT: {"value": 0}}, "EXISTING_AUTOMATIC_ASSOCIATIONS_EXCEED_GIVEN_LIMIT"),
        (
            {LIMIT: {"value": 5001}},
            "REQUESTED_NUM_AUTOMATIC_ASSOCIATIONS_EXCEEDS_ASSOCIATION_LIMIT",
        ),
        ({"key": Key(ed25519=b"x")}, "INVALID_ADMIN_KEY"),
        ({"autoRenewPeriod": {"seconds": 1}}, "AUTORENEW_DURATION_NOT_IN_RANGE"),
        ({"autoRenewPeriod": {"seconds": -1}}, "INVALID_RENEWAL_PERIOD"),
    ],
)
def test_updates_are_refused(submit, ledger, minted, fields, result):
    submit(transfer(ALICE, nfts=[(NFT, ALICE, BOB)]), ALICE)
    assert submit(update(BOB, **fields), ALICE, BOB).result == result


def test_an_update_names_an_account(submit):
    body = make(ALICE, "cryptoUpdateAccount")
    assert submit(body, ALICE).result == "ACCOUNT_ID_DOES_NOT_EXIST"


def test_the_key_of_a_contract_is_a_key_that_nobody_signs_with(submit, created):
    account_id = created(creation(key=Key(contractID={"contractNum": 1})), ALICE)
    body = transfer(ALICE, {ALICE: 1, account_id: -1})
    assert submit(body, ALICE, BOB).result == "INVALID_SIGNATURE"


def test_a_transfer_to_an_evm_address_creates_a_hollow_account(submit, rows, get, balance):
    key, other = PrivateKey.generate_ecdsa(), PrivateKey.generate_ecdsa()
    body = to_alias(address(key))
    submit(body, ALICE)
    child, parent = rows(body)
    assert (child["name"], child["nonce"]) == ("CRYPTOCREATEACCOUNT", 1)
    assert child["consensus_timestamp"] < parent["consensus_timestamp"]
    assert child["parent_consensus_timestamp"] is None  # it precedes its parent
    assert parent["charged_tx_fee"] == HBAR // 1000 + HBAR // 2
    account_id = child["entity_id"]
    assert balance(account_id) == 5 * HBAR
    hollow = get(f"/accounts/0x{address(key).hex()}")
    assert (hollow["account"], hollow["key"]) == (account_id, None)
    # Only the key of its address can sign for it.
    pay = transfer(account_id, {account_id: -HBAR, ALICE: HBAR})
    assert submit(pay, other).result == "INVALID_SIGNATURE"
    assert submit(pay, key).result == "SUCCESS"
    assert get(f"/accounts/{account_id}")["key"] == keys.shown(public(key))


@pytest.mark.parametrize("generate", [PrivateKey.generate_ed25519, PrivateKey.generate_ecdsa])
def test_a_transfer_to_a_key_creates_its_account(submit, get, generate):
    key = generate()
    alias = public(key).SerializeToString()
    assert submit(to_alias(alias), ALICE).result == "SUCCESS"
    assert submit(to_alias(alias), ALICE).result == "SUCCESS"
    [shown] = [row for row in get("/balances")["balances"] if row["balance"] == 10 * HBAR]
    assert get(f"/accounts/{shown['account']}")["key"] == keys.shown(public(key))


def test_what_is_sent_to_an_alias_in_another_shard_arrives(submit, created, balance):
    key = PrivateKey.generate_ecdsa()
    account_id = created(creation(key=public(key), alias=address(key)), ALICE, key)
    body = to_alias(address(key))
    body.cryptoTransfer.transfers.accountAmounts[1].accountID.shardNum = 5
    assert submit(body, ALICE).result == "SUCCESS"
    assert balance(account_id) == 5 * HBAR


@pytest.mark.parametrize(
    ("body", "result"),
    [
        (to_alias(b"x"), "INVALID_ALIAS_KEY"),
        (to_alias(b"x" * 20, -5), "INVALID_ACCOUNT_ID"),
    ],
)
def test_other_aliases_are_refused(submit, get, body, result):
    assert submit(body, ALICE).result == result
    assert [row["account"] for row in get("/balances")["balances"]] == [ALICE, "0.0.802"]


def test_an_nft_may_go_to_an_evm_address(submit, get, minted):
    key = PrivateKey.generate_ecdsa()
    body = transfer(ALICE, nfts=[(NFT, ALICE, BOB)])
    moved = body.cryptoTransfer.tokenTransfers[0].nftTransfers[0]
    moved.receiverAccountID.CopyFrom(AccountID(alias=address(key)))
    assert submit(body, ALICE).result == "SUCCESS"
    owner = get(f"/accounts/{address(key).hex()}")["account"]
    assert get(f"/tokens/{NFT[0]}/nfts/7")["account_id"] == owner


@pytest.mark.parametrize("alias", ["0x" + "ab" * 20, "AB" * 20, "CIQAAAH4", "x" * 40])
def test_an_unknown_alias_is_not_found(client, alias):
    r = client.get(f"/api/v1/accounts/{alias}")
    assert r.status_code in (400, 404)
    assert r.json["_status"]["messages"]


def test_a_large_shard_has_an_evm_address(get):
    shown = get(f"/accounts/{2**63 - 1}.0.1")
    assert shown["evm_address"] == f"0xffffffff{1:032x}"


def test_a_receipt_names_the_accounts_of_its_children(submit, ledger):
    key = PrivateKey.generate_ecdsa()
    body = to_alias(address(key))
    submit(body, ALICE)
    asked = {"transactionID": body.transactionID, "include_child_receipts": True}
    query = hapi.query("transactionGetReceipt", **asked)
    with ledger.sandbox.app_context():
        [content] = METHODS[hapi.RECEIPTS](query, times.now())
    response, code = hapi.answer(content, "transactionGetReceipt")
    assert code == "OK"
    assert not response.receipt.HasField("accountID")
    assert response.child_transaction_receipts[0].accountID.accountNum > 1_000_000


@pytest.mark.parametrize("generate", [PrivateKey.generate_ed25519, PrivateKey.generate_ecdsa])
def test_a_wallet_finds_its_accounts_by_its_key(client, created, get, generate):
    key = generate()
    account_id = created(creation(key=public(key)), ALICE)
    shown = get(f"/accounts?account.publickey={key.public_key().to_bytes_raw().hex()}")
    assert [row["account"] for row in shown["accounts"]] == [account_id]
    assert shown["links"] == {"next": None}
    path = "/api/v1/accounts?account.publickey=x"
    assert client.get(path).status_code == 400
