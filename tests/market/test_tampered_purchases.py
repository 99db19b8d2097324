"""Purchases that are not what was prepared: the signed bytes decide. clients/market reads the same cases."""

import base64
import json

import pytest

from marketplace.hedera import signatures
from marketplace.hedera.transactions import list_forms
from tests.market import tampered

CASES = [each for each in json.loads(tampered.FILE.read_text())["cases"] if each["order"] == "buy"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["case"])
def test_only_the_prepared_bytes_are_a_purchase(case):
    prepared = signatures.read(tampered.purchase_of_one())
    handed_in = signatures.read(base64.b64decode(case["transaction"]))
    is_same = handed_in.body in list_forms(prepared.body)
    assert is_same == case["isRight"]
