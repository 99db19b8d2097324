"""What transactions cost, in USD at the network's exchange rate.

The payer is an account of its own: the network's treasury pays none.
"""

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.basic_types_pb2 import Key

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds
from hiero_sandbox.conformance.cases.tokens import doomed
from hiero_sandbox.conformance.cases.topics import topic
from hiero_sandbox.conformance.entities import QUARTER, association, payment, units
from hiero_sandbox.conformance.network import Account, Network, Outcome, key_of, transfers

SOURCE = "https://docs.hedera.com/networks/fees; HIP-1261"
TOLERANCE = 0.01  # of a fee: its parts are rounded one by one


def costs(network: Network, usd: float, outcome: Outcome) -> None:
    """Expect what a transaction was charged, successful or not."""
    charged = network.row(outcome)["charged_tx_fee"]
    expected = network.tinybars(usd)
    holds(
        abs(charged - expected) <= TOLERANCE * expected,
        f"{charged} tinybars for {expected}, which are ${usd}",
    )


def payer(network: Network) -> Account:
    """Pays for all of these transactions but the token's."""
    return network.account(0.6)


@case(SOURCE)
def a_transfer(network: Network) -> None:
    """A transfer of HBAR costs $0.0001."""
    account = network.once(payer)
    amounts = (account.id, -1), (network.operator.id, 1)
    body = payment(network, *amounts, payer=account.id)
    costs(network, 0.0001, network.submit(body, account))


@case(SOURCE)
def a_transfer_that_fails(network: Network) -> None:
    """What fails at consensus costs the same, and moves nothing else."""
    account = network.once(payer)
    amounts = (account.id, -1), ("0.0.4294967295", 1)
    body = payment(network, *amounts, payer=account.id)
    costs(network, 0.0001, network.submit(body, account))


@case(SOURCE)
def a_signature_more(network: Network) -> None:
    """Each signature beyond the first costs $0.0001."""
    account = network.once(payer)
    amounts = (account.id, -1), (network.operator.id, 1)
    body = payment(network, *amounts, payer=account.id)
    costs(network, 0.0002, network.submit(body, account, PrivateKey.generate_ed25519()))


@case(SOURCE)
def a_new_account(network: Network) -> None:
    """CryptoCreate costs $0.05."""
    account = network.once(payer)
    key = key_of(PrivateKey.generate_ed25519())
    body = network.body("cryptoCreateAccount", account.id, key=key, autoRenewPeriod=QUARTER)
    costs(network, 0.05, network.submit(body, account))


@case(f"{SOURCE}: $0.01 for each key beyond the first")
def an_account_with_three_keys(network: Network) -> None:
    """CryptoCreate with a list of three keys costs $0.07."""
    account = network.once(payer)
    keys = [key_of(PrivateKey.generate_ed25519()) for _ in range(3)]
    fields = {"key": Key(keyList={"keys": keys}), "autoRenewPeriod": QUARTER}
    body = network.body("cryptoCreateAccount", account.id, **fields)
    costs(network, 0.07, network.submit(body, account))


@case(SOURCE)
def an_association(network: Network) -> None:
    """TokenAssociate costs $0.05 for each token."""
    account = network.once(payer)
    body = association(network, account, network.once(units))
    body.transactionID.accountID.CopyFrom(messages.account(account.id))
    costs(network, 0.05, network.submit(body, account))


@case(SOURCE)
def an_allowance(network: Network) -> None:
    """CryptoApproveAllowance costs $0.05 for each allowance."""
    account = network.once(payer)
    allowed = {
        "owner": messages.account(account.id),
        "spender": messages.account(network.operator.id),
        "amount": 1,
    }
    body = network.body("cryptoApproveAllowance", account.id, cryptoAllowances=[allowed])
    costs(network, 0.05, network.submit(body, account))


@case(SOURCE)
def a_new_topic(network: Network) -> None:
    """ConsensusCreateTopic costs $0.01."""
    account = network.once(payer)
    body = network.body("consensusCreateTopic", account.id, autoRenewPeriod=QUARTER)
    costs(network, 0.01, network.submit(body, account))


@case(f"{SOURCE}: $0.01 for each key")
def a_topic_with_two_keys(network: Network) -> None:
    """ConsensusCreateTopic with an admin key and a submit key costs $0.03."""
    account = network.once(payer)
    keys = {"adminKey": key_of(account.key), "submitKey": key_of(account.key)}
    body = network.body("consensusCreateTopic", account.id, autoRenewPeriod=QUARTER, **keys)
    costs(network, 0.03, network.submit(body, account))


@case("HIP-1261; ConsensusSubmitMessage's calculator in hiero-consensus-node")
def a_message(network: Network) -> None:
    """ConsensusSubmitMessage of up to 100 bytes costs less than $0.001."""
    account = network.once(payer)
    fields = {"topicID": messages.topic(network.once(topic)), "message": b"one"}
    body = network.body("consensusSubmitMessage", account.id, **fields)
    charged = network.row(network.submit(body, account))["charged_tx_fee"]
    holds(0 < charged < network.tinybars(0.001), f"it costs {charged} tinybars")


@case(SOURCE)
def a_schedule(network: Network) -> None:
    """ScheduleCreate costs $0.01."""
    account = network.once(payer)
    moved = transfers((network.operator.id, -1), (account.id, 1))
    scheduled = {"transactionFee": 100_000_000, "cryptoTransfer": {"transfers": moved}}
    fields = {"memo": account.id, "scheduledTransactionBody": scheduled}
    body = network.body("scheduleCreate", account.id, **fields)
    costs(network, 0.01, network.submit(body, account))


@case(SOURCE)
def a_new_token(network: Network) -> None:
    """TokenCreate costs $1, without custom fees and with one key."""
    made, _ = network.once(doomed)
    costs(network, 1, made)


@case("SolvencyPreCheck of hiero-consensus-node")
def no_more_than_the_offer(network: Network) -> None:
    """The payer's offer is a limit, not the fee."""
    account = network.once(payer)
    amounts = (account.id, -1), (network.operator.id, 1)
    row = network.row(network.submit(payment(network, *amounts, payer=account.id), account))
    holds(row["charged_tx_fee"] < int(row["max_fee"]), f"it costs {row['charged_tx_fee']}")
    paid = {each["account"]: each["amount"] for each in row["transfers"]}
    equal(paid[account.id], -1 - row["charged_tx_fee"])
