"""What the benchmark rests on: its records, its walks through them, and its eye for a scan."""

import re
from contextlib import closing

import pytest
from sqlite_utils.utils import sqlite3

from benchmarks import checks, data, desk, load, postgresql, records, rows, throughput, writer
from benchmarks.plan import FULL, QUICK, listed_of
from benchmarks.rows import Row
from benchmarks.server import cores, free_port
from tests.postgresql import new_database

pytestmark = pytest.mark.once("its own tables")


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "market.db"
    data.build(path, 1_000)
    return path


def test_as_many_are_listed_as_it_says():
    for nfts in (10_000, QUICK.nfts):
        assert len(records.listed_numbers(nfts, listed_of(nfts))) == listed_of(nfts)


def test_a_whole_collection_is_listed():
    listed = records.listed_numbers(QUICK.nfts, QUICK.listed)
    assert listed[: records.COLLECTION] == list(range(records.COLLECTION))


def test_a_walk_meets_every_nft_before_it_meets_one_again():
    walk = load.everywhere(1_000, start=333)
    assert {walk.number(turn) for turn in range(1_000)} == set(range(1_000))


def test_the_hot_nfts_are_spread_over_the_table():
    walk = load.hot(FULL.nfts)
    numbers = {walk.number(turn) for turn in range(10 * load.HOT)}
    assert len(numbers) == load.HOT
    assert max(numbers) > FULL.nfts * 0.99


def test_writes_leave_as_much_listed_as_there_was(table):
    with closing(writer.Writer(table, 1_000)) as writes:
        writes.relist()
        writes.end_or_relist()
        assert writes.is_one_ended
        writes.end_or_relist()
    with closing(sqlite3.connect(table)) as db:
        [(listed,)] = db.execute("SELECT COUNT(*) FROM nft WHERE is_for_sale = 1")
    assert listed == listed_of(1_000)


@pytest.mark.parametrize(
    ("query", "problems"),
    [
        ("SELECT * FROM nft WHERE token = '0.0.1' AND serial_no = 1", 0),
        ("SELECT token FROM nft WHERE is_for_sale = 1 ORDER BY token, serial_no", 0),
        ("SELECT * FROM nft WHERE name = 'x'", 1),
        ("SELECT * FROM nft AS n WHERE name = 'x'", 1),
        ("SELECT * FROM nft ORDER BY image", 2),
        ("SELECT * FROM job", 0),
        (
            "SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM nft WHERE token = '0.0.1' GROUP BY serial_no)",
            0,
        ),
        ("SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM nft GROUP BY name)", 1),
    ],
)
def test_a_scan_is_seen(table, monkeypatch, query, problems):
    monkeypatch.setattr(checks, "SMALL", 100)
    assert len(checks.explain(table, sqlite3.connect, "/", [query])) == problems


def test_only_ratios_far_from_their_target_fail_a_check():
    row = Row("", "", "1/s", "2/s", 0.5, "0.50", 0.8, True)
    assert not checks.far_from_target([row])
    assert checks.far_from_target([row._replace(value=0.3)])
    assert not checks.far_from_target([row._replace(value=0.3, other="")])
    slower = row._replace(target=1.5, at_least=False)
    assert not checks.far_from_target([slower._replace(value=2)])
    assert checks.far_from_target([slower._replace(value=4)])


def test_there_is_a_core_and_a_port():
    assert len(cores()) == 2
    assert 1024 <= free_port() < 65_536


def test_postgresql_is_measured_where_it_is_asked_for_alone(monkeypatch):
    monkeypatch.delenv("BENCH_POSTGRESQL", raising=False)
    assert postgresql.measure(None) is None
    assert list(rows.of_postgresql(None, QUICK)) == []


@pytest.mark.parametrize("name", postgresql.MARKS)
def test_a_writer_of_postgresql_lists_an_nft_anew(table, name):
    plan = QUICK._replace(nfts=1_000)
    with new_database() as url:
        postgresql.fill(throughput.Bench(plan, table, {}, "", ""), url)
        with postgresql.MARKS[name](url) as mark:
            row = mark(writer.state(5, "2026-11-20T12:00:00.000000000Z", 7, None))
    assert (row["serial_no"], row["listing_price"]) == (6, 7)


def test_the_rows_of_postgresql_compare_what_was_measured_in_the_same_round():
    figures = {
        "kept": {"postgresql": [80, 9], "service": [100, 10]},
        "unkept": {"postgresql_unkept": [40], "unkept": [50]},
        "writers": {"door": [3], "straight": [4]},
        "deep_seconds": 0.09,
    }
    made = list(rows.of_postgresql(figures, QUICK))
    assert [round(row.value, 2) for row in made] == [0.85, 0.8, 0.75, 90]
    assert [row.is_met for row in made] == [True, False, True, False]


def test_the_desk_tells_time_and_memory(capsys):
    desk.main(is_quick=True)
    printed = capsys.readouterr().out
    assert re.search(r"^ +[0-9.]+ s   from the start to the first receipt$", printed, re.MULTILINE)
    assert re.search(r"^node +[0-9]+ +[0-9]+ +[0-9.]+%$", printed, re.MULTILINE)
