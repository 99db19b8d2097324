"""What people do with offers in a story, on the ledger and at the service."""

import base64

from hiero_sdk_python.hapi.sdk.transaction_list_pb2 import TransactionList

from harness.wallets import account, new_body, seal
from hiero_sandbox import database as ledger_database
from hiero_sandbox.ledger import accounts, envelopes, keys, schedules
from hiero_sandbox.ledger import queries as ledger_queries
from marketplace.hedera import messages, times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import TransactionId
from marketplace.hedera.scheduled_sale import ScheduledSale
from marketplace.market.memos import offer_memo
from marketplace.sandbox import wallet
from stress.lives.acts import second_key
from stress.lives.model import Done, Mismatch
from stress.lives.offer_model import EXECUTION, Offer, Signature
from stress.lives.orders import Orders, name_nfts
from stress.lives.steps import Step
from stress.lives.world import CLOCK, MARKET

LIVES = (20, 60, 200, 7200, 7 * 86_400)  # seconds until an offer expires
KEPT = TINYBARS  # what an account that spends its HBAR keeps
SAVINGS = "0.0.1009"  # gets the HBAR that bidders spend, and gives it back


class OfferActs(Orders):
    """The steps of stories about offers."""

    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.offers: dict[str, Offer] = {}
        self.other_schedules: list[str] = []  # which are no offers
        self.handed_offers: list[tuple[Offer, bytes]] = []  # with the bidder's ScheduleSign

    def unended(self) -> list[Offer]:
        now = self.world.ledger_now()
        ended = ("executed", "failed", "withdrawn", "expired")
        return [offer for offer in self.offers.values() if self.state_of(offer, now) not in ended]

    def state_of(self, offer: Offer, now: int) -> str:
        return offer.find_state(is_rotated=offer.bidder in self.rotated, now=now)

    def make_offer(self, step: Step) -> None:
        """The marketplace's account creates the schedule, and the bidder signs it, now or later."""
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
        body = new_body(MARKET, "")
        content = body.scheduleCreate
        content.scheduledTransactionBody.CopyFrom(sale.build())
        content.payerAccountID.CopyFrom(account(MARKET if form == 1 else bidder))
        content.memo = sale.memo
        expires = self.world.ledger_now() // times.SECOND + LIVES[step.number // 17 % len(LIVES)]
        content.expiration_time.seconds = expires
        either = content.adminKey.thresholdKey
        either.threshold = 1
        for account_id in (MARKET, bidder):
            either.keys.keys.add(ed25519=wallet.public_key(account_id))
        if not self.submit(body, MARKET):
            return
        with self.world.ledger.app_context():
            sql = "SELECT schedule_id FROM schedule ORDER BY created_at DESC LIMIT 1"
            schedule_id = ledger_database.read().execute(sql).fetchone()["schedule_id"]
        if form < 2:
            self.other_schedules.append(schedule_id)
            return
        expires_at = expires * times.SECOND
        offer = Offer(schedule_id, nft, life.owner, bidder, price, expires_at)
        self.offers[schedule_id] = offer
        if step.number // 7 % 3:
            self.sign_schedule(offer, bidder)

    def sign_offer(self, step: Step) -> None:
        if unended := self.unended():
            offer = step.choose(unended)
            self.sign_schedule(offer, offer.bidder)

    def accept_offer(self, step: Step) -> None:
        """The account that owned the NFT signs: mostly for an offer whose bidder has signed."""
        if offer := self.choose_offer(step):
            self.sign_schedule(offer, offer.seller)

    def forge_offer(self, step: Step) -> None:
        """The owner signs, with a false signature under the bidder's key beside the own one."""
        if unended := self.unended():
            offer = step.choose(unended)
            body = new_body(offer.seller, "")
            body.scheduleSign.scheduleID.CopyFrom(messages.schedule(offer.schedule_id))
            content = self.add_signature(offer.seller, seal(body))
            [transaction] = (transactions := envelopes.read_list(content))
            signed = envelopes.open_signed(transaction)
            is_rotated = offer.bidder in self.rotated
            key = wallet.public_key(second_key(offer.bidder) if is_rotated else offer.bidder)
            signed.sigMap.sigPair.add(pubKeyPrefix=key, ed25519=bytes(64))
            transaction.signedTransactionBytes = signed.SerializeToString()
            content = TransactionList(transaction_list=transactions).SerializeToString()
            self.note_signature(offer, offer.seller, self.submit_signed(content))

    def choose_offer(self, step: Step) -> Offer | None:
        now, unended = self.world.ledger_now(), self.unended()
        signed = [offer for offer in unended if self.state_of(offer, now) == "signed"]
        chosen = signed if signed and step.number % 6 else unended
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
        """The bidder deletes the schedule, or the marketplace does."""
        if offer := self.choose_offer(step):
            deleter = MARKET if step.number // 3 % 4 == 0 else offer.bidder
            body = new_body(deleter, "")
            body.scheduleDelete.scheduleID.CopyFrom(messages.schedule(offer.schedule_id))
            if self.submit(body, deleter):
                self.note_end(offer)

    def sign_schedule(self, offer: Offer, signer: str) -> None:
        body = new_body(signer, "")
        body.scheduleSign.scheduleID.CopyFrom(messages.schedule(offer.schedule_id))
        self.note_signature(offer, signer, self.submit(body, signer))

    def note_signature(self, offer: Offer, signer: str, done: Done | None) -> None:
        """Tell the model: a schedule was signed, and is executed if both have."""
        if done:
            if signer == offer.bidder:
                offer.signatures.append(Signature(done, signer in self.rotated))
            self.note_end(offer)

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
        """The service creates the schedule: at most one for a request. It is signed now, or later."""
        nft, bidder = step.choose(self.nfts), self.accounts[step.number // 5 % len(self.accounts)]
        fields = {"accountId": bidder, "offerPrice": step.price, "expiresIn": 1 + step.number % 2}
        try:
            answer = self.post_body("offer/extwallet", name_nfts([nft]) | fields, [nft])
        finally:
            self.world.note()
            self.find_created(nft, bidder, step.price)
        if answer.status_code == 200:
            offer = self.offers.get(answer.json["metadata"]["offerId"])
            if offer is None or (offer.nft, offer.bidder, offer.price) != (nft, bidder, step.price):
                raise Mismatch(f"{fields} for {nft} was answered with {answer.text}: {offer}")
            self.handed_offers.append((offer, base64.b64decode(answer.json["byteArray"])))
            if step.number // 7 % 3:
                self.sign_handed(*self.handed_offers[-1])

    def find_created(self, nft, bidder: str, price: int) -> None:
        """Tell the model of the schedule that the service has created, if it has."""
        with self.world.ledger.app_context():
            found = ledger_queries.select(ledger_database.read(), "schedule")
        known = {*self.offers, *self.other_schedules}
        created = [schedules.read(row) for row in found if row["schedule_id"] not in known]
        if len(created) > 1:
            raise Mismatch(f"one request for an offer for {nft} created {created}")
        for made in created:
            # Its owner may have been another one on a replica that lags.
            [units] = made.definition.scheduledTransactionBody.cryptoTransfer.tokenTransfers
            seller, id = envelopes.write_id(units.nftTransfers[0].senderAccountID), made.schedule_id
            self.offers[id] = Offer(id, nft, seller, bidder, price, made.expires_at)

    def sign_asked(self, step: Step) -> None:
        if self.handed_offers:
            self.sign_handed(*step.choose(self.handed_offers))

    def sign_handed(self, offer: Offer, content: bytes) -> None:
        done = self.submit_signed(self.add_signature(offer.bidder, content))
        self.note_signature(offer, offer.bidder, done)

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
            body = {"accountId": offer.bidder, "offerId": offer.schedule_id}
            answer = self.post_body("withdrawoffer/extwallet", body, [offer.nft])
            if answer.status_code == 200:
                content = base64.b64decode(answer.json["byteArray"])
                if self.submit_signed(self.add_signature(offer.bidder, content)):
                    self.note_end(offer)

    def ask_to_delete(self, step: Step) -> None:
        """The caller who made an offer has it deleted by the marketplace."""
        if self.handed_offers:
            offer, _ = step.choose(self.handed_offers)
            try:
                answer = self.world.client.delete(f"/v1/offers/{offer.schedule_id}")
            finally:
                self.world.note()
                self.note_end(offer)
            if answer.status_code == 200 and (offer.end is None or offer.end[0] != "withdrawn"):
                raise Mismatch(f"{offer} was deleted: {answer.text}")

    def report_offer(self, step: Step) -> None:
        """A report is OK only if the account has signed something that took effect."""
        if self.offers:
            offer = step.choose([*self.offers.values()])
            account_id = (offer.bidder, offer.seller)[step.number // 3 % 2]
            body = {"accountId": account_id, "offerId": offer.schedule_id}
            answer = self.post_body("comingsoon", body, [offer.nft])
            end = offer.end and offer.end[0]
            is_done = end == "executed" or (
                account_id == offer.bidder and (bool(offer.signatures) or end == "withdrawn")
            )
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
        if self.submit_signed(content):
            self.rotated ^= {account_id}
            for offer in self.offers.values():
                if offer.bidder == account_id and offer.signatures:
                    offer.is_stranded = True

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
