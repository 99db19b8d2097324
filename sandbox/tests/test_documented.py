"""README.md has the tables that the code makes: transactions, fees, queries, the mirror node, controls."""

import re

import pytest

from hiero_sandbox import tables
from sandbox.tests.command import ROOT

README = ROOT / "sandbox/README.md"


def test_its_tables_are_those_of_the_code():
    document = README.read_text()
    assert tables.rewrite(document) == document, f"python -m hiero_sandbox.tables {README}"


def test_it_has_all_tables():
    assert {*re.findall("<!-- table: (.*) -->", README.read_text())} == tables.TABLES.keys()


@pytest.mark.parametrize("name", ["controls", "mirror"])
def test_each_address_says_what_it_does(name):
    columns, *rows = tables.TABLES[name]()
    place = columns.index("What it does")
    assert [row for row in rows if not row[place].endswith(".")] == []
    assert len(rows) > 15


def test_a_table_that_has_changed_is_written(tmp_path):
    document = "before\n<!-- table: queries -->\n\n| old |\n\n<!-- end -->\nafter\n"
    written = tables.rewrite(document)
    assert "| old |" not in written and "`tokenGetInfo`" in written
    assert (written[:6], written[-6:]) == ("before", "after\n")
    assert tables.rewrite(written) == written
