"""The sandbox's IPFS gateway, as a reader of metadata asks it in its own process."""

import pytest
import requests

from marketplace.ledger.rate import Deadline, TimeIsUp
from marketplace.sandbox import catalogue
from marketplace.sandbox.gateway import make_gateway_adapters
from marketplace.watcher.strangers.resolver import interrupt_at

PREFIX = "http://sandbox"


def test_a_deadline_that_passes_while_it_draws_ends_the_reader(caplog):
    cid = catalogue.cid_of(catalogue.SAMPLE[0].token)
    session = requests.Session()
    for prefix, adapter in make_gateway_adapters(PREFIX).items():
        session.mount(prefix, adapter)
    with pytest.raises(TimeIsUp), interrupt_at(Deadline(0.005)):
        session.get(f"{PREFIX}/ipfs/{cid}/20.png")
    assert not caplog.records
