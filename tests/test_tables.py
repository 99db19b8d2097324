"""The documents' tables say what the code and the stored runs say."""

import pytest

from harness.serving import ROOT
from harness.tables import TABLES, own_words, write


@pytest.mark.parametrize("name", TABLES)
def test_the_table_is_current(name):
    """If this fails, run make docs, and commit what it writes."""
    page, _ = TABLES[name]
    text = (ROOT / page).read_text()
    assert write(name, text) == text


def test_a_page_without_a_place_for_its_table_is_named():
    with pytest.raises(ValueError, match="There is no <!-- errors: make docs -->"):
        write("errors", "# The API\n")


def test_only_words_that_people_wrote_are_counted():
    table = "<!-- endpoints: make docs -->\n| Call |\n<!-- end -->\n"
    fees = "<!-- table: fees -->\n\n| USD |\n\n<!-- end -->\n"
    code = "```sh\nmake run\n```\n- In a list:\n\n  ```nginx\n  listen 443;\n  ```\n"
    assert own_words(f"# Two words\n{table}{fees}{code}| The end |") == 2 + 3 + 2
