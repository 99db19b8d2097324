"""What people ask the service for, and sign: listings, withdrawals and purchases of one or several NFTs."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from harness.wallets import body_of, give_new_id, id_of, seal
from hiero_sandbox.ledger import envelopes
from marketplace.errors import MarketplaceError
from marketplace.hedera import times
from marketplace.hedera.hbar import TINYBARS
from marketplace.hedera.ids import NftId
from marketplace.market import listing
from marketplace.market.memos import basket_memo, listing_memo, purchase_memo
from marketplace.market.requests import MarketRequest
from marketplace.services import read, write
from marketplace.store import nfts, rechecks
from stress.lives.acts import Acts
from stress.lives.model import MARGIN, Done, Entry, Mismatch, find_ended_prices
from stress.lives.steps import MOST_LISTED, MOST_MOVED, Step
from stress.lives.world import MARKET

Nft = tuple[str, int]
ASSOCIATION = 50_000_000  # $0.05, at ten cents an HBAR
# docs/buying.md: a tenth of MAX_TRANSACTION_FEE, and a tenth more for each further NFT
CAP = 500_000_000 // 100


class Handed(NamedTuple):
    """A transaction that the service handed out, with the price of each NFT; None if it is withdrawn."""

    prices: dict[Nft, int | None]
    account_id: str
    content: bytes

    @property
    def nfts(self) -> list[Nft]:
        return [*self.prices]


def name_nfts(some: Sequence[Nft]) -> dict[str, Any]:
    """The fields of a body that name NFTs: one, several of a token, or several of any."""
    (token, serial_no), *others = some
    if not others:
        return {"tokenId": token, "serialNo": serial_no}
    if {other[0] for other in others} == {token}:
        return {"tokenId": token, "serialNos": [serial_no for _, serial_no in some]}
    return {"nfts": [name_nfts([nft]) for nft in some]}


class Orders(Acts):
    def __init__(self, *arguments) -> None:
        super().__init__(*arguments)
        self.handed: list[Handed] = []
        self.withdrawals: list[Handed] = []
        self.prepared: list[Handed] = []  # purchases that were not handed in yet
        self.purchases: list[Handed] = []  # those that were
        self.forgotten: list[Handed] = []  # purchases of which the service has no row

    def post(self, path: str, some: Sequence[Nft], account_id: str, **fields):
        return self.post_body(path, name_nfts(some) | {"accountId": account_id} | fields, some)

    def post_body(self, path: str, body: dict[str, Any], some: Sequence[Nft]):
        response = self.world.client.post(f"/v1/{path}", json=body)
        if response.status_code not in (200, 202, 404, 409, 429, 502, 503):
            raise Mismatch(f"{path} answered {response.status_code}: {response.text}")
        refused = response.json.get("errors", {}).get("nfts", {})
        if refused.keys() - {f"{token}:{serial_no}" for token, serial_no in some}:
            raise Mismatch(f"{path} of {some} refused others: {response.text}")
        return response

    def keep(self, handed: list[Handed], account_id: str, answer, prices) -> None:
        if answer.status_code == 200:
            content = base64.b64decode(answer.json["byteArray"])
            handed.append(Handed(dict(prices), account_id, content))

    def require_stored(self, some: Sequence[Nft], answer) -> None:
        """What is answered with OK is done for all NFTs, or for none."""
        if answer.status_code == 200:
            with self.world.app.app_context():
                if missing := [nft for nft in some if nfts.get_nft(read(), *nft) is None]:
                    raise Mismatch(f"{missing} are not stored: {answer.text}")

    def choose_of_token(self, step: Step, among: Sequence[Nft] = ()) -> list[Nft]:
        """Some NFTs of a token, whoever owns them."""
        token = step.choose(among or self.nfts)[0]
        return step.choose_some([nft for nft in among or self.nfts if nft[0] == token], MOST_LISTED)

    # Listings

    def add(self, step: Step) -> None:
        self.post("add", [step.choose(self.nfts)], self.accounts[step.number % 2])

    def add_several(self, step: Step) -> None:
        some = self.choose_of_token(step)
        self.require_stored(some, self.post("add", some, self.accounts[step.number % 2]))

    def prepare(self, step: Step) -> None:
        nft, account_id = step.choose(self.nfts), self.lives[step.choose(self.nfts)].owner
        answer = self.post("list/extwallet", [nft], account_id, listingPrice=step.price)
        self.keep(self.handed, account_id, answer, {nft: step.price})

    def prepare_several(self, step: Step) -> None:
        """Some of them may belong to others, or are not stored: then nothing is prepared."""
        some = self.choose_of_token(step)
        if step.number // 3 % 4:
            owner = self.lives[some[0]].owner
            some = [nft for nft in some if self.lives[nft].owner == owner]
        account_id = self.lives[some[0]].owner
        answer = self.post("list/extwallet", some, account_id, listingPrice=step.price)
        self.require_stored(some, answer)
        self.keep(self.handed, account_id, answer, dict.fromkeys(some, step.price))
        if answer.status_code == 200:
            self.require_named(
                some, body_of(self.handed[-1].content).cryptoApproveAllowance, "tokenId"
            )

    def prepare_long_ago(self, step: Step) -> None:
        nft, then = step.choose(self.nfts), times.now() - 600 * times.SECOND
        with self.world.app.app_context():
            if nfts.get_nft(read(), *nft):
                with suppress(MarketplaceError):
                    ask = MarketRequest(self.lives[nft].owner, [NftId(*nft)])
                    listing.prepare_listing(ask, step.price, then)

    def prepare_withdrawal(self, step: Step) -> None:
        nft = self.choose_listed(step)
        account_id = self.lives[nft].owner
        answer = self.post("delist/extwallet", [nft], account_id)
        self.keep(self.withdrawals, account_id, answer, {nft: None})

    def prepare_withdrawals(self, step: Step) -> None:
        some = self.choose_of_token(step, self.listed() if step.number % 5 else self.nfts)
        account_id = self.lives[some[0]].owner
        answer = self.post("delist/extwallet", some, account_id)
        self.require_stored(some, answer)
        self.keep(self.withdrawals, account_id, answer, dict.fromkeys(some))
        if answer.status_code == 200:
            removed = body_of(self.withdrawals[-1].content).cryptoDeleteAllowance
            self.require_named(some, removed, "token_id")

    def require_named(self, some: Sequence[Nft], change, token: str) -> None:
        """A transaction changes the approvals of exactly the NFTs that were asked for."""
        changed = {
            (f"0.0.{getattr(entry, token).tokenNum}", serial_no)
            for entry in change.nftAllowances
            for serial_no in entry.serial_numbers
        }
        if changed != {*some}:
            raise Mismatch(f"{some} were asked for, and it changes {changed}")

    def list_all(self, handed: Handed, done: Done | None) -> None:
        for nft, price in handed.prices.items():
            self.list_(nft, price, done)

    def sign(self, step: Step) -> None:
        if self.handed:
            handed = step.choose(self.handed)
            done = self.submit_signed(self.add_signature(handed.account_id, handed.content))
            self.list_all(handed, done)

    def sign_elsewhere(self, step: Step) -> None:
        """The same transaction is submitted to another node, too: a second row under its id."""
        if self.handed:
            handed = step.choose(self.handed)
            body = body_of(handed.content)
            body.nodeAccountID.accountNum = 4
            done = self.submit_as_it_is(body, handed.account_id)
            self.list_all(handed, done)

    def freeze_again(self, step: Step) -> None:
        """A wallet's SDK gives the transaction an id of its own."""
        if self.handed:
            handed = step.choose(self.handed)
            body = body_of(handed.content)
            give_new_id(body, handed.account_id)
            self.list_all(handed, self.submit(body, handed.account_id))

    def alter(self, step: Step) -> None:
        """The owner signs another memo under the same id: another price, another NFT's, or none."""
        if self.handed:
            handed = step.choose(self.handed)
            nft, *others = handed.nfts
            token, serial_no = nft
            body = body_of(handed.content)
            form = step.number % 7 % 3
            body.memo = (
                listing_memo(token, serial_no, step.price, "Foo"),
                listing_memo(token, serial_no + 1, step.price, "Foo"),
                f"Listing for {step.price} HBAR",
            )[form]
            named = (token, serial_no + form)
            done = self.submit_as_it_is(body, handed.account_id)
            for each in (nft, *others):
                self.list_(each, step.price if form < 2 and each == named else None, done)

    def sign_withdrawal(self, step: Step) -> None:
        if self.withdrawals:
            handed = step.choose(self.withdrawals)
            done = self.submit_signed(self.add_signature(handed.account_id, handed.content))
            self.list_all(handed, done)

    # Purchases

    def prepare_purchase(self, step: Step) -> None:
        nft = self.choose_listed(step) if step.number % 3 else step.choose(self.nfts)
        account_id = self.accounts[step.number // 5 % len(self.accounts)]
        if account_id == self.lives[nft].owner and step.number % 6:
            account_id = next(one for one in self.accounts if one != account_id)
        self.buy([nft], account_id)

    def prepare_basket(self, step: Step) -> None:
        """One to ten NFTs, mostly listed ones of others; now and then at a price that the buyer saw."""
        buyer = self.accounts[step.number // 5 % len(self.accounts)]
        listed = [nft for nft in self.listed() if self.lives[nft].owner != buyer]
        if step.number // 13 % 5:  # of each seller one token
            tokens = {self.lives[nft].owner: nft[0] for nft in listed}
            listed = [nft for nft in listed if tokens[self.lives[nft].owner] == nft[0]]
        some = step.choose_some(listed if listed and step.number % 7 else self.nfts, MOST_MOVED)
        seen = {nft: self.lives[nft].listing[0] for nft in some if self.lives[nft].listing}
        if step.number // 3 % 3:
            seen = {}
        elif step.number // 11 % 4 == 0:
            seen = {nft: price + 1 for nft, price in seen.items()}
        self.buy(some, buyer, seen)

    def buy_basket(self, step: Step) -> None:
        """A basket that is handed in at once, as most are."""
        known = len(self.prepared)
        self.prepare_basket(step)
        for handed in self.prepared[known:]:
            self.hand_in(handed, self.add_signature(handed.account_id, handed.content))

    def buy(self, some: Sequence[Nft], buyer: str, seen: Mapping[Nft, int] | None = None) -> None:
        """Ask for a purchase, whose prices were in force when it was asked for, or within a replica's lag.

        It has no price that the service itself knew to be outdated: of a change that is queued. ``seen``: the
        prices that the buyer expects.
        """
        since = {nft: self.find_shown_since(nft) for nft in some}
        body = {
            "accountId": buyer,
            "nfts": [
                name_nfts([nft]) | ({"expectedPrice": seen[nft]} if seen and nft in seen else {})
                for nft in some
            ],
        }
        if seen is None:
            answer = self.post("buy/extwallet", some, buyer)
        else:
            answer = self.post_body("buy/extwallet", body, some)
        if answer.status_code != 200:
            return
        content = base64.b64decode(answer.json["byteArray"])
        row, sold = self.read_prepared(str(id_of(content)))[0], self.read_prices(some)
        if row is not None:
            raise Mismatch(f"{some}: preparing a purchase has stored it")
        self.keep(self.prepared, buyer, answer, sold)
        if sold.keys() != {*some} or any(sold[nft] != price for nft, price in (seen or {}).items()):
            raise Mismatch(f"{some} were asked for, at {seen}: prepared is {sold}")
        self.require_fair(sold, content, buyer)
        if self.world.has_lied:
            return
        for nft, price in sold.items():
            listed = [entry.state.listing for entry in self.lives[nft].since(since[nft])]
            if price not in {listing[0] for listing in listed if listing}:
                raise Mismatch(f"{nft}: a purchase for {price} HBAR, and it was listed as {listed}")

    def find_shown_since(self, nft: Nft) -> int:
        """The moment of the oldest state of an NFT that a purchase may be of."""
        with self.world.app.app_context():
            queued = rechecks.get_recheck(read(), "nft", *nft)
            of_seller = rechecks.get_recheck(read(), "seller", self.lives[nft].owner, 0)
        known = [times.to_nanoseconds(row["changed_at"]) for row in (queued, of_seller) if row]
        lag = max(self.weather.lags) * times.SECOND + MARGIN
        return max([*known, self.world.ledger_now() - lag, 0])

    def read_prepared(self, transaction_id: str) -> tuple[Any, dict[Nft, int]]:
        """The row of a purchase, and the prices of its NFTs."""
        parameters = {"id": transaction_id}
        with self.world.app.app_context():
            sql = "SELECT * FROM prepared_transaction WHERE transaction_id = :id"
            row = read().execute(sql, parameters).fetchone()
            sql = "SELECT * FROM prepared_nft WHERE transaction_id = :id"
            sold = read().execute(sql, parameters).fetchall()
        return row, {(each["token"], each["serial_no"]): each["price"] for each in sold}

    def read_prices(self, some: Sequence[Nft]) -> dict[Nft, int]:
        """The prices of NFTs as the service has them now."""
        with self.world.app.app_context():
            return {nft: nfts.get_nft(read(), *nft)["listing_price"] for nft in some}

    def require_fair(self, sold: Mapping[Nft, int], content: bytes, buyer: str) -> None:
        """The buyer pays the sum of the prices, and the memo says it."""
        body = body_of(content)
        total = sum(sold.values())
        moved, credits = {}, Counter()
        for list_ in body.cryptoTransfer.tokenTransfers:
            for each in list_.nftTransfers:
                nft = f"0.0.{list_.token.tokenNum}", each.serialNumber
                moved[nft] = envelopes.write_id(each.receiverAccountID)
                seller = envelopes.write_id(each.senderAccountID)
                credits[seller] += sold.get(nft, 0) * TINYBARS
        credits[buyer] -= total * TINYBARS
        paid = {
            envelopes.write_id(each.accountID): each.amount
            for each in body.cryptoTransfer.transfers.accountAmounts
        }
        if moved != dict.fromkeys(sold, buyer) or paid != credits:
            raise Mismatch(f"{sold} are sold to {buyer}: {body}")
        memo = (
            basket_memo(len(sold), total, "")
            if len(sold) > 1
            else purchase_memo(*next(iter(sold)), total, "")
        )
        if not body.memo.startswith(f"{memo} on "):
            raise Mismatch(f"{sold} are sold with the memo {body.memo}")
        if body.transactionFee != CAP * (9 + len(sold)):
            raise Mismatch(f"{sold}: the cap of the fee is {body.transactionFee}")

    def sign_purchase(self, step: Step) -> None:
        """Hand a purchase in, once or again, early or late; now and then unsigned, altered, or by another."""
        purchases = self.prepared + self.purchases + self.forgotten
        if not purchases:
            return
        handed = step.choose(purchases[-2:] if step.number % 5 else purchases)
        body, signer = body_of(handed.content), handed.account_id
        way = step.number % 17
        if way == 0:
            body.memo += "!"
        elif way == 1:
            for amount in body.cryptoTransfer.transfers.accountAmounts:
                amount.amount //= 2
        elif way == 2:
            signer = next(one for one in self.accounts if one != handed.account_id)
        content = seal(body) if way < 2 else handed.content
        is_invalid = way < 4
        self.hand_in(
            handed, content if way == 3 else self.add_signature(signer, content), is_invalid
        )

    def hand_in(self, handed: Handed, content: bytes, is_invalid: bool = False) -> None:
        """Hand a purchase in, and tell the model if the ledger has it from then on."""
        id = id_of(handed.content)
        known = self.records_of(id)
        signed = base64.b64encode(content).decode()
        form = {"nfts": [name_nfts([nft]) for nft in handed.nfts]}
        if len(handed.nfts) == 1:
            form = name_nfts(handed.nfts)
        body = {"accountId": handed.account_id, "signedTransaction": signed} | form
        try:
            self.post_body("comingsoon", body, handed.nfts)
        finally:
            new = [row for row in self.records_of(id) if row not in known]
            if new and (is_invalid or known or len(new) > 1):
                raise Mismatch(f"{handed}: {new} were submitted, beside {known}")
            if self.read_prepared(str(id))[0] and handed in self.prepared:
                self.prepared.remove(handed)
                self.purchases.append(handed)
            if new and new[0]["result"] == "SUCCESS":
                moment = times.from_consensus(new[0]["consensus_timestamp"])
                self.note_sale(handed, Done(moment, str(id)))

    def sign_purchase_again(self, step: Step) -> None:
        """A purchase reaches another node, too. It has a second row, which the marketplace pays for."""
        if self.purchases:
            handed = step.choose(self.purchases[-2:])
            body = body_of(handed.content)
            body.nodeAccountID.accountNum = 4
            self.note_sale(handed, self.submit_as_it_is(body, MARKET, handed.account_id))

    def note_sale(self, handed: Handed, done: Done | None) -> None:
        """Tell the model what was paid for each NFT: what was prepared, while the service has the row."""
        if not done:
            return
        without_row = handed.prices
        if len(handed.prices) > 1:
            ended = {nft: self.lives[nft].state for nft in handed.prices}
            without_row = find_ended_prices(ended, handed.prices)
        prices = without_row if handed in self.forgotten else handed.prices
        for nft in handed.prices:
            self.lives[nft].move(
                *done, handed.account_id, price=prices[nft], price_without_row=without_row[nft]
            )

    def forget(self, step: Step) -> None:
        """The rows of purchases are gone, as in a database that was rebuilt."""
        try:
            with self.world.app.app_context(), write() as db:
                db.execute("DELETE FROM prepared_transaction WHERE kind = 'purchase'")
        finally:
            ids = [str(id_of(handed.content)) for handed in self.purchases]
            if not any(self.read_prepared(id)[0] for id in ids):
                self.forgotten += self.purchases
                self.purchases = []
                for nft, life in self.lives.items():
                    reported = self.reported_moves(nft)
                    life.past = [
                        entry if at in reported else without_row(entry, ids)
                        for at, entry in enumerate(life.past)
                    ]

    def reported_moves(self, nft: Nft) -> set[int]:
        """The positions of an NFT's moves of which events reported."""
        raise NotImplementedError

    # Reports

    def report_trade(self, step: Step) -> None:
        trades = self.withdrawals + self.purchases
        if trades:
            handed = step.choose(trades)
            fields = {"transactionId": str(id_of(handed.content))} if step.number % 5 else {}
            self.post("comingsoon", step.choose_some(handed.nfts), handed.account_id, **fields)

    def report(self, step: Step) -> None:
        some, account_id = [step.choose(self.nfts)], self.accounts[step.number % 2]
        fields = {}
        if self.handed and step.number % 3:
            handed = step.choose(self.handed)
            some, account_id = step.choose_some(handed.nfts), handed.account_id
            if step.number % 5:
                fields["transactionId"] = str(id_of(handed.content))
        self.post("comingsoon", some, account_id, **fields)


def without_row(entry: Entry, transaction_ids: Sequence[str]) -> Entry:
    """What is reported of a purchase of which the service has no row."""
    if entry.transaction_id not in transaction_ids:
        return entry
    return entry._replace(price=entry.price_without_row)
