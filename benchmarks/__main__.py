"""Measure the service against others on this machine, side by side: make bench.

python -m benchmarks [quick | full | check]
"""

import json
import signal
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from benchmarks import (
    agreement,
    contenders,
    data,
    events,
    latency,
    load,
    machine,
    picture,
    postgresql,
    rows,
    service,
    table,
    throughput,
)
from benchmarks.plan import FULL, QUICK, USUAL, Plan

PLANS = {"usual": USUAL, "quick": QUICK, "full": FULL, "check": QUICK}


@contextmanager
def setting(plan: Plan):
    """A table of the run's own, its tokens, and every contender serving it."""
    with data.folder() as folder:
        for nfts in plan.sizes:
            data.prepare(nfts)
        database = data.copy(plan.nfts, folder / "market.db")
        reader, seller = service.create_access_tokens(database)
        print("Starting all contenders ...", flush=True)
        with contenders.start_all(database, plan.nfts, reader) as servers:
            yield throughput.Bench(plan, database, servers, reader, seller)


def run(bench: throughput.Bench) -> dict:
    """Measure everything there is."""
    plan = bench.plan
    agreement.require(bench.servers, plan.nfts, plan.deep, bench.reader)
    throughput.warm_up(bench)
    print("Single requests ...", flush=True)
    return {
        "depths": latency.depths(bench),
        "sizes": latency.sizes(bench),
        "throughput": throughput.measure(bench),
        "postgresql": postgresql.measure(bench),
        "events": events.measure(bench),
    }


def report(plan: Plan, results: dict, about: dict) -> list[rows.Row]:
    """Print the table, and write it and the picture; those of a quick run stay out of the repository."""
    made = rows.make(results, plan)
    print(f"\n{table.render(made)}\n")
    folder = data.FOLDER if plan is QUICK else Path(__file__).parent
    listed = [row._asdict() | {"is_met": row.is_met} for row in made]
    document = {"about": about, "plan": plan._asdict(), "rows": listed, "figures": results}
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    picture.draw(results, plan, about, folder / "results.svg")
    print(f"Written: results.json and results.svg in {folder.relative_to(service.ROOT)}")
    return made


def main(what: str = "usual") -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended by SIGTERM"))
    if what not in PLANS:
        sys.exit(__doc__)
    load.require_wrk()
    plan, started, about = PLANS[what], time.monotonic(), machine.describe()
    machine.pin()
    with setting(plan) as bench:
        results = run(bench)
        made = report(plan, results, about)
        problems = rows.far_from_target(made) if what == "check" else []
    print(
        f"{time.monotonic() - started:.0f} s, {plan.rounds} rounds; load before it: {about['load']}"
    )
    for problem in problems:
        print(f"FAILED: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
