"""What people do with offers in a story, on the ledger and at the service."""

import base64
from typing import NamedTuple

from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList

from harness.wallets import account, new_body, seal
from hiero_sandbox import database as ledger_database
from hiero_sandbox.ledger import accounts, envelopes, keys, schedules
from hiero_sandbox.ledger import queries as ledger_queries
from marketplace.hedera import times, transactions
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.transactions import ScheduledSale
from marketplace.market.memos import offer_memo
from marketplace.sandbox import wallet
from stress.lives.acts import second_key
from stress.lives.model import Done, Mismatch, Nft
from stress.lives.offer_model import ENDED, EXECUTION, Offer
from stress.lives.orders import Orders, name_nfts
from stress.lives.steps import Step
from stress.lives.world import CLOCK, MARKET

LIVES = (20, 60, 200, 7200, 7 * 86_400)  # seconds until an offer expires
KEPT = TINYBARS  # what an account that spends its HBAR keeps
SAVINGS = "0.0.1009"  # gets the HBAR that bidders spend, and gives it back


def add_false(content: bytes, public_key: bytes) -> bytes:
    """Add a false signature of a key to a signed transaction."""
    [transaction] = (transactions := envelopes.read_list(content))
    signed = envelopes.open_signed(transaction)
    signed.sigMap.sigPair.add(pubKeyPrefix=public_key, ed25519=bytes(64))
    transaction.signedTransactionBytes = signed.SerializeToString()
    return TransactionList(transaction_list=transactions).SerializeToString()


class Handed(NamedTuple):
    """An offer that the service has prepared."""

    nft: Nft
    bidder: str
    price: int
    content: bytes  # the bidder's ScheduleCreate


class OfferActs(Orders):
    """The steps of stories about offers."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.offers: dict[str, Offer] = {}
        self.other_schedules: list[str] = []  # which are no offers
        self.handed_offers: list[Handed] = []

    def unended(self) -> list[Offer]:
        now = self.world.ledger_now()
        return [offer for offer in self.offers.values() if self.state_of(offer, now) not in ENDED]

    def state_of(self, offer: Offer, now: int) -> str:
        return offer.find_state(is_rotated=offer.bidder in self.rotated, now=now)

    def make_offer(self, step: Step) -> None:
        """A program of somebody makes an offer, or something like one."""
        nft = step.choose(self.nfts)
        self.make(step, nft, self.accounts[step.number // 5 % len(self.accounts)], step.price)

    def raise_offer(self, step: Step) -> None:
        """The bidder of an offer makes a higher one. The first one stays."""
        if unended := self.unended():
            first = step.choose(unended)
            self.make(step, first.nft, first.bidder, first.price + 1 + step.number % 9)

    def make(self, step: Step, nft, bidder: str, price: int) -> None:
        life = self.lives[nft]
        if bidder == life.owner:
            bidder = next(one for one in self.accounts if one != life.owner)
        form = step.number // 13 % 12  # mostly an offer
        sale = ScheduledSale(
            *nft,
            life.owner,
            bidder,
            price,
            price * TINYBARS // 50 if step.number % 2 else 0,
            MARKET,
            offer_memo(*nft, price + (form == 0), ""),
            EXECUTION,
        )
        body = new_body(bidder, "" if form == 2 else sale.memo)
        content = body.scheduleCreate
        content.scheduledTransactionBody.CopyFrom(sale.build())
        content.payerAccountID.CopyFrom(account(MARKET if form == 1 else bidder))
        content.memo = sale.memo
        expires = self.world.ledger_now() // times.SECOND + LIVES[step.number // 17 % len(LIVES)]
        content.expiration_time.seconds = expires
        either = content.adminKey.thresholdKey
        either.threshold = 1
        for account_id in (bidder, life.owner):
            either.keys.keys.add(ed25519=self.find_key(account_id))
        signed = self.add_signature(bidder, seal(body))
        if form == 3:  # a false signature of the key that the account may get
            is_second = bidder in self.rotated
            signed = add_false(
                signed, wallet.public_key(bidder if is_second else second_key(bidder))
            )
        if self.submit_signed(signed):
            self.find_created(nft, bidder, price, is_offer=form > 2)

    def find_key(self, account_id: str) -> bytes:
        return wallet.public_key(
            second_key(account_id) if account_id in self.rotated else account_id
        )

    def find_created(self, nft: Nft, bidder: str, price: int, *, is_offer: bool = True) -> None:
        """Tell the model of the schedule that a transaction has created, if it has."""
        with self.world.ledger.app_context():
            found = ledger_queries.select(ledger_database.read(), "schedule")
        known = {*self.offers, *self.other_schedules}
        for made in [schedules.read(row) for row in found if row["schedule_id"] not in known]:
            id = made.schedule_id
            if not is_offer:
                self.other_schedules.append(id)
                continue
            # Its owner may have been another one on a replica that lags.
            [units] = made.definition.scheduledTransactionBody.cryptoTransfer.tokenTransfers
            seller = envelopes.write_id(units.nftTransfers[0].senderAccountID)
            start = made.creation.transactionID.transactionValidStart
            created_by = str(TransactionId(bidder, start.seconds, start.nanos))
            self.offers[id] = Offer(
                id, nft, (seller, bidder), price, made.expires_at, Done(made.created_at, created_by),
                is_rotated=bidder in self.rotated,
            )  # fmt: skip

    def sign_offer(self, step: Step) -> None:
        """The bidder signs once more: with another key, that may complete an acceptance."""
        if unended := self.unended():
            offer = step.choose(unended)
            self.sign_schedule(offer, offer.bidder)

    def accept_offer(self, step: Step) -> None:
        """The account that owned the NFT signs: mostly for an open offer."""
        if offer := self.choose_offer(step):
            self.sign_schedule(offer, offer.seller)

    def forge_offer(self, step: Step) -> None:
        """The owner signs, with a false signature under the bidder's key beside the own one."""
        if unended := self.unended():
            offer = step.choose(unended)
            body = new_body(offer.seller, "")
            body.scheduleSign.scheduleID.CopyFrom(transactions.make_schedule_id(offer.schedule_id))
            content = self.add_signature(offer.seller, seal(body))
            content = add_false(content, self.find_key(offer.bidder))
            self.note_signature(offer, offer.seller, self.submit_signed(content))

    def choose_offer(self, step: Step) -> Offer | None:
        now, unended = self.world.ledger_now(), self.unended()
        opened = [offer for offer in unended if self.state_of(offer, now) == "open"]
        chosen = opened if opened and step.number % 6 else unended
        return step.choose(chosen) if chosen else None

    def accept_two(self, step: Step) -> None:
        """The owner accepts two offers, of one NFT if there are: one after the other, at once."""
        first = self.choose_offer(step)
        if first:
            others = [each for each in self.unended() if each is not first]
            others = [each for each in others if each.nft == first.nft] or others
            self.sign_schedule(first, first.seller)
            if others:
                second = step.choose(others)
                self.sign_schedule(second, second.seller)

    def accept_late(self, step: Step) -> None:
        """The owner accepts in the second in which the offer expires, or just before or after it."""
        now, unended = self.world.ledger_now(), self.unended()
        soon = [each for each in unended if each.expires_at < now + 300 * times.SECOND]
        if soon:
            offer = step.choose(soon)
            around = (-1_000_000_000, -50_000_000, 0, 50_000_000)[step.number // 3 % 4]
            CLOCK.set_forward(max(0, offer.expires_at + around - now))
            self.sign_schedule(offer, offer.seller)

    def withdraw_offer(self, step: Step) -> None:
        """The bidder deletes the schedule, or the owner does."""
        if offer := self.choose_offer(step):
            deleter = offer.seller if step.number // 3 % 4 == 0 else offer.bidder
            body = new_body(deleter, "")
            body.scheduleDelete.scheduleID.CopyFrom(
                transactions.make_schedule_id(offer.schedule_id)
            )
            if self.submit(body, deleter):
                self.note_end(offer)

    def sign_schedule(self, offer: Offer, signer: str) -> None:
        body = new_body(signer, "")
        body.scheduleSign.scheduleID.CopyFrom(transactions.make_schedule_id(offer.schedule_id))
        self.note_signature(offer, signer, self.submit(body, signer))

    def note_signature(self, offer: Offer, signer: str, done: Done | None) -> None:
        """Tell the model: a schedule was signed, and is executed if both have."""
        if done:
            self.note_end(offer)
            if signer == offer.seller and not offer.end:
                offer.acceptances.append(done)

    def note_end(self, offer: Offer) -> None:
        """Tell the model what the ledger says of the end of a schedule."""
        with self.world.ledger.app_context():
            db = ledger_database.read()
            row = ledger_queries.get(db, "schedule", schedule_id=offer.schedule_id)
            if row["state"] not in ("executed", "deleted") or offer.end:
                return
            moment = row["resolved_at"]
            record = ledger_queries.get(db, "transaction_record", consensus_at=moment)
        executed = TransactionId.parse(record["transaction_id"])
        done = Done(moment, str(executed))
        if row["state"] == "deleted":
            offer.end = "withdrawn", done
            return
        results = {
            row["result"] for row in self.records_of(executed) if row["scheduled"] and row["result"]
        }
        if results != {"SUCCESS"}:
            offer.end = "failed", done
            return
        offer.end = "executed", done
        paid = {"price": offer.price, "price_without_row": offer.price}
        self.lives[offer.nft].move(*done, offer.bidder, offer_id=offer.schedule_id, **paid)

    # At the service

    def ask_for_offer(self, step: Step) -> None:
        """The service prepares an offer, and changes nothing. It is signed now, later, or never."""
        nft, bidder = step.choose(self.nfts), self.accounts[step.number // 5 % len(self.accounts)]
        fields = {"accountId": bidder, "offerPrice": step.price, "expiresIn": 1 + step.number % 2}
        answer = self.post_body("offer/extwallet", name_nfts([nft]) | fields, [nft])
        if answer.status_code == 200:
            content = base64.b64decode(answer.json["byteArray"])
            self.handed_offers.append(Handed(nft, bidder, step.price, content))
            if step.number // 7 % 3:
                self.sign_handed(self.handed_offers[-1])

    def sign_asked(self, step: Step) -> None:
        """Sign and submit what was handed out, maybe twice; or hand it in."""
        if self.handed_offers:
            handed = step.choose(self.handed_offers)
            if step.number // 3 % 2:
                self.sign_handed(handed)
            else:
                self.hand_in_offer(handed)

    def sign_handed(self, handed: Handed) -> None:
        if self.submit_signed(self.add_signature(handed.bidder, handed.content)):
            self.find_created(*handed[:3])

    def hand_in_offer(self, handed: Handed) -> None:
        signed = self.add_signature(handed.bidder, handed.content)
        fields = {
            "accountId": handed.bidder,
            "signedTransaction": base64.b64encode(signed).decode(),
        }
        try:
            self.post_body("comingsoon", name_nfts([handed.nft]) | fields, [handed.nft])
        finally:
            self.world.note()
            self.find_created(*handed[:3])

    def ask_to_accept(self, step: Step) -> None:
        """The owner asks, and signs at once. Under a fair sky, the sale succeeds then."""
        if offer := self.choose_offer(step):
            fields = {"offerId": offer.schedule_id, "expectedPrice": offer.price}
            body = {"accountId": offer.seller} | fields
            answer = self.post_body("acceptoffer/extwallet", body, [offer.nft])
            if answer.status_code == 200:
                content = base64.b64decode(answer.json["byteArray"])
                done = self.submit_signed(self.add_signature(offer.seller, content))
                self.note_signature(offer, offer.seller, done)
                is_sold = offer.end and offer.end[0] == "executed"
                if self.weather.is_fair and done and not is_sold:
                    raise Mismatch(f"{offer} was accepted, and was not sold")

    def ask_to_withdraw(self, step: Step) -> None:
        if offer := self.choose_offer(step):
            account_id = (offer.bidder, offer.seller)[step.number // 3 % 2]
            body = {"accountId": account_id, "offerId": offer.schedule_id}
            answer = self.post_body("withdrawoffer/extwallet", body, [offer.nft])
            if answer.status_code == 200:
                content = base64.b64decode(answer.json["byteArray"])
                if self.submit_signed(self.add_signature(account_id, content)):
                    self.note_end(offer)

    def report_offer(self, step: Step) -> None:
        """A report of an acceptance is OK only if it has executed the sale, or was taken back."""
        if self.offers:
            offer = step.choose([*self.offers.values()])
            account_id = (offer.bidder, offer.seller)[step.number // 3 % 2]
            body = {"accountId": account_id, "offerId": offer.schedule_id}
            answer = self.post_body("comingsoon", body, [offer.nft])
            end = offer.end and offer.end[0]
            is_done = account_id == offer.bidder or end in ("executed", "withdrawn")
            if answer.status_code == 200 and not is_done:
                raise Mismatch(f"{offer}: a report of {account_id} is OK")

    # What changes whether an offer is open, or covered

    def rotate_key(self, step: Step) -> None:
        """An account gets another key, or its first one again."""
        account_id = step.choose(self.accounts)
        old, new = account_id, second_key(account_id)
        if account_id in self.rotated:
            old, new = new, old
        body = new_body(account_id, "")
        body.cryptoUpdateAccount.accountIDToUpdate.CopyFrom(account(account_id))
        body.cryptoUpdateAccount.key.CopyFrom(keys.of_bytes(wallet.public_key(new)))
        content = wallet.sign(new, wallet.sign(old, seal(body)))
        if done := self.submit_signed(content):
            self.rotated ^= {account_id}
            for offer in self.offers.values():
                if offer.bidder == account_id:
                    offer.rotations.append(done)

    def spend(self, step: Step) -> None:
        """An account gives away its HBAR."""
        account_id = step.choose(self.accounts)
        with self.world.ledger.app_context():
            amount = accounts.balance(ledger_database.read(), account_id) - KEPT
        self.pay(account_id, SAVINGS, amount)

    def top_up(self, step: Step) -> None:
        self.pay(SAVINGS, step.choose(self.accounts), 2000 * TINYBARS)

    def pay(self, payer: str, receiver: str, amount: int) -> None:
        body = new_body(payer, "")
        for account_id, change in ((payer, -amount), (receiver, amount)):
            body.cryptoTransfer.transfers.accountAmounts.add(
                accountID=account(account_id), amount=change
            )
        if amount > 0:
            self.submit(body, payer)
