"""The flags of a build, which are in one place: scripts/lib.sh."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def flags_of(function=":", name="build_flags"):
    """The list of the variable `name` after `function` was called."""
    script = f'source scripts/lib.sh; {function}; printf "%s\\0" "${{{name}[@]}}"'
    run = subprocess.run(["bash", "-euc", script], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return [flag for flag in run.stdout.split("\0") if flag]
