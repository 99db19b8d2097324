"""The mirror node's blocks (which show its time), exchange rate, fees, nodes, and supply."""

import hashlib
import re
from datetime import UTC, datetime
from decimal import Decimal

from flask import Blueprint, Response, current_app, request
from hiero_sdk_python.hapi.services.exchange_rate_pb2 import ExchangeRate
from werkzeug.exceptions import NotFound

from hiero_sandbox import times
from hiero_sandbox.conditions import mirror_now
from hiero_sandbox.database import read
from hiero_sandbox.hapi.address import find_host, find_port
from hiero_sandbox.hapi.network import NODE
from hiero_sandbox.ids import MAX_HBAR, MAX_INT64, TINYBARS
from hiero_sandbox.ledger import accounts, consensus, network_fees, queries
from hiero_sandbox.ledger.envelopes import Unreadable, open_transaction, read_list
from hiero_sandbox.mirror import pages, parameters, past
from hiero_sandbox.mirror.parameters import Document

BLOCK = 2 * times.SECOND  # how long one lasts
NUMBER_DIGITS = 16  # of a block's hash, that are its number
SUPPLY = MAX_HBAR * TINYBARS
GAS = 852  # tinycents: the network's price
# Tinycents that the network gets for each of the node's tinycents: HIP-1261.
NETWORK_MULTIPLIER = 9

blp = Blueprint("network", __name__)


@blp.get("/blocks")
def list_blocks() -> Document:
    """List blocks. One ends every two seconds, with or without transactions; the newest one has not ended."""
    parameters.require_known("block.number", "limit", "order", "timestamp")
    numbers = parameters.number_filter("block.number")
    moments, now = parameters.number_filter("timestamp"), mirror_now()
    first = max(numbers.low, (moments.low - times.GENESIS) // BLOCK)
    last = min(numbers.high, (min(moments.high, now) - times.GENESIS) // BLOCK)
    chosen, ascending = range(first, last + 1), pages.is_ascending()
    page = (chosen if ascending else chosen[::-1])[: pages.limit()]
    blocks = [_block(number, now) for number in page]
    links = pages.links(blocks, {"block.number": "number"}, ascending)
    return {"blocks": blocks, "links": links}


def parse_block(text: str) -> int:
    """Read a block's number, or its hash, of which the first 32 bytes are enough. Raises ValueError."""
    found = re.fullmatch("(0x)?([0-9a-fA-F]{64}([0-9a-fA-F]{32})?)", text)
    if not found:
        return parameters.parse_number(text)
    digits = found[2].lower()
    number = int(digits[:NUMBER_DIGITS], 16)
    is_its_hash = number <= MAX_INT64 and _hash(number).startswith(f"0x{digits}")
    return number if is_its_hash else MAX_INT64


IDS = {"block": (parse_block, "hashOrNumber")}


@blp.get("/blocks/<block>")
def show_block(block: int) -> Document:
    """Show a block, by its number or its hash."""
    parameters.require_known()
    now = mirror_now()
    if times.GENESIS + block * BLOCK > now:
        raise NotFound("Not found")
    return _block(block, now)


def _block(number: int, now: int) -> Document:
    begins_at = times.GENESIS + number * BLOCK
    ends_at = min(begins_at + BLOCK - 1, now)
    moment = datetime.fromtimestamp(begins_at // times.SECOND, UTC)
    return {
        "count": queries.count_transactions(read(), begins_at, ends_at),
        "gas_used": 0,
        "hapi_version": "0.77.0",
        "hash": _hash(number),
        "logs_bloom": "0x",
        "name": f"{moment:%Y-%m-%dT%H_%M_%S}.000000000Z.rcd",
        "number": number,
        "previous_hash": _hash(number - 1),
        "size": 0,
        "timestamp": {"from": times.to_consensus(begins_at), "to": times.to_consensus(ends_at)},
    }


def _hash(number: int) -> str:
    """A block's hash. It begins with the number: nothing stores blocks, and a hash leads back to its own."""
    digest = hashlib.sha384(str(number).encode()).hexdigest()
    return f"0x{number % 2**64:0{NUMBER_DIGITS}x}{digest[NUMBER_DIGITS:]}"


@blp.get("/network/exchangerate")
def show_exchange_rate() -> Document:
    """Show the exchange rate, which never changes."""
    parameters.require_known("timestamp")
    now = mirror_now()
    rates = network_fees.exchange_rate(read(), now)
    return {
        "current_rate": _show_rate(rates.currentRate),
        "next_rate": _show_rate(rates.nextRate),
        "timestamp": times.to_consensus(now),
    }


def _show_rate(rate: ExchangeRate) -> Document:
    return {
        "cent_equivalent": rate.centEquiv,
        "expiration_time": rate.expirationTime.seconds,
        "hbar_equivalent": rate.hbarEquiv,
    }


@blp.get("/network/fees")
def list_fees() -> Document:
    """List the price of gas for the types that mirror nodes list. The sandbox runs no contracts."""
    parameters.require_known("order", "timestamp")
    types = ["ContractCall", "ContractCreate", "EthereumTransaction"]
    if not pages.is_ascending("asc"):
        types.reverse()
    gas = GAS // read().world.cents_per_hbar
    fees = [{"gas": gas, "transaction_type": each} for each in types]
    return {"fees": fees, "timestamp": times.to_consensus(mirror_now())}


@blp.post("/network/fees")
def estimate_fee() -> Document:
    """Estimate a transaction's fee in tinycents. The base of ``service`` includes all extras."""
    parameters.require_known(high_volume_throttle="[0-9]{1,5}", mode="intrinsic|state")
    try:
        signed = open_transaction(read_list(request.get_data())[0])
    except Unreadable:
        raise parameters.Invalid("Unable to parse transaction") from None
    if signed.body.WhichOneof("data") is None:
        raise parameters.Invalid("Unable to parse transaction")
    fee = consensus.NODE.fee_of(signed.body)
    usd = network_fees.estimate(read(), fee, signed)
    total = int(usd * network_fees.TINYCENTS_PER_DOLLAR)
    base = int(network_fees.NODE_AND_NETWORK * network_fees.TINYCENTS_PER_DOLLAR)
    node = base // (1 + NETWORK_MULTIPLIER)
    return {
        "high_volume_multiplier": max(1, fee.rate(signed.body) // 1000),
        "network": {"multiplier": NETWORK_MULTIPLIER, "subtotal": node * NETWORK_MULTIPLIER},
        "node": {"base": node, "extras": []},
        "service": {"base": total - base, "extras": []},
        "total": total,
    }


@blp.get("/network/nodes")
def list_nodes() -> Document:
    """List the one node, without an endpoint while its process does not run."""
    port = find_port(current_app)
    address, name = find_host()
    endpoint = {"domain_name": name, "ip_address_v4": address, "port": port}
    node = {
        "admin_key": None,
        "associated_registered_nodes": [],
        "decline_reward": False,
        "description": "The sandbox",
        "file_id": "0.0.102",
        "grpc_proxy_endpoint": None,
        "max_stake": SUPPLY,
        "memo": NODE,
        "min_stake": 0,
        "node_account_id": NODE,
        "node_cert_hash": "0x",
        "node_id": 0,
        "public_key": "0x",
        "reward_rate_start": 0,
        "service_endpoints": [endpoint] if port else [],
        "stake": 0,
        "stake_not_rewarded": 0,
        "stake_rewarded": 0,
        "staking_period": _staking_period(),
        "timestamp": {"from": times.to_consensus(times.GENESIS), "to": None},
    }
    return pages.page("nodes", [node], dict, {"node.id": "node_id"}, "asc", ("file.id",))


def _staking_period() -> Document:
    """Today, as Greenwich has it."""
    day = mirror_now() // times.DAY * times.DAY
    return {"from": times.to_consensus(day), "to": times.to_consensus(day + times.DAY)}


@blp.get("/network/stake")
def show_stake() -> Document:
    """Show the rules of staking. Time earns no rewards here: all rates are 0."""
    parameters.require_known()
    reserved = sum(row["pending_reward"] for row in queries.select(read(), "account"))
    reward_balance = accounts.balance(read(), accounts.STAKING_REWARDS)
    return {
        "max_stake_rewarded": 0,
        "max_staking_reward_rate_per_hbar": 0,
        "max_total_reward": 0,
        "node_reward_fee_fraction": 0.0,
        "reserved_staking_rewards": reserved,
        "reward_balance_threshold": 0,
        "stake_total": 0,
        "staking_period": _staking_period(),
        "staking_period_duration": times.DAY // (60 * times.SECOND),
        "staking_periods_stored": 365,
        "staking_reward_fee_fraction": 0.0,
        "staking_reward_rate": 0,
        "staking_start_threshold": 0,
        "unreserved_staking_reward_balance": max(0, reward_balance - reserved),
    }


@blp.get("/network/supply")
def show_supply() -> Document | Response:
    """Show the supply in tinybars. Released are the balances of all accounts that have changed."""
    parameters.require_known("timestamp", q="circulating|totalcoins")
    past.look_back()
    released = sum(row["balance"] for row in queries.select(read(), "account"))
    if asked := parameters.last("q"):
        amount = SUPPLY if asked == "totalcoins" else released
        return Response(f"{Decimal(amount) / TINYBARS:.8f}", mimetype="text/plain")
    moment = times.to_consensus(past.moment() or 0)
    return {"released_supply": str(released), "timestamp": moment, "total_supply": str(SUPPLY)}
