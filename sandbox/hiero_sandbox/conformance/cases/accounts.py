"""Accounts and HBAR."""

import secrets
from typing import Any

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID, Key
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.cases.prechecks import NOBODY
from hiero_sandbox.conformance.entities import QUARTER, holder, payment
from hiero_sandbox.conformance.network import Account, Network, key_of, text

TRANSFER = "CryptoTransferHandler of hiero-consensus-node"
CREATE = "CryptoCreateHandler of hiero-consensus-node"
UPDATE = "CryptoUpdateHandler of hiero-consensus-node"
DELETE = "CryptoDeleteHandler of hiero-consensus-node"


def creation(network: Network, **fields: Any) -> TransactionBody:
    key = key_of(PrivateKey.generate_ed25519())
    given = {"key": key, "autoRenewPeriod": QUARTER}
    return network.body("cryptoCreateAccount", **given | fields)


def update(network: Network, account: Account, **fields: Any) -> TransactionBody:
    named = messages.account(account.id)
    return network.body("cryptoUpdateAccount", accountIDToUpdate=named, **fields)


def deletion(network: Network, account: Account, heir: str) -> TransactionBody:
    fields = {"deleteAccountID": account.id, "transferAccountID": heir}
    named = {name: messages.account(account_id) for name, account_id in fields.items()}
    return network.body("cryptoDelete", **named)


# Transfers


@case("crypto_transfer.proto; Transaction in the mirror node's openapi.yml")
def a_transfer(network: Network) -> None:
    """A transfer moves tinybars, and its row shows what each account got in the end."""
    receiver = network.account()
    sent = network.done(payment(network, (network.operator.id, -7), (receiver.id, 7)))
    row = network.row(sent)
    equal([row["name"], row["result"], row["nonce"]], ["CRYPTOTRANSFER", "SUCCESS", 0])
    got = {each["account"]: each["amount"] for each in row["transfers"]}
    equal(got[receiver.id], 7)
    equal(sum(got.values()), 0)
    account = network.get(f"/accounts/{receiver.id}?transactions=false").body
    equal(account["balance"]["balance"], 7)


@refused("INVALID_ACCOUNT_AMOUNTS", TRANSFER, by_node=True)
def amounts_that_are_not_zero_together(network: Network) -> object:
    """The amounts of a transfer add up to zero."""
    receiver = network.once(holder)
    return payment(network, (network.operator.id, -1), (receiver.id, 2))


@refused("ACCOUNT_REPEATED_IN_ACCOUNT_AMOUNTS", TRANSFER, by_node=True)
def an_account_twice(network: Network) -> object:
    """A transfer names an account once."""
    receiver = network.once(holder)
    return payment(network, (network.operator.id, -2), (receiver.id, 1), (receiver.id, 1))


@refused("INSUFFICIENT_ACCOUNT_BALANCE", TRANSFER)
def more_than_an_account_has(network: Network) -> object:
    """Nobody sends more than they have."""
    sender = network.account()
    return payment(network, (sender.id, -1), (network.operator.id, 1)), sender


@refused("INVALID_SIGNATURE", TRANSFER)
def a_sender_who_has_not_signed(network: Network) -> object:
    """Each sender signs."""
    sender = network.once(holder)
    return payment(network, (sender.id, -1), (network.operator.id, 1))


@refused("INVALID_ACCOUNT_ID", TRANSFER)
def a_receiver_that_nobody_has(network: Network) -> object:
    """Each receiver exists."""
    return payment(network, (network.operator.id, -1), (NOBODY, 1))


@refused("TRANSFER_LIST_SIZE_LIMIT_EXCEEDED", "LedgerConfig of hiero-consensus-node")
def eleven_amounts(network: Network) -> object:
    """A transfer has ten amounts of HBAR at most."""
    body = payment(network, (network.operator.id, -10))
    for _ in range(10):
        new = AccountID(alias=secrets.token_bytes(20))
        body.cryptoTransfer.transfers.accountAmounts.add(accountID=new, amount=1)
    return body


@case("receiverSigRequired in crypto_create.proto")
def a_receiver_who_must_sign(network: Network) -> None:
    """An account with receiverSigRequired signs for what it receives."""
    key = PrivateKey.generate_ed25519()
    made = network.done(creation(network, key=key_of(key), receiverSigRequired=True), key)
    amounts = (network.operator.id, -1), (text(made.receipt.accountID), 1)
    equal(network.submit(payment(network, *amounts)).code, "INVALID_SIGNATURE")
    equal(network.submit(payment(network, *amounts), key).code, "SUCCESS")


@case("HIP-583")
def a_transfer_to_an_evm_address(network: Network) -> None:
    """HBAR to an unknown EVM address makes an account without a key."""
    address = secrets.token_bytes(20)
    body = payment(network, (network.operator.id, -1))
    body.cryptoTransfer.transfers.accountAmounts.add(accountID=AccountID(alias=address), amount=1)
    network.row(network.done(body))
    account = network.get(f"/accounts/0x{address.hex()}?transactions=false").body
    equal(account["evm_address"], f"0x{address.hex()}")
    equal([account["balance"]["balance"], account["deleted"]], [1, False])
    holds(not (account["key"] or {}).get("key"), f"its key is {account['key']}")


@case("HIP-32")
def a_transfer_to_a_public_key(network: Network) -> None:
    """HBAR to an unknown public key makes an account with this key, in a child before the transfer."""
    key = PrivateKey.generate_ed25519()
    alias = key_of(key).SerializeToString()
    body = payment(network, (network.operator.id, -1))
    body.cryptoTransfer.transfers.accountAmounts.add(accountID=AccountID(alias=alias), amount=1)
    sent = network.done(body)
    parent, child = network.row(sent), network.row(sent, nonce=1)
    equal(child["name"], "CRYPTOCREATEACCOUNT")
    holds(child["consensus_timestamp"] < parent["consensus_timestamp"], "the child comes later")
    account = network.get(f"/accounts/{child['entity_id']}?transactions=false").body
    equal(account["key"]["key"], key.public_key().to_bytes_raw().hex())


# Accounts


@case("crypto_create.proto; AccountInfo in the mirror node's openapi.yml")
def a_new_account(network: Network) -> None:
    """A new account has its key, memo and associations, as the mirror node shows them."""
    key = PrivateKey.generate_ecdsa()
    fields = {"key": key_of(key), "memo": "conformance", "max_automatic_token_associations": 3}
    made = network.done(creation(network, **fields))
    network.row(made)
    account = network.get(f"/accounts/{text(made.receipt.accountID)}?transactions=false").body
    shown = {"_type": "ECDSA_SECP256K1", "key": key.public_key().to_bytes_raw().hex()}
    equal([account["key"], account["memo"]], [shown, "conformance"])
    equal(account["max_automatic_token_associations"], 3)
    equal([account["deleted"], account["balance"]["balance"]], [False, 0])


@refused("KEY_REQUIRED", CREATE, by_node=True)
def an_account_without_a_key(network: Network) -> object:
    """An account has a key."""
    return network.body("cryptoCreateAccount", autoRenewPeriod=QUARTER)


@refused("INVALID_INITIAL_BALANCE", CREATE, by_node=True)
def a_negative_initial_balance(network: Network) -> object:
    """An account begins with no less than zero."""
    return creation(network, initialBalance=2**64 - 1)


@refused("INVALID_MAX_AUTO_ASSOCIATIONS", "HIP-904")
def minus_two_associations(network: Network) -> object:
    """Of automatic associations there are -1, for any number, or zero and more."""
    return creation(network, max_automatic_token_associations=-2)


@refused("AUTORENEW_DURATION_NOT_IN_RANGE", CREATE)
def a_renewal_of_one_day(network: Network) -> object:
    """An account renews itself within 30 to 92 days."""
    return creation(network, autoRenewPeriod={"seconds": 86_400})


@case("HIP-583")
def an_alias_needs_its_keys_signature(network: Network) -> None:
    """An EVM address belongs to who signs with its key, and to one account."""
    key = PrivateKey.generate_ecdsa()
    alias = bytes.fromhex(str(key.public_key().to_evm_address()))
    equal(network.submit(creation(network, alias=alias)).code, "INVALID_SIGNATURE")
    equal(network.submit(creation(network, alias=alias), key).code, "SUCCESS")
    equal(network.submit(creation(network, alias=alias), key).code, "ALIAS_ALREADY_ASSIGNED")


@case(UPDATE)
def a_new_key(network: Network) -> None:
    """A change of the key is signed with the former and with the new one."""
    account, new = network.account(), PrivateKey.generate_ed25519()
    for signers, code in (
        ((account,), "INVALID_SIGNATURE"),
        ((new,), "INVALID_SIGNATURE"),
        ((account, new), "SUCCESS"),
    ):
        equal(network.submit(update(network, account, key=key_of(new)), *signers).code, code)
    equal(network.submit(update(network, account), account).code, "INVALID_SIGNATURE")


@case("Key and ThresholdKey in basic_types.proto")
def a_threshold_of_two(network: Network) -> None:
    """Of a threshold key, as many sign as it says; of a list, all."""
    first, second, third = (PrivateKey.generate_ed25519() for _ in range(3))
    keys = {"keys": [key_of(each) for each in (first, second, third)]}
    key = Key(thresholdKey={"threshold": 2, "keys": keys})
    made = network.done(creation(network, key=key))
    account = Account(text(made.receipt.accountID), first)
    equal(network.submit(update(network, account), first).code, "INVALID_SIGNATURE")
    equal(network.submit(update(network, account), first, third).code, "SUCCESS")


@case(DELETE)
def a_deletion(network: Network) -> None:
    """A deleted account gives its HBAR to another one, and takes part in nothing more."""
    account, heir = network.account(initialBalance=5), network.account()
    deleted = network.done(deletion(network, account, heir.id), account)
    network.row(deleted)
    shown = network.get(f"/accounts/{account.id}?transactions=false").body
    equal([shown["deleted"], shown["balance"]["balance"]], [True, 0])
    equal(network.get(f"/accounts/{heir.id}?transactions=false").body["balance"]["balance"], 5)
    amounts = (network.operator.id, -1), (account.id, 1)
    equal(network.submit(payment(network, *amounts)).code, "ACCOUNT_DELETED")


@refused("TRANSFER_ACCOUNT_SAME_AS_DELETE_ACCOUNT", DELETE, by_node=True)
def a_deletion_for_oneself(network: Network) -> object:
    """What a deleted account has goes to another one."""
    account = network.once(holder)
    return deletion(network, account, account.id), account


@refused("INVALID_SIGNATURE", DELETE)
def a_deletion_by_somebody_else(network: Network) -> object:
    """An account signs its deletion."""
    return deletion(network, network.once(holder), network.operator.id)
