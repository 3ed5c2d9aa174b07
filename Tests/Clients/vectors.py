"""Reads vectors.jsonl with the runtime of Python: vectors.py FILE."""

import dataclasses
import json
import sys
from pathlib import Path

import demo


def command(row):
    fields = dict(row["command"])
    given = dict(row["options"])
    if "expires" in given:
        given["expires"] /= 1000
    try:
        return demo._command(fields.pop("type"), wire_fields(fields), demo.Options(**given), row["now"] / 1000)
    except ValueError:
        return None


def wire_fields(fields):
    if "url" in fields:
        return demo._open(fields["url"], fields.get("params"))
    if "service" in fields:
        return demo._call(fields["service"], fields["method"], fields.get("args", []))
    return fields


def read(kind, text):
    try:
        value = dataclasses.asdict(kind._read("k1", demo._parse(text.encode())))
    except ValueError:
        return None
    return {name: member for name, member in value.items() if name != "agent"}


def main():
    kinds = {"reply": demo.Reply, "failure": demo.FailureReport, "event": demo.Event}
    rows = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
    assert len(rows) > 30
    for row in rows:
        if "command" in row:
            found, wanted = command(row), row["wire"]
            # The bytes are JSON, too.
            assert found is None or json.loads(demo._dump(found)) == found
        else:
            name = next(name for name in kinds if name in row)
            found, wanted = read(kinds[name], row[name]), row["reads"]
        assert found == wanted, f"{row}\nfound {found}"
    print(f"vectors in Python: {len(rows)} rows")


main()
