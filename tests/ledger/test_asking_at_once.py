"""Several questions to the mirror node are asked at once."""

import threading

import pytest

from marketplace.errors import LedgerUnreachable
from marketplace.ledger import mirror_node

pytestmark = pytest.mark.once("no database is asked")


def test_all_are_under_way_before_the_first_is_answered(app):
    met = threading.Barrier(3, timeout=60)

    def ask(answer):
        met.wait()
        return answer

    with app.app_context():
        answers = mirror_node().ask(lambda: ask("a"), lambda: ask("b"), lambda: ask("c"))
    assert answers == ["a", "b", "c"]


def test_one_that_fails_is_told(app):
    def fail():
        raise LedgerUnreachable("it is silent")

    with app.app_context(), pytest.raises(LedgerUnreachable, match="it is silent"):
        mirror_node().ask(lambda: "a", fail)


def test_a_purchase_asks_all_about_its_parties_at_once(client, lister, mirror):
    """Whoever asks first waits until the others have come: one after the other, they never would."""
    lister(("0.0.7001", 7))
    met = threading.Barrier(6, timeout=60)
    paths = r"^/api/v1/(accounts/0\.0\.100[12](/tokens)?|tokens/0\.0\.7001|network/exchangerate)$"

    def wait_for_the_others(environ):
        if "spender.id" not in environ["QUERY_STRING"]:
            met.wait()

    mirror.before(paths, wait_for_the_others)
    body = {"accountId": "0.0.1002", "tokenId": "0.0.7001", "serialNo": 7}
    assert client.post("/v1/buy/extwallet", json=body).status_code == 200
