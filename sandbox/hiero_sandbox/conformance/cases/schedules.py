"""Schedules: transactions that wait for signatures."""

import base64
import secrets
import time
from typing import Any

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import AccountID
from hiero_sdk_python.hapi.services.transaction_contents_pb2 import SignedTransaction
from hiero_sdk_python.hapi.services.transaction_pb2 import Transaction, TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.entities import ISSUER, ISSUER_KEY, QUARTER, holder, payment
from hiero_sandbox.conformance.network import (
    Account,
    Network,
    Signer,
    code_of,
    envelope,
    key_of,
    text,
    transfers,
)

CREATE = "ScheduleCreateHandler of hiero-consensus-node"
SIGN = "ScheduleSignHandler of hiero-consensus-node"
DELETE = "ScheduleDeleteHandler of hiero-consensus-node"
EXECUTE = "AbstractScheduleHandler of hiero-consensus-node"
PAY = "ScheduleFeeCharging of hiero-consensus-node"
DAY = 86_400


def creation(network: Network, sender: Account, amount: int = 1, **fields: Any) -> TransactionBody:
    """A schedule that sends tinybars to the operator, when the sender has signed."""
    moved = transfers((sender.id, -amount), (network.operator.id, amount))
    scheduled = {"transactionFee": 100_000_000, "cryptoTransfer": {"transfers": moved}}
    return network.body("scheduleCreate", scheduledTransactionBody=scheduled, **fields)


def create(network: Network, sender: Account, **fields: Any) -> str:
    made = network.done(creation(network, sender, **fields), ISSUER)
    return text(made.receipt.scheduleID)


def about(network: Network, kind: str, schedule_id: str) -> TransactionBody:
    return network.body(kind, scheduleID=messages.schedule(schedule_id))


def funded(network: Network) -> Account:
    return network.account(initialBalance=100)


@case("HIP-423; Schedule in the mirror node's openapi.yml")
def a_schedule_that_waits(network: Network) -> None:
    """A schedule waits until all have signed who must; then its transaction has a row under the same id."""
    sender = network.once(funded)
    made = network.done(creation(network, sender, amount=2))
    schedule_id = text(made.receipt.scheduleID)
    path = f"/schedules/{schedule_id}"
    shown = network.shown(path, lambda body: body["schedule_id"])
    equal([shown["executed_timestamp"], shown["deleted"]], [None, False])
    equal([shown["creator_account_id"], shown["wait_for_expiry"]], [network.operator.id, False])
    network.done(about(network, "scheduleSign", schedule_id), sender)
    shown = network.shown(path, lambda body: body["executed_timestamp"])
    row = network.row(made, scheduled=True)
    equal([row["name"], row["result"]], ["CRYPTOTRANSFER", "SUCCESS"])
    equal(row["consensus_timestamp"], shown["executed_timestamp"])
    moved = {each["account"]: each["amount"] for each in row["transfers"]}
    equal(moved[sender.id], -2)


@case(f"{EXECUTE}; TransactionReceipt.scheduledTransactionID")
def a_schedule_that_all_have_signed(network: Network) -> None:
    """What all have signed who must is executed at once."""
    sender = network.once(funded)
    made = network.done(creation(network, sender, amount=3), sender)
    equal(made.receipt.scheduledTransactionID.scheduled, True)
    equal(network.receipt(made.receipt.scheduledTransactionID).status, made.receipt.status)


@case(f"{CREATE}; ScheduleStoreUtility")
def the_same_schedule_again(network: Network) -> None:
    """A schedule that is there already, whoever pays, is named by the refusal of a second one."""
    sender = network.account()
    first = network.done(creation(network, sender, memo="the same"))
    payer = messages.account(sender.id)
    second = network.submit(creation(network, sender, memo="the same", payerAccountID=payer))
    equal(second.code, "IDENTICAL_SCHEDULE_ALREADY_CREATED")
    equal(text(second.receipt.scheduleID), text(first.receipt.scheduleID))


@case(SIGN)
def a_signature_that_adds_nothing(network: Network) -> None:
    """A signature that is there already, or that nobody needs, is NO_NEW_VALID_SIGNATURES."""
    schedule_id = create(network, network.account())
    body = about(network, "scheduleSign", schedule_id)
    equal(network.submit(body, network.once(holder)).code, "NO_NEW_VALID_SIGNATURES")


@case(f"{SIGN}; EntityRecordItemListener of hiero-mirror-node")
def a_false_signature(network: Network) -> None:
    """A signature that does not count, even a false one, is ignored; the mirror node lists it, too."""
    sender, other = network.once(funded), PrivateKey.generate_ed25519()
    schedule_id = create(network, sender, amount=6)
    body = about(network, "scheduleSign", schedule_id)
    elsewhere = about(network, "scheduleSign", schedule_id)
    false = SignedTransaction.FromString(signed_bytes(elsewhere, other))
    signed = SignedTransaction.FromString(signed_bytes(body, network.operator, sender))
    signed.sigMap.sigPair.extend(false.sigMap.sigPair)
    content = Transaction(signedTransactionBytes=signed.SerializeToString()).SerializeToString()
    equal(network.send(content, body.transactionID).code, "SUCCESS")
    shown = network.shown(f"/schedules/{schedule_id}", lambda body: body["executed_timestamp"])
    prefixes = {base64.b64decode(each["public_key_prefix"]) for each in shown["signatures"]}
    holds(other.public_key().to_bytes_raw() in prefixes, "the false one is not listed")


def signed_bytes(body: TransactionBody, *signers: Signer) -> bytes:
    return bytes(Transaction.FromString(envelope(body, *signers)).signedTransactionBytes)


@case(EXECUTE)
def an_execution_that_fails(network: Network) -> None:
    """A schedule whose transaction fails is executed, too, and not deleted."""
    sender = network.account(0.01)
    moved = creation(network, sender, amount=10**17)
    made = network.done(moved, sender)
    row = network.row(made, scheduled=True)
    equal(row["result"], "INSUFFICIENT_ACCOUNT_BALANCE")
    path = f"/schedules/{text(made.receipt.scheduleID)}"
    shown = network.shown(path, lambda body: body["executed_timestamp"])
    equal(shown["executed_timestamp"], row["consensus_timestamp"])
    equal(shown["deleted"], False)


@case(f"{EXECUTE}; {PAY}")
def the_payer_of_an_execution(network: Network) -> None:
    """The payer that a schedule names signs, too, and pays for the execution, but nothing for its node."""
    sender, payer = network.once(funded), network.account()
    named = messages.account(payer.id)
    made = network.done(creation(network, sender, amount=7, payerAccountID=named), sender)
    schedule_id = text(made.receipt.scheduleID)
    shown = network.shown(f"/schedules/{schedule_id}", lambda body: body["schedule_id"])
    equal([shown["payer_account_id"], shown["executed_timestamp"]], [payer.id, None])
    network.done(about(network, "scheduleSign", schedule_id), payer)
    row = network.row(made, scheduled=True)
    equal([row["result"], row["charged_tx_fee"]], ["SUCCESS", 0])


@case(f"{PAY}; SolvencyPreCheck")
def an_execution_above_its_maximum(network: Network) -> None:
    """A scheduled transaction that costs more than its own maximum fails."""
    sender = network.once(funded)
    key = key_of(PrivateKey.generate_ed25519())
    content = {"key": key, "autoRenewPeriod": QUARTER}
    scheduled = {"transactionFee": 1, "cryptoCreateAccount": content}
    fields = {"scheduledTransactionBody": scheduled, "memo": sender.id}
    made = network.done(network.body("scheduleCreate", **fields))
    row = network.row(made, scheduled=True)
    equal([row["result"], row["charged_tx_fee"]], ["INSUFFICIENT_TX_FEE", 0])


@refused("UNRESOLVABLE_REQUIRED_SIGNERS", EXECUTE)
def a_schedule_that_a_hollow_account_signs(network: Network) -> object:
    """What an account without a key must sign cannot be scheduled."""
    address = secrets.token_bytes(20)
    body = payment(network, (network.operator.id, -1))
    body.cryptoTransfer.transfers.accountAmounts.add(accountID=AccountID(alias=address), amount=1)
    network.row(network.done(body))
    path = f"/accounts/0x{address.hex()}?transactions=false"
    hollow = network.shown(path, lambda body: body["account"])["account"]
    return creation(network, Account(hollow, PrivateKey.generate_ecdsa()))


@case(SIGN)
def a_schedule_that_was_executed(network: Network) -> None:
    """A schedule is executed once."""
    sender = network.once(funded)
    schedule_id = create(network, sender, amount=4)
    network.done(about(network, "scheduleSign", schedule_id), sender)
    again = network.submit(about(network, "scheduleSign", schedule_id), sender)
    equal(again.code, "SCHEDULE_ALREADY_EXECUTED")


@case(DELETE)
def a_deletion(network: Network) -> None:
    """The admin key deletes a schedule, which then can't be signed."""
    sender = network.account()
    schedule_id = create(network, sender, adminKey=ISSUER_KEY)
    refusal = network.submit(about(network, "scheduleDelete", schedule_id))
    equal(refusal.code, "INVALID_SIGNATURE")
    network.done(about(network, "scheduleDelete", schedule_id), ISSUER)
    shown = network.shown(f"/schedules/{schedule_id}", lambda body: body["deleted"])
    equal(shown["deleted"], True)
    signed = network.submit(about(network, "scheduleSign", schedule_id), sender)
    equal(signed.code, "SCHEDULE_ALREADY_DELETED")


@case(f"{CREATE}; {DELETE}")
def a_deletion_by_either_key(network: Network) -> None:
    """Where one of two keys is enough, one creates the schedule, and the other alone deletes it."""
    other = PrivateKey.generate_ecdsa()
    keys = {"threshold": 1, "keys": {"keys": [ISSUER_KEY, key_of(other)]}}
    schedule_id = create(network, network.account(), adminKey={"thresholdKey": keys})
    network.done(about(network, "scheduleDelete", schedule_id), other)
    shown = network.shown(f"/schedules/{schedule_id}", lambda body: body["deleted"])
    equal(shown["deleted"], True)


@refused("SCHEDULE_IS_IMMUTABLE", DELETE)
def a_deletion_without_an_admin_key(network: Network) -> object:
    """Without an admin key, a schedule is never deleted."""
    return about(network, "scheduleDelete", create(network, network.account()))


@refused("INVALID_SCHEDULE_ID", SIGN)
def a_schedule_that_nobody_has(network: Network) -> object:
    """A schedule exists."""
    return about(network, "scheduleSign", "0.0.4294967295")


@refused("SCHEDULED_TRANSACTION_NOT_IN_WHITELIST", f"{CREATE}; SchedulingConfig")
def a_schedule_of_what_cannot_be_scheduled(network: Network) -> object:
    """Only some types of transactions can be scheduled."""
    inner = {"scheduleDelete": {"scheduleID": messages.schedule("0.0.4294967295")}}
    scheduled = {"transactionFee": 100_000_000} | inner
    return network.body("scheduleCreate", scheduledTransactionBody=scheduled)


@refused("SCHEDULE_EXPIRATION_TIME_TOO_FAR_IN_FUTURE", f"{CREATE}; SchedulingConfig")
def an_expiry_in_a_year(network: Network) -> object:
    """A schedule waits for 62 days at most."""
    in_a_year = {"seconds": int(time.time()) + 365 * DAY}
    return creation(network, network.once(holder), expiration_time=in_a_year)


@refused("SCHEDULE_EXPIRATION_TIME_MUST_BE_HIGHER_THAN_CONSENSUS_TIME", CREATE)
def an_expiry_in_the_past(network: Network) -> object:
    """A schedule expires later than it is created."""
    a_day_ago = {"seconds": int(time.time()) - DAY}
    return creation(network, network.once(holder), expiration_time=a_day_ago)


@case(EXECUTE)
def a_schedule_that_waits_for_its_time(network: Network) -> None:
    """With wait_for_expiry, a schedule that all have signed is not executed before it expires."""
    sender = network.once(funded)
    tomorrow = {"seconds": int(time.time()) + DAY}
    fields = {"expiration_time": tomorrow, "wait_for_expiry": True, "adminKey": ISSUER_KEY}
    made = network.done(creation(network, sender, amount=5, **fields), sender, ISSUER)
    named = made.receipt.scheduleID
    answer = network.ask("scheduleGetInfo", scheduleID=named)
    equal(code_of(answer.header), "OK")
    equal(answer.scheduleInfo.expirationTime.seconds, tomorrow["seconds"])
    holds(not answer.scheduleInfo.HasField("execution_time"), "it is executed")
    network.done(about(network, "scheduleDelete", text(named)), ISSUER)
