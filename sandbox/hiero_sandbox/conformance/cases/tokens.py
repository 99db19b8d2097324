"""Fungible tokens, and what all tokens have in common."""

from typing import Any

from hiero_sdk_python.crypto.private_key import PrivateKey
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from hiero_sandbox import messages
from hiero_sandbox.conformance.case import case, equal, holds, refused
from hiero_sandbox.conformance.entities import (
    ALL_SUPPLY,
    ISSUER,
    ISSUER_KEY,
    about,
    association,
    create_token,
    give_units,
    holder,
    minting,
    nft_fields,
    stranger,
    token_creation,
    unit_transfer,
    units,
)
from hiero_sandbox.conformance.network import Account, Network, Outcome, key_of, text

CREATE = "TokenCreateHandler of hiero-consensus-node"
VALIDATOR = "TokenCreateValidator of hiero-consensus-node"
TRANSFER = "CryptoTransferHandler of hiero-consensus-node"
TRANSFER_VALIDATOR = "CryptoTransferValidator of hiero-consensus-node"
RECEIVE = "AssociateTokenRecipientsStep of hiero-consensus-node"
MINT = "TokenMintHandler of hiero-consensus-node"
BURN = "TokenBurnHandler of hiero-consensus-node"
WIPE = "TokenAccountWipeHandler of hiero-consensus-node"
ASSOCIATE = "TokenAssociateToAccountHandler of hiero-consensus-node"
DISSOCIATE = "TokenDissociateFromAccountHandler of hiero-consensus-node"
UPDATE = "TokenUpdateHandler of hiero-consensus-node"


def bare(network: Network) -> str:
    """A token without keys."""
    return create_token(network, decimals=0, initialSupply=10)


def managed(network: Network) -> str:
    """A token whose keys change, and whose holders need KYC."""
    return create_token(network, **dict.fromkeys(("adminKey", "wipeKey", "kycKey"), ISSUER_KEY))


def doomed(network: Network) -> tuple[Outcome, Account]:
    """The creation of a token that its creator deletes, and can't be used for anything else."""
    creator = network.account(1.1)
    fields = {"treasury": messages.account(creator.id), "adminKey": key_of(creator.key)}
    body = token_creation(network, creator.id, **fields)
    return network.done(body, creator), creator


def relationship(network: Network, account: Account, token: str, name: str, value: object) -> None:
    """Expect a value of an account's row of a token."""
    path = f"/accounts/{account.id}/tokens?token.id={token}"
    body = network.shown(path, lambda body: [row[name] for row in body["tokens"]] == [value])
    equal([row[name] for row in body["tokens"]], [value])


# Creation


@case("TokenInfo in the mirror node's openapi.yml")
def a_new_token(network: Network) -> None:
    """The mirror node shows a new token: supplies and decimals as text, its keys, its treasury."""
    token = network.once(units)
    shown = network.shown(f"/tokens/{token}", lambda body: body["token_id"])
    expected = {
        "type": "FUNGIBLE_COMMON",
        "name": "Conformance",
        "symbol": "CONF",
        "decimals": "2",
        "initial_supply": str(ALL_SUPPLY),
        "max_supply": "0",
        "supply_type": "INFINITE",
        "treasury_account_id": network.operator.id,
        "pause_status": "UNPAUSED",
        "freeze_default": False,
        "deleted": False,
        "kyc_key": None,
    }
    equal({name: shown[name] for name in expected}, expected)
    equal(shown["supply_key"]["key"], ISSUER_KEY.ed25519.hex())


@refused("MISSING_TOKEN_SYMBOL", VALIDATOR)
def no_symbol(network: Network) -> object:
    """A token has a symbol."""
    return token_creation(network, symbol="")


@refused("INVALID_TOKEN_INITIAL_SUPPLY", CREATE, by_node=True)
def nfts_with_a_supply(network: Network) -> object:
    """A collection begins without NFTs."""
    return token_creation(network, **nft_fields() | {"initialSupply": 1}, supplyKey=ISSUER_KEY)


@refused("INVALID_TOKEN_DECIMALS", CREATE, by_node=True)
def nfts_with_decimals(network: Network) -> object:
    """NFTs have no decimals."""
    return token_creation(network, **nft_fields() | {"decimals": 1}, supplyKey=ISSUER_KEY)


@refused("TOKEN_HAS_NO_SUPPLY_KEY", CREATE, by_node=True)
def nfts_that_nobody_can_mint(network: Network) -> object:
    """A collection has a supply key."""
    return token_creation(network, **nft_fields())


@refused("INVALID_TOKEN_MAX_SUPPLY", CREATE, by_node=True)
def a_finite_supply_without_a_maximum(network: Network) -> object:
    """A finite supply has a maximum."""
    return token_creation(network, supplyType="FINITE")


# Supply


@refused("INVALID_SIGNATURE", MINT)
def a_mint_without_its_key(network: Network) -> object:
    """The supply key signs a mint."""
    return minting(network, network.once(units), amount=1), PrivateKey.generate_ed25519()


@refused("TOKEN_HAS_NO_SUPPLY_KEY", MINT)
def a_mint_of_a_token_without_a_supply_key(network: Network) -> object:
    """Without a supply key, the supply is fixed."""
    return minting(network, network.once(bare), amount=1)


@case(f"{MINT}; {BURN}")
def a_mint_and_a_burn(network: Network) -> None:
    """Mints and burns change the supply, which their receipts tell, up to its maximum and down to zero."""
    fields = {"supplyType": "FINITE", "maxSupply": 15, "supplyKey": ISSUER_KEY}
    token = create_token(network, initialSupply=10, **fields)
    minted = network.done(minting(network, token, amount=5), ISSUER)
    equal(minted.receipt.newTotalSupply, 15)
    more = network.submit(minting(network, token, amount=1), ISSUER)
    equal(more.code, "TOKEN_MAX_SUPPLY_REACHED")
    burned = network.done(about(network, "tokenBurn", token, amount=7), ISSUER)
    equal(burned.receipt.newTotalSupply, 8)
    more = network.submit(about(network, "tokenBurn", token, amount=9), ISSUER)
    equal(more.code, "INVALID_TOKEN_BURN_AMOUNT")
    shown = network.shown(f"/tokens/{token}", lambda body: body["total_supply"] == "8")
    equal([shown["total_supply"], shown["max_supply"]], ["8", "15"])


# Associations and transfers


@case(TRANSFER)
def a_transfer_of_units(network: Network) -> None:
    """Units go from one account to another one, and the row shows both changes."""
    token, receiver = network.once(units), network.once(holder)
    amounts = (network.operator.id, -3), (receiver.id, 3)
    row = network.row(network.done(unit_transfer(network, token, *amounts)))
    moved = {each["account"]: each["amount"] for each in row["token_transfers"]}
    equal(moved, dict(amounts))
    equal({each["token_id"] for each in row["token_transfers"]}, {token})


@refused("TRANSFERS_NOT_ZERO_SUM_FOR_TOKEN", TRANSFER_VALIDATOR, by_node=True)
def units_that_are_not_zero_together(network: Network) -> object:
    """The amounts of each token add up to zero."""
    receiver = network.once(holder)
    amounts = (network.operator.id, -1), (receiver.id, 2)
    return unit_transfer(network, network.once(units), *amounts)


@refused("INSUFFICIENT_TOKEN_BALANCE", TRANSFER)
def more_units_than_an_account_has(network: Network) -> object:
    """Nobody sends more units than they have."""
    token, sender = network.once(units), network.account(max_automatic_token_associations=-1)
    give_units(network, token, sender, 1)
    return unit_transfer(network, token, (sender.id, -2), (network.operator.id, 2)), sender


@refused("UNEXPECTED_TOKEN_DECIMALS", "TokenTransferList in basic_types.proto")
def other_decimals_than_expected(network: Network) -> object:
    """A transfer that expects other decimals than the token's fails."""
    receiver = network.once(holder)
    amounts = (network.operator.id, -1), (receiver.id, 1)
    return unit_transfer(network, network.once(units), *amounts, expected_decimals=3)


@case(f"{ASSOCIATE}; HIP-904")
def an_association(network: Network) -> None:
    """An account without automatic associations associates itself, once, and signs."""
    token, account = network.once(units), network.account()
    amounts = (network.operator.id, -1), (account.id, 1)
    sent = network.submit(unit_transfer(network, token, *amounts))
    equal(sent.code, "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT")
    equal(network.submit(association(network, account, token)).code, "INVALID_SIGNATURE")
    equal(network.submit(association(network, account, token), account).code, "SUCCESS")
    again = network.submit(association(network, account, token), account)
    equal(again.code, "TOKEN_ALREADY_ASSOCIATED_TO_ACCOUNT")
    equal(network.submit(unit_transfer(network, token, *amounts)).code, "SUCCESS")
    relationship(network, account, token, "automatic_association", False)


@case(f"HIP-23; {RECEIVE}")
def an_automatic_association(network: Network) -> None:
    """Automatic associations are made by transfers, as many as an account allows."""
    account = network.account(max_automatic_token_associations=1)
    first, second = network.once(units), network.once(bare)
    give_units(network, first, account, 1)
    relationship(network, account, first, "automatic_association", True)
    amounts = (network.operator.id, -1), (account.id, 1)
    refusal = network.submit(unit_transfer(network, second, *amounts))
    equal(refusal.code, "NO_REMAINING_AUTOMATIC_ASSOCIATIONS")


@case(DISSOCIATE)
def a_dissociation(network: Network) -> None:
    """An account gives up a token of which it has nothing."""
    token, account = network.once(units), network.account(max_automatic_token_associations=-1)
    give_units(network, token, account, 1)

    def try_it() -> str:
        body = association(network, account, token, kind="tokenDissociate")
        return network.submit(body, account).code

    equal(try_it(), "TRANSACTION_REQUIRES_ZERO_TOKEN_BALANCES")
    back = unit_transfer(network, token, (account.id, -1), (network.operator.id, 1))
    network.done(back, account)
    equal([try_it(), try_it()], ["SUCCESS", "TOKEN_NOT_ASSOCIATED_TO_ACCOUNT"])


@refused("INVALID_TOKEN_ID", ASSOCIATE)
def an_association_with_what_is_no_token(network: Network) -> object:
    """A token exists."""
    account = network.once(stranger)
    return association(network, account, "0.0.4294967295"), account


@refused("TOKEN_ID_REPEATED_IN_TOKEN_LIST", ASSOCIATE, by_node=True)
def an_association_with_a_token_twice(network: Network) -> object:
    """A list names a token once."""
    account, token = network.once(stranger), network.once(units)
    return association(network, account, token, token), account


# Roles


@case("TokenFreezeAccountHandler of hiero-consensus-node")
def a_freeze(network: Network) -> None:
    """A frozen account moves nothing of a token until it is unfrozen."""
    token, account = network.once(units), network.account(max_automatic_token_associations=-1)
    give_units(network, token, account, 2)
    network.done(about(network, "tokenFreeze", token, account), ISSUER)
    relationship(network, account, token, "freeze_status", "FROZEN")
    for amounts in (
        ((account.id, -1), (network.operator.id, 1)),
        (
            (account.id, 1),
            (network.operator.id, -1),
        ),
    ):
        sent = network.submit(unit_transfer(network, token, *amounts), account)
        equal(sent.code, "ACCOUNT_FROZEN_FOR_TOKEN")
    network.done(about(network, "tokenUnfreeze", token, account), ISSUER)
    give_units(network, token, account, 1)
    relationship(network, account, token, "freeze_status", "UNFROZEN")


@case("TokenGrantKycToAccountHandler of hiero-consensus-node")
def kyc(network: Network) -> None:
    """Of a token with a KYC key, an account gets nothing before KYC is granted."""
    token, account = network.once(managed), network.account()
    network.done(association(network, account, token), account)
    amounts = (network.operator.id, -1), (account.id, 1)
    sent = network.submit(unit_transfer(network, token, *amounts))
    equal(sent.code, "ACCOUNT_KYC_NOT_GRANTED_FOR_TOKEN")
    network.done(about(network, "tokenGrantKyc", token, account), ISSUER)
    relationship(network, account, token, "kyc_status", "GRANTED")
    equal(network.submit(unit_transfer(network, token, *amounts)).code, "SUCCESS")


@refused("TOKEN_HAS_NO_KYC_KEY", "TokenGrantKycToAccountHandler of hiero-consensus-node")
def kyc_without_its_key(network: Network) -> object:
    """Without a KYC key there is no KYC."""
    return about(network, "tokenGrantKyc", network.once(units), network.once(holder)), ISSUER


@refused("TOKEN_HAS_NO_FREEZE_KEY", "TokenFreezeAccountHandler of hiero-consensus-node")
def a_freeze_without_its_key(network: Network) -> object:
    """Without a freeze key, nobody is frozen."""
    return about(network, "tokenFreeze", network.once(bare), network.once(holder)), ISSUER


@case("HIP-24")
def a_pause(network: Network) -> None:
    """Nothing of a paused token moves."""
    token, receiver = create_token(network, pause_key=ISSUER_KEY), network.once(holder)
    amounts = (network.operator.id, -1), (receiver.id, 1)
    network.done(about(network, "token_pause", token), ISSUER)
    shown = network.shown(f"/tokens/{token}", lambda body: body["pause_status"] == "PAUSED")
    equal(shown["pause_status"], "PAUSED")
    equal(network.submit(unit_transfer(network, token, *amounts)).code, "TOKEN_IS_PAUSED")
    network.done(about(network, "token_unpause", token), ISSUER)
    equal(network.submit(unit_transfer(network, token, *amounts)).code, "SUCCESS")


@refused("TOKEN_HAS_NO_PAUSE_KEY", "HIP-24")
def a_pause_without_its_key(network: Network) -> object:
    """Without a pause key, a token is never paused."""
    return about(network, "token_pause", network.once(bare)), ISSUER


@case(WIPE)
def a_wipe(network: Network) -> None:
    """A wipe takes units from an account, which must have them."""
    token, account = network.once(units), network.account(max_automatic_token_associations=-1)
    give_units(network, token, account, 4)
    network.done(about(network, "tokenWipe", token, account, amount=3), ISSUER)
    relationship(network, account, token, "balance", 1)
    more = network.submit(about(network, "tokenWipe", token, account, amount=3), ISSUER)
    equal(more.code, "INVALID_WIPING_AMOUNT")


@refused("CANNOT_WIPE_TOKEN_TREASURY_ACCOUNT", WIPE)
def a_wipe_of_the_treasury(network: Network) -> object:
    """The treasury's units are burned, not wiped."""
    return about(network, "tokenWipe", network.once(units), network.operator, amount=1), ISSUER


# Updates and deletion


@case(UPDATE)
def an_update(network: Network) -> None:
    """The admin key changes a token; what an update leaves out stays."""
    token = network.once(managed)
    body = about(network, "tokenUpdate", token, symbol="NEW")
    equal(network.submit(body).code, "INVALID_SIGNATURE")
    network.done(about(network, "tokenUpdate", token, symbol="NEW"), ISSUER)
    shown = network.shown(f"/tokens/{token}", lambda body: body["symbol"] == "NEW")
    equal([shown["symbol"], shown["name"]], ["NEW", "Conformance"])


@case(UPDATE)
def a_new_treasury(network: Network) -> None:
    """A token's new treasury signs."""
    new = {"treasury": messages.account(network.once(holder).id)}
    body = about(network, "tokenUpdate", network.once(managed), **new)
    equal(network.submit(body, ISSUER).code, "INVALID_SIGNATURE")


@case("HIP-540")
def a_role_changes_its_own_key(network: Network) -> None:
    """A role's key may replace itself; another key may not."""
    token, new = network.once(managed), PrivateKey.generate_ed25519()
    body = about(network, "tokenUpdate", token, wipeKey=key_of(new))
    equal(network.submit(body, new).code, "INVALID_SIGNATURE")
    body = about(network, "tokenUpdate", token, wipeKey=key_of(new))
    equal(network.submit(body, ISSUER, new).code, "SUCCESS")


@refused("TOKEN_IS_IMMUTABLE", UPDATE)
def an_update_of_an_immutable_token(network: Network) -> object:
    """Without an admin key, a token stays as it is."""
    return about(network, "tokenUpdate", network.once(bare), symbol="NEW")


@case("TokenDeleteHandler of hiero-consensus-node")
def a_deleted_token(network: Network) -> None:
    """A deleted token is shown as such, and refused with TOKEN_WAS_DELETED."""
    made, owner = network.once(doomed)
    token = text(made.receipt.tokenID)
    network.done(about(network, "tokenDeletion", token), owner)
    shown = network.shown(f"/tokens/{token}", lambda body: body["deleted"] is True)
    equal(shown["deleted"], True)
    amounts = (owner.id, -1), (network.once(holder).id, 1)
    refusal = network.submit(unit_transfer(network, token, *amounts), owner)
    equal(refusal.code, "TOKEN_WAS_DELETED")


@refused("TOKEN_IS_IMMUTABLE", "TokenDeleteHandler of hiero-consensus-node")
def a_deletion_of_an_immutable_token(network: Network) -> object:
    """Without an admin key, a token is never deleted."""
    return about(network, "tokenDeletion", network.once(bare))


# Custom fees


def with_fees(network: Network) -> tuple[str, Account]:
    """A token with a fixed fee of 11 tinybars, and a tenth of what is sent; and who collects them."""
    collector = network.once(collects)
    named = {"fee_collector_account_id": messages.account(collector.id)}
    fraction = {"fractional_amount": {"numerator": 1, "denominator": 10}}
    fees = [{"fixed_fee": {"amount": 11}} | named, {"fractional_fee": fraction} | named]
    body = token_creation(network, custom_fees=fees, fee_schedule_key=ISSUER_KEY)
    return text(network.done(body, collector).receipt.tokenID), collector


def collects(network: Network) -> Account:
    return network.account()


def sent_with_fees(network: Network) -> tuple[Any, Account, Account]:
    """The row of a transfer of 100 units with fees, its sender and its receiver."""
    token, _ = network.once(with_fees)
    sender, receiver = (network.account(0.1, max_automatic_token_associations=-1) for _ in range(2))
    give_units(network, token, sender, 100)
    body = unit_transfer(network, token, (sender.id, -100), (receiver.id, 100))
    return network.row(network.done(body, sender)), sender, receiver


@case("HIP-18")
def a_fixed_fee(network: Network) -> None:
    """The sender pays a token's fixed fee, which the transfer's row lists."""
    row, sender, _ = network.once(sent_with_fees)
    _, collector = network.once(with_fees)
    [assessed] = [each for each in row["assessed_custom_fees"] if each["token_id"] is None]
    equal([assessed["amount"], assessed["collector_account_id"]], [11, collector.id])
    equal(assessed["effective_payer_account_ids"], [sender.id])


@case("HIP-18; CustomFractionalFeeAssessor of hiero-consensus-node")
def a_fractional_fee(network: Network) -> None:
    """A fractional fee is taken of what the receiver gets, unless it is net of transfers."""
    row, sender, receiver = network.once(sent_with_fees)
    _, collector = network.once(with_fees)
    moved = {each["account"]: each["amount"] for each in row["token_transfers"]}
    equal(moved, {sender.id: -100, receiver.id: 90, collector.id: 10})


def fee_update(network: Network, token: str, **fee: Any) -> TransactionBody:
    collector = {"fee_collector_account_id": messages.account(network.operator.id)}
    fields = {"token_id": messages.token(token), "custom_fees": [fee | collector]}
    return network.body("token_fee_schedule_update", **fields)


@refused("TOKEN_HAS_NO_FEE_SCHEDULE_KEY", "TokenFeeScheduleUpdateHandler of hiero-consensus-node")
def a_change_of_fees_without_its_key(network: Network) -> object:
    """Without a fee schedule key, the fees stay as they are."""
    return fee_update(network, network.once(units), fixed_fee={"amount": 1})


@refused("FRACTION_DIVIDES_BY_ZERO", "CustomFeesValidator of hiero-consensus-node")
def a_fraction_of_zero(network: Network) -> object:
    """A fraction has a denominator."""
    token, _ = network.once(with_fees)
    fraction = {"fractional_amount": {"numerator": 1, "denominator": 0}}
    return fee_update(network, token, fractional_fee=fraction), ISSUER


@refused("CUSTOM_ROYALTY_FEE_ONLY_ALLOWED_FOR_NON_FUNGIBLE_UNIQUE", "HIP-18")
def a_royalty_of_units(network: Network) -> object:
    """Only NFTs have royalties."""
    token, _ = network.once(with_fees)
    fraction = {"exchange_value_fraction": {"numerator": 1, "denominator": 10}}
    return fee_update(network, token, royalty_fee=fraction), ISSUER


# Airdrops and rejections


@case("HIP-904")
def an_airdrop_that_waits(network: Network) -> None:
    """An airdrop to an account that is not associated waits until the receiver claims it."""
    token, receiver = network.once(units), network.account()
    amounts = unit_transfer(network, token, (network.operator.id, -1), (receiver.id, 1))
    lists = amounts.cryptoTransfer.tokenTransfers
    network.done(network.body("tokenAirdrop", token_transfers=lists))
    path = f"/accounts/{receiver.id}/airdrops/pending"
    body = network.shown(path, lambda body: body["airdrops"])
    equal([[each["token_id"], each["amount"]] for each in body["airdrops"]], [[token, 1]])
    pending = {
        "sender_id": messages.account(network.operator.id),
        "receiver_id": messages.account(receiver.id),
        "fungible_token_type": messages.token(token),
    }
    claim = {"pending_airdrops": [pending]}
    refusal = network.submit(network.body("tokenClaimAirdrop", **claim))
    equal(refusal.code, "INVALID_SIGNATURE")
    network.done(network.body("tokenClaimAirdrop", **claim), receiver)
    relationship(network, receiver, token, "balance", 1)
    again = network.submit(network.body("tokenClaimAirdrop", **claim), receiver)
    equal(again.code, "INVALID_PENDING_AIRDROP_ID")


@case("HIP-904; TokenRejectHandler of hiero-consensus-node")
def a_rejection(network: Network) -> None:
    """An owner gives all units back to the treasury, who pays nothing for them."""
    token, owner = network.once(units), network.account(max_automatic_token_associations=-1)
    give_units(network, token, owner, 3)
    fields = {"owner": messages.account(owner.id)}
    rejected = [{"fungible_token": messages.token(token)}]
    body = network.body("tokenReject", rejections=rejected, **fields)
    row = network.row(network.done(body, owner))
    moved = {each["account"]: each["amount"] for each in row["token_transfers"]}
    holds(moved == {owner.id: -3, network.operator.id: 3}, f"it moved {moved}")
