"""Three public programs of others, call by call: what a newcomer to Hedera tries first works here.

Each goes on where it ends, on the marketplace: what it has minted is listed, bought, and looked up.

1. Hedera's own tutorial "Hedera Token Service", parts 1 and 3: github.com/hashgraph/hedera-docs, at 2ed56a1,
   tutorials/token/hedera-token-service-part-1-how-to-mint-nfts.md, and part-3-how-to-pause-freeze-...
2. github.com/pepegablaza/hedera, at 1ab4d10, src/token-service.js
3. github.com/ConnectBhawna/CelebrateWithHedera, at d70f796, create_nft/create_and_mint.js, after Hedera's
   "Create and Transfer Your First NFT"

They ask consensus nodes for balances, which the networks refuse now; here the mirror node is asked.
"""

import base64
import itertools
from contextlib import closing
from typing import NamedTuple

import pytest
from hiero_sdk_python import (
    AccountCreateTransaction,
    AccountId,
    AccountInfoQuery,
    AccountUpdateTransaction,
    Client,
    CustomFixedFee,
    CustomRoyaltyFee,
    Hbar,
    NftId,
    PrivateKey,
    ResponseCode,
    SupplyType,
    TokenAssociateTransaction,
    TokenBurnTransaction,
    TokenCreateTransaction,
    TokenDeleteTransaction,
    TokenFreezeTransaction,
    TokenInfoQuery,
    TokenMintTransaction,
    TokenNftInfoQuery,
    TokenPauseTransaction,
    TokenType,
    TokenUnfreezeTransaction,
    TokenUnpauseTransaction,
    TokenWipeTransaction,
    Transaction,
    TransferTransaction,
)

from harness.postgresql import until
from harness.serving import sandbox_market

UNUSED = itertools.count(200_001)
CIDS = [f"ipfs://bafkqacbqfyyc4nzqgayq/{number}.json".encode() for number in range(1, 6)]


class Account(NamedTuple):
    id: AccountId
    key: PrivateKey


class Program:
    """A program has a client with an operator, and asks the service and its mirror node."""

    def __init__(self, service, operator):
        self.service, self.operator = service, operator
        self.client = self.client_of(operator)

    def client_of(self, account):
        node = {f"127.0.0.1:{self.service.node.port}": AccountId.from_string("0.0.3")}
        client = Client.for_network(node)
        client.set_operator(account.id, account.key)
        return client

    def execute(self, transaction, *keys, expected="SUCCESS"):
        """Sign with the operator's key and these, submit, and wait for the receipt."""
        transaction.transaction_fee = Hbar(100).to_tinybars()
        transaction.freeze_with(self.client)
        for key in keys:
            transaction.sign(key)
        receipt = transaction.execute(self.client)
        assert ResponseCode(receipt.status).name == expected
        return receipt

    def create_account(self, hbar, key, associations=0):
        creation = AccountCreateTransaction().set_key_without_alias(key.public_key())
        creation.set_initial_balance(Hbar(hbar)).set_max_automatic_token_associations(associations)
        return Account(self.execute(creation).account_id, key)

    def mirror(self, path):
        return self.service.call(f"/sandbox/api/v1{path}")

    def hbar(self, account):
        return self.mirror(f"/balances?account.id={account.id}")["balances"][0]["balance"] / 10**8

    def nfts(self, account, token):
        """How many NFTs of a token an account has."""
        [row] = self.mirror(f"/accounts/{account.id}/tokens?token.id={token}")["tokens"]
        return row["balance"]

    def sell_here(self, token, serial_no, seller, buyer, price):
        """List an NFT on the marketplace, buy it, and return its history's types, oldest first."""
        nft = {"tokenId": str(token), "serialNo": serial_no}
        self.service.call("/v1/add", {"accountId": str(seller.id), **nft})
        self._list(seller, listingPrice=price, **nft)
        self._buy(buyer, **nft)
        history = self.mirror(f"/tokens/{token}/nfts/{serial_no}/transactions?order=asc")
        return [event["type"] for event in history["transactions"]]

    def _list(self, seller, **body):
        """Sign and submit what the marketplace prepares, until the order book shows it."""
        transaction = self._prepare("list", seller, **body)
        with closing(self.client_of(seller)) as client:
            receipt = transaction.sign(seller.key).execute(client)
        assert ResponseCode(receipt.status).name == "SUCCESS"
        self._follow(seller, is_for_sale=True, **body)

    def _buy(self, buyer, **body):
        """Sign what the marketplace prepares, and hand it in, until the order book shows it."""
        signed = self._prepare("buy", buyer, **body).sign(buyer.key).to_bytes()
        handed_in = {"signedTransaction": base64.b64encode(signed).decode()}
        self.service.call("/v1/comingsoon", {"accountId": str(buyer.id), **body, **handed_in})
        self._follow(buyer, is_for_sale=False, **body)

    def _prepare(self, kind, account, **body):
        prepared = self.service.call(
            f"/v1/{kind}/extwallet", {"accountId": str(account.id), **body}
        )
        return Transaction.from_bytes(base64.b64decode(prepared["byteArray"]))

    def _follow(self, owner, *, is_for_sale, tokenId, serialNo, **_):
        def has_followed():
            stored = self.service.call(f"/v1/nft/{tokenId}/{serialNo}")
            return (stored["owner"]["accountId"], stored["isForSale"]) == (
                str(owner.id),
                is_for_sale,
            )

        until(has_followed, "the order book does not follow")


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with sandbox_market(tmp_path_factory.mktemp("strangers")) as service:
        yield service


@pytest.fixture
def program(service):
    """A program whose operator nobody has seen before: 10,000 HBAR, and the key that signs first."""
    account_id = AccountId.from_string(f"0.0.{next(UNUSED)}")
    program = Program(service, Account(account_id, PrivateKey.generate_ecdsa()))
    with closing(program.client):
        yield program


def collection(name, symbol, treasury, max_supply):
    creation = TokenCreateTransaction().set_token_name(name).set_token_symbol(symbol)
    creation.set_token_type(TokenType.NON_FUNGIBLE_UNIQUE).set_decimals(0).set_initial_supply(0)
    creation.set_supply_type(SupplyType.FINITE).set_max_supply(max_supply)
    return creation.set_treasury_account_id(treasury.id)


def royalty_of_a_tenth(collector):
    fallback = CustomFixedFee().set_hbar_amount(Hbar(200))
    return CustomRoyaltyFee(
        numerator=1, denominator=10, fallback_fee=fallback, fee_collector_account_id=collector.id
    )


def gift(token, serial_no, giver, receiver):
    return TransferTransaction().add_nft_transfer(NftId(token, serial_no), giver.id, receiver.id)


def sale(token, serial_no, seller, buyer, hbar):
    transfer = gift(token, serial_no, seller, buyer).add_hbar_transfer(seller.id, Hbar(hbar))
    return transfer.add_hbar_transfer(buyer.id, Hbar(-hbar))


def test_hederas_own_tutorial(program):
    execute = program.execute
    treasury, alice, bob = (
        program.create_account(200, PrivateKey.generate_ecdsa(), associations=10) for _ in range(3)
    )
    supply, admin, pause, freeze, wipe = (PrivateKey.generate_ed25519() for _ in range(5))
    creation = collection("Fall Collection", "LEAF", treasury, len(CIDS))
    creation.set_custom_fees([royalty_of_a_tenth(treasury)]).set_admin_key(admin)
    creation.set_supply_key(supply).set_pause_key(pause).set_freeze_key(freeze).set_wipe_key(wipe)
    token = execute(creation, treasury.key, admin).token_id
    info = TokenInfoQuery(token).execute(program.client)
    [fee] = info.custom_fees
    assert (info.name, fee.numerator, fee.denominator) == ("Fall Collection", 1, 10)
    assert fee.fee_collector_account_id == treasury.id

    minted = execute(TokenMintTransaction(token, metadata=CIDS), supply)
    assert minted.serial_numbers == [1, 2, 3, 4, 5]
    nft = TokenNftInfoQuery(NftId(token, 2)).execute(program.client)
    assert (nft.metadata, nft.account_id) == (CIDS[1], treasury.id)
    execute(TokenBurnTransaction().set_token_id(token).set_serials([5]), supply)
    assert TokenInfoQuery(token).execute(program.client).total_supply == 4

    shown = AccountInfoQuery(alice.id).execute(program.client)
    assert shown.key.to_bytes_raw() == alice.key.public_key().to_bytes_raw()
    update = AccountUpdateTransaction().set_account_id(alice.id)
    execute(update.set_max_automatic_token_associations(10), alice.key)
    execute(TokenAssociateTransaction(bob.id, [token]), bob.key)
    execute(gift(token, 2, treasury, alice), treasury.key)
    assert [program.nfts(account, token) for account in (treasury, alice, bob)] == [3, 1, 0]
    execute(sale(token, 2, alice, bob, 100), alice.key, bob.key)
    assert [program.nfts(account, token) for account in (treasury, alice, bob)] == [3, 0, 1]
    assert [program.hbar(account) for account in (treasury, alice, bob)] == [210, 290, 100]

    # The marketplace, beyond the tutorial.
    history = program.sell_here(token, 2, bob, alice, 150)
    moved, approved = "CRYPTOTRANSFER", "CRYPTOAPPROVEALLOWANCE"
    assert history == ["TOKENMINT", moved, moved, approved, moved]
    # Bob has paid 0.5 for the listing.
    assert [program.hbar(account) for account in (treasury, alice, bob)] == [225, 140, 234.5]

    # Part 3
    execute(TokenPauseTransaction().set_token_id(token), pause)
    execute(gift(token, 3, treasury, alice), treasury.key, expected="TOKEN_IS_PAUSED")
    assert TokenInfoQuery(token).execute(program.client).pause_status.name == "PAUSED"
    execute(TokenUnpauseTransaction().set_token_id(token), pause)
    execute(TokenFreezeTransaction().set_token_id(token).set_account_id(alice.id), freeze)
    again = sale(token, 2, alice, bob, 10)
    execute(again, alice.key, bob.key, expected="ACCOUNT_FROZEN_FOR_TOKEN")
    execute(TokenUnfreezeTransaction().set_token_id(token).set_account_id(alice.id), freeze)
    wiping = TokenWipeTransaction().set_token_id(token).set_account_id(alice.id)
    execute(wiping.set_serial([2]), wipe)
    assert program.nfts(alice, token) == 0
    execute(TokenDeleteTransaction().set_token_id(token), admin)
    info = TokenInfoQuery(token).execute(program.client)
    assert (info.total_supply, info.is_deleted) == (3, True)


def test_a_collection_whose_collector_mints(program):
    execute, first = program.execute, program.operator
    second, third, fourth = (
        program.create_account(500, PrivateKey.generate_ed25519()) for _ in range(3)
    )
    creation = collection("Mario Token", "MT", first, 5).set_admin_key(first.key)
    creation.set_pause_key(first.key).set_supply_key(second.key)
    token = execute(creation.set_custom_fees([royalty_of_a_tenth(second)])).token_id
    execute(TokenAssociateTransaction(third.id, [token]), third.key)
    for number in range(5):
        content = f"NFT {number}".encode()
        minted = execute(TokenMintTransaction(token, metadata=[content]), second.key)
        assert minted.serial_numbers == [number + 1]
    # One more than the maximum.
    late = TokenMintTransaction(token, metadata=[b"NFT 5"])
    execute(late, second.key, expected="TOKEN_MAX_SUPPLY_REACHED")
    # The operator is the treasury: nobody else signs.
    execute(gift(token, 2, first, third))

    execute(TokenAssociateTransaction(fourth.id, [token]), fourth.key)
    execute(sale(token, 2, third, fourth, 100), third.key, fourth.key)
    assert [program.hbar(account) for account in (second, third, fourth)] == [510, 590, 400]
    program.sell_here(token, 2, fourth, third, 200)
    assert [program.hbar(account) for account in (second, third, fourth)] == [530, 390, 579.5]
    shown = program.mirror(f"/tokens/{token}")
    assert (shown["name"], shown["total_supply"]) == ("Mario Token", "5")
    [shown] = shown["custom_fees"]["royalty_fees"]
    assert shown["collector_account_id"] == str(second.id)


def test_a_first_nft_without_royalties(program):
    execute = program.execute
    treasury = program.create_account(100, PrivateKey.generate_ed25519())
    alice, bob = (program.create_account(100, PrivateKey.generate_ecdsa()) for _ in range(2))
    supply = PrivateKey.generate_ed25519()
    creation = collection("diploma", "GRAD", treasury, 250).set_supply_key(supply)
    token = execute(creation, treasury.key).token_id
    minted = execute(TokenMintTransaction(token, metadata=CIDS), supply)
    assert minted.serial_numbers == [1, 2, 3, 4, 5]

    # Alice's account takes what it is associated with, and nothing else.
    refused = gift(token, 1, treasury, alice)
    execute(refused, treasury.key, expected="TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    execute(TokenAssociateTransaction(alice.id, [token]), alice.key)
    assert [program.nfts(account, token) for account in (treasury, alice)] == [5, 0]
    execute(gift(token, 1, treasury, alice), treasury.key)
    assert [program.nfts(account, token) for account in (treasury, alice)] == [4, 1]

    execute(TokenAssociateTransaction(bob.id, [token]), bob.key)
    history = program.sell_here(token, 1, alice, bob, 60)
    assert history == ["TOKENMINT", "CRYPTOTRANSFER", "CRYPTOAPPROVEALLOWANCE", "CRYPTOTRANSFER"]
    assert [program.hbar(account) for account in (treasury, alice, bob)] == [100, 159.5, 40]
