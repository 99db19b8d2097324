"""Measures the service and others on this machine, side by side: make bench.

python -m benchmarks [quick | full | check]
"""

import json
import signal
import sys
import time
from pathlib import Path

from benchmarks import agreement, data, latency, machine, picture, queries, rows, throughput
from benchmarks.bench import setting
from benchmarks.plan import FULL, QUICK, USUAL, Plan

PLANS = {"usual": USUAL, "quick": QUICK, "full": FULL, "check": QUICK}


def run(plan: Plan) -> dict:
    """Measure everything."""
    with setting(plan) as bench:
        agreement.require(bench)
        throughput.warm_up(bench)
        print("Single requests ...", flush=True)
        seconds = latency.measure(bench)
        return {
            "rates": throughput.measure(bench),
            "seconds": seconds | queries.measure(bench),
        }


def report(plan: Plan, results: dict, about: dict) -> list[rows.Row]:
    """Print the table, and write it and the picture. Those of a quick run stay out of the repository."""
    made = rows.make(results, plan)
    print(f"\n{rows.render(made)}\n")
    folder = data.FOLDER if plan is QUICK else Path(__file__).parent
    listed = [row._asdict() | {"shown": row.shown, "is_met": row.is_met()} for row in made]
    document = {"about": about, "plan": plan._asdict(), "rows": listed, "figures": results}
    (folder / "results.json").write_text(json.dumps(document, indent=1) + "\n")
    picture.draw(results, plan, about, folder / "results.svg")
    print(f"Written: results.json and results.svg in {folder}")
    return made


def main(what: str = "usual") -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("Ended by SIGTERM"))
    if what not in PLANS:
        sys.exit(__doc__)
    plan, started, about = PLANS[what], time.monotonic(), machine.describe()
    machine.pin()
    made = report(plan, run(plan), about)
    spent = time.monotonic() - started
    print(f"{spent:.0f} s, {plan.rounds} rounds; load before it: {about['load']}")
    far = rows.far_from_target(made) if what == "check" else []
    for row in far:
        print(f"FAILED: {row.group}: {row.name}: {row.shown}, far from {row.target:g}")
    return 1 if far else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
