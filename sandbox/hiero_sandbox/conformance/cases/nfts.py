"""NFTs: minting, moving, burning, and their royalties."""

import base64

from hiero_sdk_python.hapi.services.basic_types_pb2 import TransferList

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.cases.tokens import fee_update
from hiero_sandbox.conformance.entities import (
    ISSUER,
    ISSUER_KEY,
    about,
    buyer,
    collection,
    create_token,
    holder,
    mint,
    minting,
    nft_fields,
    nft_transfer,
    units,
)
from hiero_sandbox.conformance.network import Account, Network, account_amounts, transfers

MINT = "TokenMintHandler of hiero-consensus-node"
TRANSFER = "CryptoTransferHandler of hiero-consensus-node"
SIGNERS = "TransferExecutor, CryptoTransferValidationHelper of hiero-consensus-node"
RECEIVE = "AssociateTokenRecipientsStep of hiero-consensus-node"
MOVE = "NFTOwnersChangeStep of hiero-consensus-node"
BURN = "TokenBurnHandler of hiero-consensus-node"


@case("HIP-17; mirror node's openapi.yml, Nft")
def a_mint(network: Network) -> None:
    """A mint numbers the NFTs one after the other, and the treasury has them, each with its metadata."""
    token = create_token(network, **nft_fields(), supplyKey=ISSUER_KEY)
    first = network.done(minting(network, token, b"one", b"two"), ISSUER)
    second = network.done(minting(network, token, b"three"), ISSUER)
    equal([*first.receipt.serialNumbers, *second.receipt.serialNumbers], [1, 2, 3])
    equal([first.receipt.newTotalSupply, second.receipt.newTotalSupply], [2, 3])
    network.row(second)
    shown = network.get(f"/tokens/{token}/nfts/2").body
    equal([shown["account_id"], shown["serial_number"]], [network.operator.id, 2])
    equal(base64.b64decode(shown["metadata"]), b"two")
    equal([shown["spender"], shown["deleted"]], [None, False])
    nfts = network.get(f"/tokens/{token}/nfts").body["nfts"]
    equal([each["serial_number"] for each in nfts], [3, 2, 1])


@refused("METADATA_TOO_LONG", MINT)
def metadata_of_101_bytes(network: Network) -> object:
    """Metadata has 100 bytes at most."""
    return minting(network, network.once(collection), b"x" * 101), ISSUER


@refused("BATCH_SIZE_LIMIT_EXCEEDED", MINT)
def eleven_nfts(network: Network) -> object:
    """Ten NFTs are minted at once, at most."""
    return minting(network, network.once(collection), *[b"x"] * 11), ISSUER


@refused("INVALID_TOKEN_MINT_METADATA", MINT)
def a_mint_without_metadata(network: Network) -> object:
    """NFTs are minted from their metadata, not by an amount."""
    return minting(network, network.once(collection), amount=1), ISSUER


@case("HIP-17; mirror node's openapi.yml, NftTransactionHistory")
def a_transfer(network: Network) -> None:
    """An NFT's history has what happened to it, newest first, with who gave it to whom."""
    token, first, second = network.once(collection), network.once(holder), network.once(buyer)
    serial_no = mint(network, token, first)
    sent = network.done(nft_transfer(network, token, serial_no, first, second), first)
    [moved] = network.row(sent)["nft_transfers"]
    equal([moved["sender_account_id"], moved["receiver_account_id"]], [first.id, second.id])
    equal([moved["token_id"], moved["serial_number"]], [token, serial_no])
    history = network.get(f"/tokens/{token}/nfts/{serial_no}/transactions").body["transactions"]
    parties = [(each["sender_account_id"], each["receiver_account_id"]) for each in history]
    operator = network.operator.id
    equal(parties, [(first.id, second.id), (operator, first.id), (None, operator)])
    equal(history[-1]["type"], "TOKENMINT")


@refused("SENDER_DOES_NOT_OWN_NFT_SERIAL_NO", MOVE)
def an_nft_of_somebody_else(network: Network) -> object:
    """Nobody sends what they do not own."""
    token, owner, other = network.once(collection), network.once(holder), network.once(buyer)
    mint(network, token, owner)
    serial_no = mint(network, token)
    return nft_transfer(network, token, serial_no, owner, other), owner


@refused("INVALID_NFT_ID", RECEIVE)
def an_nft_that_was_never_minted(network: Network) -> object:
    """An NFT is minted before it is sent."""
    token, receiver = network.once(collection), network.once(holder)
    return nft_transfer(network, token, 2**31, network.operator, receiver)


@refused("INVALID_SIGNATURE", SIGNERS)
def an_owner_who_has_not_signed(network: Network) -> object:
    """The owner signs, unless it is by approval."""
    token, owner = network.once(collection), network.once(holder)
    serial_no = mint(network, token, owner)
    return nft_transfer(network, token, serial_no, owner, network.operator)


@case(BURN)
def a_burn(network: Network) -> None:
    """A burned NFT is still shown, as deleted and without an owner; its number is not used again."""
    token = network.once(collection)
    serial_no = mint(network, token)
    body = about(network, "tokenBurn", token, serialNumbers=[serial_no])
    network.row(network.done(body, ISSUER))
    shown = network.get(f"/tokens/{token}/nfts/{serial_no}").body
    equal([shown["deleted"], shown["account_id"], shown["spender"]], [True, None, None])
    holds(mint(network, token) > serial_no, "its number is used again")


@refused("TREASURY_MUST_OWN_BURNED_NFT", BURN)
def a_burn_of_somebody_elses_nft(network: Network) -> object:
    """Only the treasury's NFTs are burned."""
    token = network.once(collection)
    serial_no = mint(network, token, network.once(holder))
    return about(network, "tokenBurn", token, serialNumbers=[serial_no]), ISSUER


@case("TokenAccountWipeHandler of hiero-consensus-node")
def a_wipe(network: Network) -> None:
    """A wipe takes an NFT from its owner, and it is gone."""
    token, owner = network.once(collection), network.once(holder)
    serial_no = mint(network, token, owner)
    body = about(network, "tokenWipe", token, owner, serialNumbers=[serial_no])
    network.row(network.done(body, ISSUER))
    shown = network.get(f"/tokens/{token}/nfts/{serial_no}").body
    equal([shown["deleted"], shown["account_id"]], [True, None])


@case("HIP-657, HIP-850")
def new_metadata(network: Network) -> None:
    """The metadata key changes an NFT's metadata; owner and approvals stay."""
    token, owner = network.once(collection), network.once(holder)
    serial_no = mint(network, token, owner)
    fields = {"serial_numbers": [serial_no], "metadata": {"value": b"new"}}
    body = network.body("token_update_nfts", token=messages.token(token), **fields)
    network.row(network.done(body, ISSUER))
    shown = network.get(f"/tokens/{token}/nfts/{serial_no}").body
    equal([base64.b64decode(shown["metadata"]), shown["account_id"]], [b"new", owner.id])


def with_royalty(network: Network) -> tuple[str, Account]:
    """A collection with a royalty of a tenth, and who collects it. Its metadata stays as it is."""
    collector = network.account()
    fraction = {"exchange_value_fraction": {"numerator": 1, "denominator": 10}}
    fee = {"royalty_fee": fraction, "fee_collector_account_id": messages.account(collector.id)}
    keys = {"supplyKey": ISSUER_KEY, "fee_schedule_key": ISSUER_KEY}
    return create_token(network, **nft_fields(), **keys, custom_fees=[fee]), collector


@refused("TOKEN_HAS_NO_METADATA_KEY", "HIP-657")
def new_metadata_without_its_key(network: Network) -> object:
    """Without a metadata key, an NFT keeps its metadata."""
    token, _ = network.once(with_royalty)
    serial_no = mint(network, token, network.once(holder))
    fields = {"serial_numbers": [serial_no], "metadata": {"value": b"new"}}
    return network.body("token_update_nfts", token=messages.token(token), **fields), ISSUER


@case("HIP-18; CustomRoyaltyFeeAssessor of hiero-consensus-node")
def a_royalty(network: Network) -> None:
    """A royalty is taken of what the seller is credited for an NFT."""
    token, collector = network.once(with_royalty)
    seller, receiver = network.once(holder), network.once(buyer)
    serial_no = mint(network, token, seller)
    body = nft_transfer(network, token, serial_no, seller, receiver)
    price = transfers((network.operator.id, -100), (seller.id, 100))
    body.cryptoTransfer.transfers.MergeFrom(TransferList(**price))
    row = network.row(network.done(body, seller))
    got = {each["account"]: each["amount"] for each in row["transfers"]}
    equal([got[seller.id], got[collector.id]], [90, 10])
    [assessed] = row["assessed_custom_fees"]
    equal([assessed["amount"], assessed["effective_payer_account_ids"]], [10, [seller.id]])


@refused("ROYALTY_FRACTION_CANNOT_EXCEED_ONE", "CustomFeesValidator of hiero-consensus-node")
def a_royalty_of_more_than_all(network: Network) -> object:
    """A royalty is no more than all."""
    token, _ = network.once(with_royalty)
    fraction = {"exchange_value_fraction": {"numerator": 3, "denominator": 2}}
    return fee_update(network, token, royalty_fee=fraction), ISSUER


@refused("ACCOUNT_AMOUNT_TRANSFERS_ONLY_ALLOWED_FOR_FUNGIBLE_COMMON", TRANSFER)
def amounts_of_nfts(network: Network) -> object:
    """NFTs move by serial number, not by amount."""
    receiver = network.once(holder)
    moved = account_amounts((network.operator.id, -1), (receiver.id, 1))
    lists = [{"token": messages.token(network.once(collection)), "transfers": moved}]
    return network.body("cryptoTransfer", tokenTransfers=lists)


@refused("INVALID_NFT_ID", RECEIVE)
def a_serial_number_of_units(network: Network) -> object:
    """Units have no serial numbers."""
    return nft_transfer(network, network.once(units), 1, network.operator, network.once(holder))
