"""The sentences of errors: each is raised with as many facts as it takes."""

import ast
from decimal import Decimal
from string import Formatter

import werkzeug.exceptions

import hiero_sandbox.errors
from marketplace import errors
from tests.source import MODULES


def find_kinds(kind):
    yield kind
    for below in kind.__subclasses__():
        yield from find_kinds(below)


ALL = [*find_kinds(errors.MarketplaceError)]
TAKES_FACTS = (
    errors.MarketplaceError.__init__,
    errors.Unavailable.__init__,
    errors.LimitExceeded.__init__,
)
# The others have an __init__ of their own, whose parameters mypy compares.
KINDS = [kind for kind in ALL if kind.__init__ in TAKES_FACTS]


def test_each_status_is_one_of_an_error():
    assert all(400 <= kind.status < 600 for kind in ALL)


def test_an_error_knows_all_that_the_documents_show(subtests):
    for kind in errors.find_kinds():
        with subtests.test(kind.__name__):
            assert "{" not in kind.make_example().message.replace("[{", "")
            assert kind.again and kind.tell


def list_facts(kind):
    """A fact for each place of its sentences, in their order."""
    facts = {}
    for text in (kind.sentence, getattr(kind, "log_sentence", "")):
        places = [place for place in Formatter().parse(text) if place[1] is not None]
        for index, (_, name, form, _) in enumerate(places):
            facts[int(name or index)] = Decimal("2.5") if form else "{0}"
    return [facts[index] for index in range(len(facts))]


def test_a_sentence_repeats_its_facts_as_they_are(subtests):
    for kind in KINDS:
        with subtests.test(kind.__name__):
            facts = list_facts(kind)
            error = kind(*facts)
            shown = f"{error.message} {error}"
            assert [fact for fact in facts if str(fact) not in shown] == []
            assert "{" not in shown.replace("{0}", "")


def list_made(path):
    """The names of what a module calls or raises, and the number of its positional arguments."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            # *keys are token and serial number.
            count = sum(2 if isinstance(fact, ast.Starred) else 1 for fact in node.args)
            yield getattr(node.func, "id", None) or getattr(node.func, "attr", None), count
        elif isinstance(node, ast.Raise) and isinstance(node.exc, ast.Name | ast.Attribute):
            yield getattr(node.exc, "id", None) or node.exc.attr, 0


def test_each_error_is_raised_with_the_facts_of_its_sentence():
    others = vars(werkzeug.exceptions).keys() | vars(hiero_sandbox.errors).keys()
    names = {kind.__name__ for kind in KINDS} - others
    expected = {kind.__name__: len(list_facts(kind)) for kind in KINDS if kind.__name__ in names}
    made = [(path, *each) for path in MODULES for each in list_made(path) if each[0] in expected]
    assert len(made) > 50
    for path, name, count in made:
        assert count == expected[name], f"{path}: {name}"
