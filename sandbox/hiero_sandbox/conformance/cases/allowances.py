"""Allowances: of NFTs, of tokens, and of HBAR."""

from typing import Any

from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, refused
from hiero_sandbox.conformance.entities import (
    buyer,
    collection,
    give_units,
    holder,
    mint,
    nft_approval,
    nft_transfer,
    spender,
    unit_transfer,
    units,
)
from hiero_sandbox.conformance.network import Account, Network, account_amounts

APPROVE = "CryptoApproveAllowanceHandler, ApproveAllowanceValidator of hiero-consensus-node"
DELETE = "CryptoDeleteAllowanceHandler, DeleteAllowanceValidator of hiero-consensus-node"
TRANSFER = "NFTOwnersChangeStep of hiero-consensus-node"


def approved_nft(network: Network, owner: Account) -> tuple[str, int]:
    """A new NFT of the owner, which the spender may move."""
    token = network.once(collection)
    serial_no = mint(network, token, owner)
    body = nft_approval(network, token, owner, network.once(spender), serial_no)
    network.done(body, owner)
    return token, serial_no


def shown_spender(network: Network, token: str, serial_no: int, expected: str | None) -> None:
    path = f"/tokens/{token}/nfts/{serial_no}"
    equal(network.shown(path, lambda nft: nft["spender"] == expected)["spender"], expected)


def approval(network: Network, kind: str, owner: Account, **allowance: Any) -> TransactionBody:
    """An allowance of HBAR or of units for the spender."""
    parties = {"owner": owner.id, "spender": network.once(spender).id}
    named = {name: messages.account(account_id) for name, account_id in parties.items()}
    return network.body("cryptoApproveAllowance", **{kind: [named | allowance]})


def withdrawal(network: Network, token: str, serial_no: int, owner: Account) -> TransactionBody:
    fields = {"token_id": messages.token(token), "owner": messages.account(owner.id)}
    removed = fields | {"serial_numbers": [serial_no]}
    return network.body("cryptoDeleteAllowance", nftAllowances=[removed])


@case("HIP-336; NftAllowance in crypto_approve_allowance.proto")
def an_approval(network: Network) -> None:
    """An approval makes its spender the NFT's spender; a second one replaces it."""
    owner, other = network.once(holder), network.once(buyer)
    token, serial_no = approved_nft(network, owner)
    shown_spender(network, token, serial_no, network.once(spender).id)
    network.done(nft_approval(network, token, owner, other, serial_no), owner)
    shown_spender(network, token, serial_no, other.id)


@case(f"HIP-336; {TRANSFER}")
def a_transfer_by_approval(network: Network) -> None:
    """The spender, as the payer, moves the NFT without the owner; then it has no spender."""
    owner, mover = network.once(holder), network.once(spender)
    token, serial_no = approved_nft(network, owner)
    parties = (owner, network.once(buyer))
    body = nft_transfer(network, token, serial_no, *parties, payer=mover.id, is_approval=True)
    row = network.row(network.done(body, mover))
    equal([moved["is_approval"] for moved in row["nft_transfers"]], [True])
    shown_spender(network, token, serial_no, None)


@refused("SPENDER_DOES_NOT_HAVE_ALLOWANCE", TRANSFER)
def a_transfer_that_somebody_else_pays_for(network: Network) -> object:
    """Only the payer's own approvals count."""
    owner = network.once(holder)
    token, serial_no = approved_nft(network, owner)
    parties = (owner, network.once(buyer))
    body = nft_transfer(network, token, serial_no, *parties, is_approval=True)
    return body, network.once(spender)


@case(f"HIP-336; {TRANSFER}")
def a_transfer_ends_the_approval(network: Network) -> None:
    """What an owner sends without the spender has no spender afterwards."""
    owner, other = network.once(holder), network.once(buyer)
    token, serial_no = approved_nft(network, owner)
    network.done(nft_transfer(network, token, serial_no, owner, other), owner)
    shown_spender(network, token, serial_no, None)


@case(DELETE)
def a_withdrawal(network: Network) -> None:
    """The owner ends an approval of a serial number."""
    owner = network.once(holder)
    token, serial_no = approved_nft(network, owner)
    body = withdrawal(network, token, serial_no, owner)
    equal(network.submit(body).code, "INVALID_SIGNATURE")
    network.done(withdrawal(network, token, serial_no, owner), owner)
    shown_spender(network, token, serial_no, None)


@case("HIP-336; AccountNftAllowances in the mirror node's openapi.yml")
def an_approval_of_all(network: Network) -> None:
    """An approval of all serial numbers is listed with the owner, and is no NFT's spender."""
    token, owner = network.once(collection), network.account(max_automatic_token_associations=-1)
    serial_no, mover = mint(network, token, owner), network.once(spender)
    body = nft_approval(network, token, owner, mover, approved_for_all={"value": True})
    network.done(body, owner)
    path = f"/accounts/{owner.id}/allowances/nfts"
    listed = network.shown(path, lambda body: body["allowances"])["allowances"]
    rows = [(each["spender"], each["token_id"], each["approved_for_all"]) for each in listed]
    equal(rows, [(mover.id, token, True)])
    shown_spender(network, token, serial_no, None)
    parties = (owner, network.once(buyer))
    moved = nft_transfer(network, token, serial_no, *parties, payer=mover.id, is_approval=True)
    equal(network.submit(moved, mover).code, "SUCCESS")


@case("AccountNfts in the mirror node's openapi.yml")
def the_nfts_of_a_spender(network: Network) -> None:
    """An owner's NFTs can be filtered by their spender."""
    owner, mover = network.account(max_automatic_token_associations=-1), network.once(spender)
    token = network.once(collection)
    first, second = mint(network, token, owner), mint(network, token, owner)
    network.done(nft_approval(network, token, owner, mover, second), owner)
    path = f"/accounts/{owner.id}/nfts?spender.id={mover.id}"
    nfts = network.shown(path, lambda body: body["nfts"])["nfts"]
    equal([each["serial_number"] for each in nfts], [second])
    nfts = network.get(f"/accounts/{owner.id}/nfts").body["nfts"]
    equal([each["serial_number"] for each in nfts], [second, first])


@refused("SPENDER_ACCOUNT_SAME_AS_OWNER", APPROVE)
def an_approval_for_oneself(network: Network) -> object:
    """Nobody approves themselves."""
    token, owner = network.once(collection), network.once(holder)
    return nft_approval(network, token, owner, owner, mint(network, token, owner)), owner


@refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO", APPROVE)
def an_approval_of_what_one_does_not_own(network: Network) -> object:
    """Only the owner approves an NFT."""
    token, other = network.once(collection), network.once(holder)
    mint(network, token, other)
    serial_no = mint(network, token)
    return nft_approval(network, token, other, network.once(spender), serial_no), other


@refused("INVALID_TOKEN_NFT_SERIAL_NUMBER", APPROVE)
def an_approval_of_what_was_never_minted(network: Network) -> object:
    """An NFT is minted before it is approved."""
    token, owner = network.once(collection), network.once(holder)
    mint(network, token, owner)
    return nft_approval(network, token, owner, network.once(spender), 2**31), owner


@refused("FUNGIBLE_TOKEN_IN_NFT_ALLOWANCES", APPROVE)
def an_nft_approval_of_units(network: Network) -> object:
    """Units are approved by amount."""
    token, owner = network.once(units), network.operator
    return nft_approval(network, token, owner, network.once(spender), 1)


@refused("INVALID_SIGNATURE", APPROVE)
def an_approval_that_the_owner_has_not_signed(network: Network) -> object:
    """The owner signs an approval."""
    token, owner = network.once(collection), network.once(holder)
    serial_no = mint(network, token, owner)
    return nft_approval(network, token, owner, network.once(spender), serial_no)


@refused("EMPTY_ALLOWANCES", APPROVE, by_node=True)
def no_allowances(network: Network) -> object:
    """An approval has an allowance."""
    return network.body("cryptoApproveAllowance")


@refused("MAX_ALLOWANCES_EXCEEDED", APPROVE)
def twenty_one_allowances(network: Network) -> object:
    """An approval has twenty allowances at most; each serial number counts."""
    token, owner = network.once(collection), network.once(holder)
    return nft_approval(network, token, owner, network.once(spender), *range(1, 22)), owner


@refused("NEGATIVE_ALLOWANCE_AMOUNT", APPROVE, by_node=True)
def a_negative_allowance(network: Network) -> object:
    """An allowance is no less than zero."""
    owner = network.once(holder)
    return approval(network, "cryptoAllowances", owner, amount=-1), owner


@case("HIP-336; CryptoAllowance in the mirror node's openapi.yml")
def an_allowance_of_hbar(network: Network) -> None:
    """A spender sends what was allowed, and no more; the mirror node shows what is left of it."""
    owner, mover = network.account(initialBalance=10), network.once(spender)
    network.done(approval(network, "cryptoAllowances", owner, amount=7), owner)

    def take(amount: int) -> str:
        amounts = (owner.id, -amount), (mover.id, amount)
        moved = {"accountAmounts": account_amounts(*amounts, is_approval=True)}
        return network.submit(network.body("cryptoTransfer", mover.id, transfers=moved), mover).code

    equal([take(5), take(3)], ["SUCCESS", "AMOUNT_EXCEEDS_ALLOWANCE"])
    path = f"/accounts/{owner.id}/allowances/crypto"

    def left(body: Any) -> list[tuple[int, int]]:
        return [(each["amount"], each["amount_granted"]) for each in body["allowances"]]

    equal(left(network.shown(path, lambda body: left(body) == [(2, 7)])), [(2, 7)])


@case("HIP-336; TokenAllowance in the mirror node's openapi.yml")
def an_allowance_of_units(network: Network) -> None:
    """Units are spent in the same way."""
    token, owner = network.once(units), network.account(max_automatic_token_associations=-1)
    mover = network.once(spender)
    give_units(network, token, owner, 10)
    fields = {"tokenId": messages.token(token), "amount": 7}
    network.done(approval(network, "tokenAllowances", owner, **fields), owner)

    def take(amount: int) -> str:
        amounts = (owner.id, -amount), (mover.id, amount)
        body = unit_transfer(network, token, *amounts, payer=mover.id, is_approval=True)
        return network.submit(body, mover).code

    equal([take(5), take(3)], ["SUCCESS", "AMOUNT_EXCEEDS_ALLOWANCE"])
    path = f"/accounts/{owner.id}/allowances/tokens"

    def left(body: Any) -> list[tuple[str, int, int]]:
        rows = body["allowances"]
        return [(each["token_id"], each["amount"], each["amount_granted"]) for each in rows]

    expected = [(token, 2, 7)]
    equal(left(network.shown(path, lambda body: left(body) == expected)), expected)
