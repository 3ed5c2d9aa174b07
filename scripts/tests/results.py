"""What scripts/tests/watch and the tests themselves leave behind: JSON lines."""

import json
import os
from pathlib import Path


def rows(file):
    """The lines of the file; none where there is no such file."""
    found = []
    if file.exists():
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                found.append(json.loads(line))
            except ValueError:
                # Of a process that was killed while it wrote.
                continue
    return found


def slowest(folder):
    """Names and seconds of the tests, the slowest first, and what these seconds are."""
    measured, elapsed = {}, {}
    for row in rows(Path(os.environ.get("WAYPOST_TEST_TIMES", folder / "times.jsonl"))):
        measured[row["test"]] = max(row["cpu"], measured.get(row["test"], 0))
    for row in rows(folder / "tests.jsonl"):
        elapsed[row["test"]] = max(row["seconds"], elapsed.get(row["test"], 0))
    times, what = (measured, "of processor time each") if measured else (elapsed, "of time, beside all others")
    return sorted(times.items(), key=lambda row: -row[1]), what
