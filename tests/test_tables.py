"""The documents' tables say what the code and the stored runs say."""

import pytest

from harness.serving import ROOT
from harness.tables import TABLES, write


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_current(name):
    """If this fails, run make docs, and commit what it writes."""
    page, _ = TABLES[name]
    text = (ROOT / page).read_text()
    assert write(name, text) == text


def test_a_page_without_a_place_for_its_table_is_named():
    with pytest.raises(ValueError, match="There is no <!-- errors: make docs -->"):
        write("errors", "# The API\n")
