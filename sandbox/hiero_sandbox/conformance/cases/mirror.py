"""The mirror node's REST: paths, parameters, order, pages, and errors."""

import base64
import re
from typing import Any

from hiero_sandbox.conformance.case import case, equal, holds
from hiero_sandbox.conformance.cases.prechecks import NOBODY
from hiero_sandbox.conformance.entities import collection, holder, mint, payment
from hiero_sandbox.conformance.network import Network, Outcome

OPENAPI = "The mirror node's openapi.yml"
SPECS = "rest/__tests__/specs of hiero-mirror-node"
TIMESTAMP = "[0-9]+[.][0-9]{9}"


def refusal(network: Network, path: str, status: int, *messages: str) -> None:
    """Expect an error, in the mirror node's form."""
    shown = network.get(path)
    equal(shown.status, status)
    equal([each["message"] for each in shown.body["_status"]["messages"]], [*messages])


def three_transfers(network: Network) -> tuple[str, list[Any]]:
    """An account, and the rows of three transfers to it, oldest first."""
    receiver = network.account()
    rows = []
    for amount in (1, 2, 3):
        body = payment(network, (network.operator.id, -amount), (receiver.id, amount))
        body.memo = f"transfer {amount}"
        rows.append(network.row(network.done(body)))
    return receiver.id, rows


def failed(network: Network) -> Outcome:
    """A transfer that fails at consensus."""
    return network.submit(payment(network, (network.operator.id, -1), (NOBODY, 1)))


def times(rows: list[Any]) -> list[str]:
    return [row["consensus_timestamp"] for row in rows]


def list_all(network: Network, path: str, name: str) -> list[list[Any]]:
    """The pages of a list, each with its rows."""
    pages = []
    while path:
        body = network.get(path).body
        pages.append(body[name])
        path = body["links"]["next"]
    return pages


# Errors


@case(SPECS)
def an_account_that_nobody_has(network: Network) -> None:
    """Unknown accounts, tokens and NFTs are 404, with one message."""
    for path in (f"/accounts/{NOBODY}", f"/tokens/{NOBODY}", f"/tokens/{NOBODY}/nfts/1"):
        refusal(network, path, 404, "Not found")


@case(SPECS)
def a_transaction_that_nobody_has(network: Network) -> None:
    """An unknown transaction is 404."""
    refusal(network, "/transactions/0.0.2-1234567890-000000001", 404, "Not found")


@case(SPECS)
def the_nfts_of_what_is_no_token(network: Network) -> None:
    """A list of something unknown is empty."""
    body = network.get(f"/tokens/{NOBODY}/nfts").body
    equal(body, {"nfts": [], "links": {"next": None}})


@case(SPECS)
def an_id_that_is_none(network: Network) -> None:
    """A path's invalid part is 400, and the message names it."""
    refusal(network, "/accounts/x", 400, "Invalid parameter: idOrAliasOrEvmAddress")
    refusal(network, "/tokens/x", 400, "Invalid parameter: tokenid")
    refusal(network, f"/tokens/{NOBODY}/nfts/0", 400, "Invalid parameter: serialnumber")


@case(SPECS)
def a_parameter_that_is_none(network: Network) -> None:
    """Unknown parameters and invalid values are 400, one message for each."""
    refusal(network, "/transactions?wrong=1", 400, "Unknown query parameter: wrong")
    refusal(network, "/transactions?limit=0", 400, "Invalid parameter: limit")
    refusal(network, "/transactions?order=up", 400, "Invalid parameter: order")
    refusal(network, "/transactions?timestamp=x", 400, "Invalid parameter: timestamp")


@case(SPECS)
def a_transaction_id_that_is_none(network: Network) -> None:
    """A transaction id has dashes at the mirror node, no @."""
    equal(network.get("/transactions/0.0.2@1234567890.000000001").status, 400)


@case("RFC 9110; Express of hiero-mirror-node")
def the_type_of_an_answer(network: Network) -> None:
    """Answers are JSON, errors too."""
    for path in ("/transactions?limit=1", f"/accounts/{NOBODY}"):
        equal(network.get(path).content_type, "application/json")


# Transactions


@case(f"{OPENAPI}, Transaction")
def a_row(network: Network) -> None:
    """A row has times with nine digits, a memo in base64, and an id with dashes."""
    _, rows = network.once(three_transfers)
    row = rows[0]
    for name in ("consensus_timestamp", "valid_start_timestamp"):
        holds(re.fullmatch(TIMESTAMP, row[name]), f"{name} is {row[name]}")
    equal(base64.b64decode(row["memo_base64"]), b"transfer 1")
    payer = network.operator.id
    holds(re.fullmatch(rf"{payer}-[0-9]+-[0-9]{{9}}", row["transaction_id"]), row["transaction_id"])
    equal([row["node"], row["valid_duration_seconds"]], [network.node_account, "120"])
    equal([row["nonce"], row["scheduled"], row["parent_consensus_timestamp"]], [0, False, None])
    equal([row["token_transfers"], row["nft_transfers"]], [[], []])


@case(f"{OPENAPI}, Transaction")
def the_row_of_a_failure(network: Network) -> None:
    """What failed at consensus has a row with its code, and moves no more than the fee."""
    outcome = network.once(failed)
    row = network.row(outcome)
    equal([row["result"], row["name"]], ["INVALID_ACCOUNT_ID", "CRYPTOTRANSFER"])
    holds(NOBODY not in {each["account"] for each in row["transfers"]}, "it moved HBAR")


@case(f"{OPENAPI}, TransactionByIdResponse")
def a_row_by_its_hash(network: Network) -> None:
    """A transaction is found by its hash, in hexadecimal."""
    _, rows = network.once(three_transfers)
    digest = base64.b64decode(rows[0]["transaction_hash"])
    equal(len(digest), 48)
    found = network.shown(f"/transactions/0x{digest.hex()}", lambda body: body["transactions"])
    equal(times(found["transactions"]), times(rows[:1]))


@case(f"{OPENAPI}, timestamp")
def a_row_by_its_time(network: Network) -> None:
    """timestamp=<time> finds the row of this moment."""
    _, rows = network.once(three_transfers)
    at = rows[1]["consensus_timestamp"]
    found = network.get(f"/transactions?timestamp={at}").body["transactions"]
    equal(times(found), [at])


@case(f"{OPENAPI}, order")
def the_order_of_rows(network: Network) -> None:
    """Transactions come newest first; order=asc turns them around."""
    receiver, rows = network.once(three_transfers)
    path = f"/transactions?account.id={receiver}&transactiontype=CRYPTOTRANSFER"
    newest = network.get(path).body["transactions"]
    equal(times(newest), times(rows[::-1]))
    oldest = network.get(f"{path}&order=asc").body["transactions"]
    equal(times(oldest), times(rows))


@case(f"{OPENAPI}, links")
def pages_of_rows(network: Network) -> None:
    """links.next leads on from page to page; no row is left out or repeated."""
    receiver, rows = network.once(three_transfers)
    path = f"/transactions?account.id={receiver}&transactiontype=CRYPTOTRANSFER&limit=2"
    for order, expected in (("desc", rows[::-1]), ("asc", rows)):
        pages = list_all(network, f"{path}&order={order}", "transactions")
        equal([times(page) for page in pages], [times(expected[:2]), times(expected[2:])])


@case(f"{OPENAPI}, timestamp; timestampRange.js of hiero-mirror-node")
def rows_between_two_times(network: Network) -> None:
    """gt, gte, lt and lte narrow a list, each to the nanosecond."""
    receiver, rows = network.once(three_transfers)
    first, second, third = times(rows)
    path = f"/transactions?account.id={receiver}&transactiontype=CRYPTOTRANSFER&order=asc"
    for bounds, expected in (
        (f"timestamp=gt:{first}", [second, third]),
        (f"timestamp=gte:{first}&timestamp=lt:{third}", [first, second]),
        (f"timestamp=gt:{first}&timestamp=lte:{second}", [second]),
        ("timestamp=gt:0", [first, second, third]),
    ):
        equal(times(network.get(f"{path}&{bounds}").body["transactions"]), expected)


@case(f"{OPENAPI}, transactiontype and result")
def rows_of_a_type_and_a_result(network: Network) -> None:
    """transactiontype and result narrow a list."""
    receiver, rows = network.once(three_transfers)
    made = network.get(f"/transactions?account.id={receiver}&transactiontype=cryptocreateaccount")
    equal(times(rows)[0] in times(made.body["transactions"]), False)
    at = network.row(network.once(failed))["consensus_timestamp"]
    for result, expected in (("fail", [at]), ("success", [])):
        path = f"/transactions?timestamp={at}&result={result}"
        equal(times(network.get(path).body["transactions"]), expected)


@case(f"{OPENAPI}, limit")
def a_limit_above_a_hundred(network: Network) -> None:
    """A page has 25 rows, and 100 at most, whatever is asked for."""
    for limit, most in (("", 25), ("&limit=1000", 100)):
        rows = network.get(f"/transactions?order=desc{limit}").body["transactions"]
        holds(len(rows) <= most, f"there are {len(rows)} rows")


# Other lists


@case(f"{OPENAPI}, serialnumber")
def nfts_by_serial_number(network: Network) -> None:
    """A token's NFTs come newest first, page by page, and can be narrowed by serial number."""
    token = network.once(collection)
    for _ in range(2):
        mint(network, token)
    path = f"/tokens/{token}/nfts"
    network.shown(path, lambda body: len(body["nfts"]) >= 2)
    shown = network.get(f"{path}?serialnumber=lte:2&limit=1").body
    equal([each["serial_number"] for each in shown["nfts"]], [2])
    pages = list_all(network, f"{path}?serialnumber=lte:2&limit=1", "nfts")
    serial_nos = [each["serial_number"] for page in pages for each in page]
    equal(serial_nos, [2, 1])
    named = network.get(f"{path}?serialnumber=1").body["nfts"]
    equal([each["serial_number"] for each in named], [1])


@case(f"{OPENAPI}, balances")
def a_balance(network: Network) -> None:
    """/balances has an account's tinybars, beside the time that they are of."""
    receiver, _ = network.once(three_transfers)
    path = f"/balances?account.id={receiver}"
    body = network.shown(path, lambda body: [row["balance"] for row in body["balances"]] == [6])
    equal([(row["account"], row["balance"]) for row in body["balances"]], [(receiver, 6)])
    holds(re.fullmatch(TIMESTAMP, body["timestamp"]), f"the time is {body['timestamp']}")


@case(f"{OPENAPI}, idOrAliasOrEvmAddress")
def an_account_by_other_names(network: Network) -> None:
    """An account is found by its number, and by the EVM address that is made of it."""
    account = network.once(holder)
    number = int(account.id.split(".")[2])
    for name in (str(number), f"0.{number}", f"0x{number:040x}", f"{number:040x}"):
        shown = network.shown(f"/accounts/{name}?transactions=false", lambda body: body["account"])
        equal(shown["account"], account.id)


@case(f"{OPENAPI}, account.publickey")
def accounts_by_their_key(network: Network) -> None:
    """Accounts are found by their public key."""
    account = network.once(holder)
    key = account.key.public_key().to_bytes_raw().hex()
    path = f"/accounts?account.publickey={key}"
    rows = network.shown(path, lambda body: body["accounts"])["accounts"]
    equal([row["account"] for row in rows], [account.id])


@case(f"{OPENAPI}, blocks")
def blocks(network: Network) -> None:
    """Blocks have consecutive numbers, newest first, and the hash of the one before."""
    newer, older = network.get("/blocks?limit=2").body["blocks"]
    equal(newer["number"], older["number"] + 1)
    equal(newer["previous_hash"], older["hash"])
    holds(newer["timestamp"]["from"] > older["timestamp"]["to"], "they overlap")


@case(f"{OPENAPI}, NetworkNodes")
def the_nodes(network: Network) -> None:
    """The node that was asked is among the network's nodes."""
    pages = list_all(network, "/network/nodes?limit=25", "nodes")
    accounts = {node["node_account_id"] for page in pages for node in page}
    holds(network.node_account in accounts, f"there are {accounts}")


@case(f"{OPENAPI}, NetworkSupplyResponse")
def the_supply(network: Network) -> None:
    """There are 50,000,000,000 HBAR, of which not more are released."""
    supply = network.get("/network/supply").body
    equal(supply["total_supply"], str(50_000_000_000 * 100_000_000))
    holds(int(supply["released_supply"]) <= int(supply["total_supply"]), "more are released")
