"""Runs the wallets' libraries and records what they did: python -m tests.system.wallets.record; make docs."""

import json
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from tests.system.wallets.programs import (
    IN_THE_TEST,
    KINDS,
    RESULTS,
    find_versions,
    is_true,
    run_libraries,
    write_cell,
)


def main():
    with tempfile.TemporaryDirectory() as folder:
        outcomes = {
            (line["row"], line["kind"]): line
            for line in run_libraries(Path(folder))
            if "row" in line
        }
    recorded = json.loads(RESULTS.read_text())
    recorded["date"] = datetime.now(UTC).date().isoformat()
    recorded["versions"] = find_versions()
    for table in recorded["tables"]:
        for row in table["rows"]:
            for kind in KINDS:
                line = outcomes.get((row["id"], kind))
                if line and line["outcome"].startswith(IN_THE_TEST):
                    raise SystemExit(f"{row['id']}, {kind}: {line['outcome']}")
                if line and not is_true(row[kind], line):
                    print(f"{row['id']}, {kind}: {row[kind]} is now {line['outcome']}")
                    row[kind] = write_cell(line) or "error"
    RESULTS.write_text(json.dumps(recorded, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
