"""What people and the watcher do in a story, on the ledger. Each act tells the model what it did."""

import random
from collections import Counter
from contextlib import closing, suppress
from threading import Event

from hiero_sdk_python.hapi.services.crypto_delete_allowance_pb2 import NftRemoveAllowance
from hiero_sdk_python.hapi.services.transaction_pb2 import TransactionBody

from harness.wallets import (
    MINTED_AT,
    account,
    allow,
    approval,
    metadata_update,
    new_body,
    seal,
    token_id,
    withdrawal,
)
from hiero_sandbox import database as ledger_database
from hiero_sandbox import node
from hiero_sandbox.ledger import envelopes
from hiero_sandbox.ledger import queries as ledger_queries
from marketplace.errors import MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.ledger.objects import LedgerToken
from marketplace.market import collection_facts
from marketplace.market.memos import (
    basket_memo,
    bulk_listing_memo,
    bulk_withdrawal_memo,
    listing_memo,
    withdrawal_memo,
)
from marketplace.sandbox import wallet
from marketplace.sandbox.catalogue import TREASURY
from marketplace.sandbox.world import hand_over
from marketplace.services import read
from marketplace.store import following
from marketplace.watcher import collection_import, maintenance
from marketplace.watcher.follow import Follower, backfill
from marketplace.watcher.recheck import Rechecker, drain_queue
from marketplace.watcher.sweep import Sweep, sync
from stress.lives.model import Done, Life
from stress.lives.steps import MOST_LISTED, MOST_MOVED, Step, cast_of
from stress.lives.world import CLOCK, MARKET, TOKENS, Weather, World

OTHER_MARKET, STRANGER = "0.0.6666", "0.0.1003"
TREASURIES = (TREASURY, "0.0.1005", "0.0.1006")
REWARDS = (1, 12_000_000, 3_000_000_000)  # tinybars
WAITS = (1, 3, 10, 25, 50, 70, 200)  # seconds
LONG = 25 * times.HOUR
OFTEN = 105  # more than a page of the mirror node


def rebuild(token: str) -> None:
    """Import a collection, and recheck what the import has queued."""
    described = collection_facts.describe(
        token, LedgerToken("Foo", "NON_FUNGIBLE_UNIQUE", 3), times.now()
    )
    for _ in collection_import.import_collection(described, collection_import.Tally()):
        pass
    drain_queue()


def second_key(account_id: str) -> str:
    """The name under which the demo wallet keeps the key that an account gets later."""
    return f"{account_id} later"


class Acts:
    """The steps of stories, by their names, but for those at the service: see orders.py."""

    def __init__(self, world: World, seed: str) -> None:
        self.world, self.weather = world, Weather(seed)
        self.dice = random.Random(f"play {seed}")
        self.nfts, self.accounts, sellers = cast_of(seed)
        self.owners = {nft: self.dice.choice(sellers) for nft in self.nfts}
        self.lives = {nft: Life(owner, MINTED_AT) for nft, owner in self.owners.items()}
        self.treasuries = dict.fromkeys(TOKENS, TREASURY)
        self.follower = Follower()
        self.rotated: set[str] = set()  # accounts that have another key than the first one
        self.all_due_at = 0  # from then on nothing waits since an outage

    # On the ledger

    def submit(self, body: TransactionBody, *signers: str) -> Done | None:
        """Sign and submit, under a new id by the ledger's clock; None if it failed."""
        start = body.transactionID.transactionValidStart
        moment = self.world.ledger_now() - times.SECOND
        start.seconds, start.nanos = divmod(moment, times.SECOND)
        return self.submit_as_it_is(body, *signers)

    def submit_as_it_is(self, body: TransactionBody, *signers: str) -> Done | None:
        transaction = seal(body)
        for signer in signers:
            transaction = self.add_signature(signer, transaction)
        return self.submit_signed(transaction)

    def add_signature(self, signer: str, content: bytes) -> bytes:
        """Sign with the key that the account has now."""
        return wallet.sign(second_key(signer) if signer in self.rotated else signer, content)

    def submit_signed(self, content: bytes, *, is_noted: bool = True) -> Done | None:
        with self.world.ledger.app_context():
            receipt = node.submit(content, self.world.ledger_now())
            moment = ledger_queries.get_last_consensus(ledger_database.read())
        if is_noted:
            self.world.note()
        return Done(moment, receipt.transaction_id) if receipt.result == "SUCCESS" else None

    def list_(self, nft, price: int | None, done: Done | None) -> None:
        """Tell the model: what was signed lists the NFT at this price, or without one ends its listing."""
        if done:
            self.lives[nft].approve(*done, price)

    def list_by_other_means(self, step: Step) -> None:
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        body = approval(owner, nft, MARKET, listing_memo(*nft, step.price, "Foo"))
        self.list_(nft, step.price, self.submit(body, owner))

    def list_several(self, step: Step) -> None:
        """One approval of some of an owner's NFTs: in one entry for each token and spender, or in more.

        Its memo lists those of one token. Another market may be approved to sell one of them.
        """
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        of_owner = [each for each, life in self.lives.items() if life.owner == owner]
        if step.number // 19 % 4:
            of_owner = [each for each in of_owner if each[0] == nft[0]]
        some = step.choose_some(of_owner, MOST_LISTED)
        named = step.choose((*TOKENS, nft[0], nft[0]))
        spenders = dict.fromkeys(some, MARKET)
        if step.number // 11 % 4 == 0:
            spenders[some[-1]] = OTHER_MARKET
        entries: dict[tuple[str, str, int], list[int]] = {}
        for (token, serial_no), spender in spenders.items():
            alone = serial_no if step.number // 17 % 2 else 0
            entries.setdefault((token, spender, alone), []).append(serial_no)
        body = new_body(owner, bulk_listing_memo(named, step.price, "Foo"))
        for (token, spender, _), (first, *more) in entries.items():
            allow(body.cryptoApproveAllowance, (token, first), owner, spender, *more)
        done = self.submit(body, owner)
        for each, spender in spenders.items():
            is_listed = spender == MARKET and named == each[0]
            self.list_(each, step.price if is_listed else None, done)

    def list_several_and_end(self, step: Step) -> None:
        """Several are listed, and one of them is elsewhere in the next block: before the others are found."""
        self.list_several(step)
        CLOCK.set_forward(2 * times.SECOND)
        end = (self.sell, self.approve, self.withdraw, self.withdraw_several, self.list_several)
        step.choose(end)(step._replace(number=step.number // 3))

    def list_and_end(self, step: Step) -> None:
        """A listing that ends in the next block."""
        self.list_by_other_means(step)
        CLOCK.set_forward(2 * times.SECOND)
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        body = withdrawal(owner, nft)
        if step.number // 3 % 2:
            body = approval(owner, nft, OTHER_MARKET)
        self.list_(nft, None, self.submit(body, owner))

    def approve(self, step: Step) -> None:
        """Another market is approved, or this one without a price."""
        nft = self.choose_listed(step)
        owner = self.lives[nft].owner
        body = approval(owner, nft, (MARKET, OTHER_MARKET)[step.number % 2])
        self.list_(nft, None, self.submit(body, owner))

    def withdraw(self, step: Step) -> None:
        """The memo names the NFT, another one, or none."""
        nft = self.choose_listed(step)
        owner = self.lives[nft].owner
        body = withdrawal(owner, nft)
        other = self.nfts[step.number // 3 % len(self.nfts)]
        body.memo = ("", withdrawal_memo(*nft, "Foo"), withdrawal_memo(*other, "Foo"))[
            step.number // 11 % 3
        ]
        self.list_(nft, None, self.submit(body, owner))

    def withdraw_several(self, step: Step) -> None:
        """Some NFTs of an owner in one transaction, whose memo names one of them, their token, or none."""
        nft = self.choose_listed(step)
        owner = self.lives[nft].owner
        of_owner = [each for each, life in self.lives.items() if life.owner == owner]
        some = step.choose_some(of_owner, MOST_LISTED)
        form = step.number // 5 % 5
        memo = (
            withdrawal_memo(*nft, "Foo"),
            "Foo",
            "",
            listing_memo(*nft, step.price, "Foo"),
            bulk_withdrawal_memo(nft[0], "Foo"),
        )
        body = new_body(owner, memo[form])
        for each in some:
            if form in (1, 3):
                spender = OTHER_MARKET if form == 1 else MARKET
                allow(body.cryptoApproveAllowance, each, owner, spender)
            else:
                removed = NftRemoveAllowance(token_id=token_id(each), owner=account(owner))
                removed.serial_numbers.append(each[1])
                body.cryptoDeleteAllowance.nftAllowances.append(removed)
        done = self.submit(body, owner)
        for each in some:
            self.list_(each, step.price if form == 3 and each == nft else None, done)

    def choose_listed(self, step: Step):
        """A listed NFT, if there is one: little can happen to another."""
        return step.choose(self.listed() or self.nfts)

    def earn(self, step: Step) -> None:
        """An account earns a staking reward, which its next transaction pays."""
        account_id = step.choose((*self.accounts, *self.accounts, MARKET))
        with self.world.ledger.app_context():
            node.add_reward(account_id, REWARDS[step.number // 7 % 3], self.world.ledger_now())
        self.world.note()

    def forge(self, step: Step) -> None:
        """A stranger pays for an approval and chooses its memo. The owner only signs the approval."""
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        body = new_body(STRANGER, listing_memo(*nft, 1, "Foo"))
        allow(body.cryptoApproveAllowance, nft, owner, MARKET)
        self.list_(nft, None, self.submit(body, STRANGER, owner))

    def schedule(self, step: Step) -> None:
        """A stranger's schedule executes an approval: two rows under one id, the stranger's memo first."""
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        body = new_body((STRANGER, owner)[step.number % 2], listing_memo(*nft, 1, "Foo"))
        scheduled = body.scheduleCreate.scheduledTransactionBody
        scheduled.memo, scheduled.transactionFee = listing_memo(*nft, 2, "Foo"), TINYBARS
        if (
            step.number % 2 and step.number // 7 % 2
        ):  # the memo names no NFT, but the payer is the owner
            body.memo = scheduled.memo = bulk_listing_memo(nft[0], 2, "Foo")
        allow(scheduled.cryptoApproveAllowance, nft, owner, MARKET)
        payer = envelopes.write_id(body.transactionID.accountID)
        self.list_(nft, None, self.submit(body, payer, owner))

    def sell(self, step: Step) -> None:
        """Another account gets the NFT, by a gift or a sale elsewhere."""
        self.hand_over(step.choose(self.nfts), self.accounts[step.number // 3 % len(self.accounts)])

    def round_trip(self, step: Step) -> None:
        """Another account gets the NFT, and its owner gets it back."""
        nft = step.choose(self.nfts)
        owner = self.lives[nft].owner
        self.hand_over(nft, next(one for one in self.accounts if one != owner))
        self.hand_over(nft, owner)

    def hand_back(self, step: Step) -> None:
        nft = step.choose(self.nfts)
        self.hand_over(nft, self.treasuries[nft[0]])
        if step.number % 3 == 0:
            self.burn_at_treasury(nft)

    def hand_over(self, nft, receiver: str) -> None:
        if self.lives[nft].owner == receiver:
            return
        with self.world.ledger.app_context():
            receipt = hand_over(*nft, receiver, self.world.ledger_now())
            moment = ledger_queries.get_last_consensus(ledger_database.read())
        self.world.note()
        if receipt.result == "SUCCESS":
            self.lives[nft].move(moment, receipt.transaction_id, receiver)

    def give_several(self, step: Step) -> None:
        """One transfer gives some of an owner's NFTs to another account."""
        owner = self.lives[step.choose(self.nfts)].owner
        receiver = next(
            one for one in step.choose_some(self.accounts) + list(self.accounts) if one != owner
        )
        of_owner = [each for each, life in self.lives.items() if life.owner == owner]
        some = step.choose_some(of_owner, MOST_MOVED)
        self.move_several(some, receiver, new_body(owner, ""), owner)

    def buy_several(self, step: Step) -> None:
        """One transfer of the marketplace sells several listed NFTs, of any owners, to one buyer.

        The service has prepared no such purchase. Its memo has the sum of the prices, another one, or none.
        """
        buyer = step.choose(self.accounts)
        listed = [nft for nft in self.listed() if self.lives[nft].owner != buyer]
        if len(listed) < 2:
            return
        some, amounts = step.choose_some(listed, MOST_MOVED), Counter()
        prices = {nft: self.lives[nft].listing[0] for nft in some}
        for nft, price in prices.items():
            amounts[self.lives[nft].owner] += price * TINYBARS
        amounts[buyer] -= amounts.total()
        total = sum(prices.values())
        is_named = len(some) > 1 and step.number // 5 % 3 == 0
        memos = (
            basket_memo(len(some), total, "Foo"),
            basket_memo(len(some), total + 1, "Foo"),
            "NFTs",
        )
        body = new_body(MARKET, memos[step.number // 5 % 3])
        for account_id, amount in amounts.items():
            body.cryptoTransfer.transfers.accountAmounts.add(
                accountID=account(account_id), amount=amount
            )
        self.move_several(some, buyer, body, MARKET, buyer, prices=prices if is_named else None)

    def listed(self) -> list[tuple[str, int]]:
        return [nft for nft in self.nfts if self.lives[nft].listing]

    def move_several(
        self, some, receiver: str, body: TransactionBody, *signers: str, prices=None
    ) -> None:
        """Add transfers of NFTs to the body, by approval if another account than the owner pays."""
        payer = envelopes.write_id(body.transactionID.accountID)
        for token in dict.fromkeys(token for token, _ in some):
            transfers = body.cryptoTransfer.tokenTransfers.add(token=token_id((token, 0)))
            for nft in some:
                if nft[0] == token:
                    owner = self.lives[nft].owner
                    transfers.nftTransfers.add(
                        senderAccountID=account(owner),
                        receiverAccountID=account(receiver),
                        serialNumber=nft[1],
                        is_approval=owner != payer,
                    )
        if done := self.submit(body, *signers):
            for nft in some:
                price = prices and prices[nft]
                self.lives[nft].move(*done, receiver, price=price, price_without_row=price)

    def sell_often(self, step: Step) -> None:
        """Another market sells the NFT several times: moves by approval, which we did not pay for."""
        nft = step.choose(self.nfts)
        for number in range(6):
            owner = self.lives[nft].owner
            buyer = next(one for one in self.accounts[number % 2 :] + self.accounts if one != owner)
            body = approval(owner, nft, OTHER_MARKET)
            self.list_(nft, None, self.submit(body, owner))
            sale = new_body(OTHER_MARKET, "")
            moved = sale.cryptoTransfer.tokenTransfers.add(token=token_id(nft)).nftTransfers.add(
                serialNumber=nft[1], is_approval=True
            )
            moved.senderAccountID.CopyFrom(account(owner))
            moved.receiverAccountID.CopyFrom(account(buyer))
            if done := self.submit(sale, OTHER_MARKET):
                self.lives[nft].move(*done, buyer)

    def update(self, step: Step) -> None:
        self.update_metadata(step.choose(self.nfts))

    def update_often(self, step: Step) -> None:
        """The issuer updates an NFT's metadata more often than a page of its history shows."""
        for _ in range(OFTEN):
            self.update_metadata(step.choose(self.nfts), is_noted=False)
        self.world.note()

    def update_metadata(self, nft, *, is_noted: bool = True) -> None:
        body = metadata_update(nft)
        moment = self.world.ledger_now() - times.SECOND
        start = body.transactionID.transactionValidStart
        start.seconds, start.nanos = divmod(moment, times.SECOND)
        content = wallet.sign(TREASURY, seal(body))
        if done := self.submit_signed(content, is_noted=is_noted):
            self.lives[nft].update(*done)

    def delete(self, step: Step) -> None:
        token = step.choose(self.nfts)[0]
        body = new_body(TREASURY, "")
        body.tokenDeletion.token.CopyFrom(token_id((token, 0)))
        if done := self.submit(body, TREASURY):
            for nft, life in self.lives.items():
                if nft[0] == token and not life.is_deleted:
                    life.delete(*done)

    def wipe(self, step: Step) -> None:
        nft = step.choose(self.nfts)
        body = new_body(TREASURY, "")
        body.tokenWipe.token.CopyFrom(token_id(nft))
        body.tokenWipe.account.CopyFrom(account(self.lives[nft].owner))
        body.tokenWipe.serialNumbers.append(nft[1])
        if done := self.submit(body, TREASURY):
            self.lives[nft].burn(*done)

    def burn(self, step: Step) -> None:
        of_treasury = [
            nft for nft, life in self.lives.items() if life.owner == self.treasuries[nft[0]]
        ]
        if of_treasury:
            self.burn_at_treasury(step.choose(of_treasury))

    def burn_at_treasury(self, nft) -> None:
        body = new_body(TREASURY, "")
        body.tokenBurn.token.CopyFrom(token_id(nft))
        body.tokenBurn.serialNumbers.append(nft[1])
        if done := self.submit(body, TREASURY):
            self.lives[nft].burn(*done)

    def new_treasury(self, step: Step) -> None:
        """Another account becomes the treasury of a token, and gets all that the old one had."""
        token = step.choose(self.nfts)[0]
        before = self.treasuries[token]
        after = TREASURIES[(TREASURIES.index(before) + 1) % len(TREASURIES)]
        for nft in self.nfts:
            if nft[0] == token and step.number % 2:
                self.hand_over(nft, before)
        body = new_body(TREASURY, "")
        body.tokenUpdate.token.CopyFrom(token_id((token, 0)))
        body.tokenUpdate.treasury.CopyFrom(account(after))
        if done := self.submit(body, TREASURY, after):
            self.treasuries[token] = after
            for nft, life in self.lives.items():
                if nft[0] == token and life.owner == before and not life.is_deleted:
                    life.move(*done, after, is_of_token=True)

    # The watcher, and time

    def follow(self, step: Step | None) -> Counter:
        """Do what a watcher does: follow the ledger to its end, and recheck what is due."""
        with self.world.app.app_context():
            with suppress(MarketplaceError):
                while self.follower.step():
                    pass
            with suppress(MarketplaceError):
                self.read_past_approvals()
            with suppress(MarketplaceError):
                maintenance.queue_expired_offers()
                maintenance.cover_offers()
            sweep, rechecker = Sweep(self.world.app), Rechecker(self.world.app)
            with closing(sweep), closing(rechecker):
                with suppress(MarketplaceError):
                    while sweep.step() == 0:
                        pass
                return rechecker.drain()

    def read_past_approvals(self) -> None:
        stop = Event()
        while (state := following.get_follow(read())) and state["backfilled_to"] is not None:
            backfill(stop)

    def sync(self, step: Step | None) -> Counter:
        with self.world.app.app_context():
            return sync()

    def rebuild(self, step: Step) -> None:
        with self.world.app.app_context(), suppress(MarketplaceError):
            rebuild(step.choose(self.nfts)[0])

    def wait(self, step: Step) -> None:
        CLOCK.set_forward(step.choose(WAITS) * times.SECOND)

    def stop_for_long(self, step: Step) -> None:
        """The watcher is down for more than a day; things happen shortly before it starts again."""
        CLOCK.set_forward(LONG)
        self.follower = Follower()
        if step.number % 2:
            self.list_by_other_means(step)

    def outage(self, step: Step) -> None:
        """The mirror node answers nothing for some time, or not about NFTs. The watcher tries again."""
        self.weather.outage = ("", "/tokens/")[step.number % 2]
        for attempts in range(3 + step.number // 2 % 6):
            CLOCK.set_forward((2 << attempts) * times.SECOND)
            self.follow(step)
        self.weather.outage = None
        # What could not be checked while transactions could be read is tried again later and later.
        self.all_due_at = times.now() + times.HOUR
