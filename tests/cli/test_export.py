"""``flask export``: all that an accountant asks for, in a file that is whole."""

import csv
import io
import json
import os
import re
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.apps import write_sql
from harness.cast import ALICE, BOB, TOKEN
from marketplace.cli import export
from marketplace.services import read, services, write
from marketplace.store import events, exports
from tests import actions
from tests.engines import both_engines
from tests.formulas import FORMULAS, HIDDEN, PLAIN

os.umask(UMASK := os.umask(0))
RATE = {"rate_cents": 60, "rate_hbar": 10}
COSTS = {
    "event_id": 1, "way": "single", "part_tinybars": 625_000_000,
    "royalties": json.dumps([{"collector": "0.0.2101", "tinybars": 1_250_000_001}]),
    "network_tinybars": 1_700_000, "association_tinybars": 0, **RATE,
}  # fmt: skip
COLUMNS = [
    "consensus_at", "transaction_id", "token", "serial_no", "name", "seller", "buyer", "price", "part",
    "royalties", "network_fee", "association_fee", "hbar_us_cents", "way",
]  # fmt: skip


def run(app, *words):
    result = app.test_cli_runner().invoke(args=["export", *words])
    assert result.exit_code == 0, result.output
    return result


def read_csv(text):
    return [*csv.DictReader(io.StringIO(text))]


@pytest.fixture
def sold(app, nft):
    """Two sales: the costs of the second one are not known yet."""
    actions.tell(app, {}, {"consensus_at": "2026-12-01T00:00:00.000000000Z", "price": 7})
    with app.app_context(), write() as db:
        first = db.execute("SELECT MIN(id) AS id FROM event WHERE kind = 'SOLD'").fetchone()["id"]
        events.insert_sale(db, COSTS | {"event_id": first})
    return app


def test_it_writes_sales_with_what_each_cost(sold):
    result = run(sold, "sales")
    first, second = read_csv(result.stdout)
    name = first.pop("name")
    assert name
    assert first == {
        "consensus_at": "2026-11-20T12:00:00.123456789Z",
        "transaction_id": "0.0.9001@1763640000.000000001",
        "token": TOKEN,
        "serial_no": "7",
        "seller": ALICE,
        "buyer": BOB,
        "price": "250",
        "part": "6.25",
        "royalties": "0.0.2101:12.50000001",
        "network_fee": "0.017",
        "association_fee": "0",
        "hbar_us_cents": "6.0000",
        "way": "single",
    }
    assert [*second] == COLUMNS == [*export.MEANINGS]
    assert (second["price"], second["part"], second["hbar_us_cents"]) == ("7", "", "")
    assert result.stderr.splitlines() == [
        "Sales              2",
        "Prices             257 HBAR, 15.00 US dollars at the time of each sale",
        "Marketplace's part 6.25 HBAR",
        "Royalties          12.50000001 HBAR",
        "Network fees paid  0.017 HBAR",
        "Associations paid  0 HBAR",
        "Without costs      1: not looked up yet, or not on the ledger",
        "Without a rate     1: no exchange rate is known",
    ]


@both_engines
def test_it_writes_json(sold):
    first, second = json.loads(run(sold, "sales", "--json").stdout)
    assert [*first] == COLUMNS
    assert first["royalties"] == [{"account_id": "0.0.2101", "amount": 12.50000001}]
    assert (first["price"], first["part"], first["hbar_us_cents"]) == (250, 6.25, 6)
    assert second["royalties"] is None and second["part"] is None


@both_engines
def test_dates_select_a_month(sold):
    november = ("--from", "2026-11-01", "--to", "2026-12-01")
    assert [row["price"] for row in read_csv(run(sold, "sales", *november).stdout)] == ["250"]
    assert [
        row["price"] for row in read_csv(run(sold, "sales", "--from", "2026-12-01").stdout)
    ] == ["7"]
    assert json.loads(run(sold, "sales", "--from", "2030-01-01", "--json").stdout) == []
    header = run(sold, "sales", "--from", "2030-01-01").stdout.strip()
    assert header.split(",") == COLUMNS
    kinds = {row["kind"] for row in read_csv(run(sold, "events", *november).stdout)}
    assert "SOLD" in kinds


@both_engines
def test_it_writes_listings_nfts_and_events(sold, lister):
    lister((TOKEN, 8))
    [listing] = read_csv(run(sold, "listings").stdout)
    assert (listing["serial_no"], listing["owner"]) == ("8", ALICE)
    assert {row["serial_no"] for row in read_csv(run(sold, "nfts").stdout)} == {"7", "8"}
    rows = json.loads(run(sold, "events", "--json").stdout)
    dates = [row["consensus_at"] or row["seen_at"] for row in rows]
    assert dates == sorted(dates) and len(dates) >= 4


@both_engines
def test_sales_of_a_hidden_nft_are_in_the_books(sold):
    assert (
        sold.test_cli_runner().invoke(args=["hide", f"{TOKEN}:7", "--reason", "x"]).exit_code == 0
    )
    assert len(read_csv(run(sold, "sales").stdout)) == 2
    assert read_csv(run(sold, "listings").stdout) == []


@both_engines
def test_a_name_is_no_formula(sold):
    write_sql(sold, "UPDATE nft SET name = '=HYPERLINK(\"https://evil.example\")'")
    assert read_csv(run(sold, "nfts").stdout)[0]["name"].startswith("'=HYPERLINK")
    assert json.loads(run(sold, "nfts", "--json").stdout)[0]["name"].startswith("=HYPERLINK")


def write_names(names):
    file = io.StringIO(newline="")
    export.write_csv(file, ["name", "number"], [{"name": name, "number": 5} for name in names])
    return file.getvalue()


def test_no_cell_begins_a_formula_with_any_separator():
    for delimiter in ",;\t":
        text = write_names(FORMULAS + HIDDEN)
        cells = [cell for row in csv.reader(io.StringIO(text), delimiter=delimiter) for cell in row]
        lines = [line for cell in cells for line in cell.splitlines()]
        assert not [line for line in lines if re.match(r"""[\s"]*[=+@\uff1d-]""", line)]


def test_names_without_a_formula_are_unchanged():
    assert [row["name"] for row in read_csv(write_names(PLAIN))] == PLAIN


@both_engines
def test_excel_reads_names_after_a_byte_order_mark(sold):
    assert run(sold, "nfts", "--bom").stdout.startswith("\ufefftoken,serial_no,")
    assert not run(sold, "nfts").stdout.startswith("\ufeff")


def test_a_failed_export_leaves_the_earlier_file(sold, tmp_path):
    path = tmp_path / "sales.csv"
    result = run(sold, "sales", "-o", str(path))
    assert result.stdout == ""
    assert len(read_csv(path.read_text())) == 2
    assert path.stat().st_mode & 0o777 == 0o666 & ~UMASK
    path.write_text("earlier")
    write_sql(sold, "UPDATE sale SET royalties = 'damaged'")
    assert sold.test_cli_runner().invoke(args=["export", "sales", "-o", str(path)]).exit_code
    assert path.read_text() == "earlier"
    assert [each.name for each in tmp_path.iterdir() if "sales" in each.name] == ["sales.csv"]


def test_it_follows_a_link_and_keeps_the_mode(sold, tmp_path):
    (tmp_path / "books").mkdir()
    target, link = tmp_path / "books/sales.csv", tmp_path / "sales.csv"
    target.write_text("earlier")
    target.chmod(0o640)
    link.symlink_to("books/sales.csv")
    run(sold, "sales", "-o", str(link))
    assert link.is_symlink() and len(read_csv(target.read_text())) == 2
    assert target.stat().st_mode & 0o777 == 0o640
    assert [each.name for each in (tmp_path / "books").iterdir()] == ["sales.csv"]


def test_it_writes_into_what_is_no_file(sold, tmp_path):
    """As root, it replaced /dev/null by a file."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(pipe.read_text)
        run(sold, "sales", "-o", str(pipe))
        assert len(read_csv(reading.result())) == 2
    assert pipe.is_fifo()
    device = tmp_path / "null"
    if os.geteuid() == 0:
        os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        run(sold, "sales", "-o", str(device))
        assert device.is_char_device()
    ends = os.pipe()
    run(sold, "listings", "-o", f"/dev/fd/{ends[1]}")  # as the shell hands over >(command)
    assert os.read(ends[0], 5) == b"token"
    for end in ends:
        os.close(end)


@both_engines
def test_it_shows_one_moment_while_others_write(sold):
    with sold.app_context():
        rows = services().database.stream(exports.select("events", None, None), {})
        first = next(rows)
        before = exports.count_rows(read(), "events", None, None)
        actions.tell(sold, {})
        assert len([first, *rows]) == before == exports.count_rows(read(), "events", None, None) - 1


def test_it_refuses_what_is_no_date(app):
    result = app.test_cli_runner().invoke(args=["export", "sales", "--from", "October"])
    assert "'October' is not like 2026-10-01" in result.output
