"""Runs what the page Figures names, and compares; scripts/benchmark figures, which has the help.

Each part is a command that prints a Markdown table. The page has a section for each, with the command, when and where it
ran, and its table; what else stands in a section stays.
"""

import argparse
import dataclasses
import datetime
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
PAGE = TOP / "Sources/WaypostAgent/WaypostAgent.docc/Figures.md"


@dataclasses.dataclass
class Part:
    """A command, what it gets for --short, and the columns of its table with the figure, its value and its bound."""
    command: str
    short: str
    columns: tuple = ("Figure", "Value", "Bound")


PARTS = {
    "verbs": Part("scripts/benchmark verbs", "--agents 1000"),
    "rollout": Part("scripts/cluster mosquitto --rollout --agents 10000 --real 50", "--agents 1000 --real 10 --rounds 1"),
    "commands": Part("scripts/benchmark commands", "--agents 10 --rate 200 --seconds 30"),
    "memory": Part("scripts/benchmark memory", "--count 40000 --hours 1"),
    "console": Part("scripts/benchmark console --seconds 600 --tabs 3", "--agents 1000 --seconds 30", ("What", "Found", "Goal")),
    "agent": Part("scripts/benchmark agent", "--rounds 3 --count 5000", ("Measure", "Ratio", "Goal")),
    "open": Part("scripts/benchmark open", "--rounds 5", ("Measure", "ns", "")),
}


@dataclasses.dataclass
class Figure:
    name: str
    value: str
    bound: str = ""

    @property
    def number(self):
        """The value as a number; None where it is a word."""
        found = re.match(r"-?\d[\d ]*(\.\d+)?", self.value)
        return float(found[0].replace(" ", "")) if found else None

    @property
    def step(self):
        """One of the last digit that is written."""
        found = re.match(r"-?\d[\d ]*\.(\d+)", self.value)
        return 10.0 ** -len(found[1]) if found else 1.0

    @property
    def limit(self):
        """The sign of the bound and its number; None without one."""
        found = re.match(r"([≤≥<>=]) *(\d[\d ]*(\.\d+)?)", self.bound)
        return (found[1], float(found[2].replace(" ", ""))) if found else None

    @property
    def holds(self):
        if self.limit is None:
            return True
        sign, limit = self.limit
        number = self.number
        return number is not None and {
            "≤": number <= limit, "<": number < limit, "≥": number >= limit, ">": number > limit, "=": number == limit,
        }[sign]

    def is_worse(self, than):
        """By more than a tenth, and by more than the last digit says."""
        if self.number is None or than.number is None:
            return self.value != than.value
        growth = self.number - than.number
        sign = self.limit[0] if self.limit else "≤"
        if sign == "=":
            growth = abs(growth)
        elif sign in "≥>":
            growth = -growth
        return growth > max(abs(than.number) / 10, than.step) * 1.001


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_table(text, columns=("Figure", "Value", "Bound")):
    """The figures of each table that has these columns; one without a name has none."""
    figures, places = [], None
    for line in text.splitlines():
        if not line.lstrip().startswith("|"):
            places = None
            continue
        found = cells(line)
        if places is None:
            if all(column in found for column in columns if column):
                places = [found.index(column) if column else None for column in columns]
        elif not re.fullmatch(r"[|:\- ]+", line.strip()):
            figures.append(Figure(*("" if place is None else found[place] for place in places)))
    return figures


def sections(page):
    """The figures that stand on the page, and on which machine each was found, by heading."""
    found = {}
    for heading, body in re.findall(r"^### (.+?)\n(.*?)(?=^##|\Z)", page, re.M | re.S):
        machine = re.search(r"^On (.+?)(?:, with|\.$)", body, re.M)
        found[heading] = (read_table(body), machine[1] if machine else "")
    return found


def written(page, heading, command, stamp, figures):
    """The page with these in the section of that heading, which keeps its prose, and is the last when it is new."""
    table = ["| Figure | Value | Bound |", "|---|---:|---:|"] + [
        f"| {figure.name} | {figure.value} | {figure.bound} |" for figure in figures]
    new = f"    {command}\n\n{stamp}\n\n" + "\n".join(table) + "\n"
    section = re.search(rf"^### {re.escape(heading)}\n(.*?)(?=^##|\Z)", page, re.M | re.S)
    if section:
        prose = re.sub(r"\A\n*    .*\n\n(?:.+\n)+\n(?:\|.*\n)+", "", section[1]).strip("\n")
        body = f"\n{new}\n" + (f"{prose}\n\n" if prose else "")
        return page[: section.start(1)] + body + page[section.end(1):]
    # Behind the last of those that were found.
    begin = re.search(r"^## What was found", page, re.M)
    end = begin and re.compile(r"^## ", re.M).search(page, begin.end())
    place = end.start() if end else len(page)
    return page[:place] + f"### {heading}\n\n{new}\n" + page[place:]


def compare(figures, before):
    """What got worse, is over its bound, or is missing; a line each."""
    known = {figure.name: figure for figure in before}
    found = [f"{one.name}: {one.value} is not {one.bound}" for one in figures if not one.holds]
    for one in figures:
        old = known.pop(one.name, None)
        if old and one.is_worse(old):
            found.append(f"{one.name}: {one.value}, and it was {old.value}")
    return found + [f"{name}: it was {old.value}, and there is none now" for name, old in known.items()]


def machine():
    name = re.search(r"^model name\s*: (.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    memory = int(re.search(r"^MemTotal: +(\d+)", Path("/proc/meminfo").read_text(), re.M)[1])
    return f"{os.cpu_count()} cores of {name[1].strip() if name else os.uname().machine}, {round(memory / 2**20)} GiB"


def version():
    text = (TOP / "Sources/WaypostMessages/Support/Version.swift").read_text()
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=TOP, capture_output=True, text=True, check=False)
    return re.search(r'static let current = "(.+?)"', text)[1], commit.stdout.strip()


def run(command):
    """What it printed, which is shown too, and its status."""
    with subprocess.Popen(shlex.split(command), cwd=TOP, stdout=subprocess.PIPE, text=True) as process:
        lines = []
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    return "".join(lines), process.returncode


def main():
    parser = argparse.ArgumentParser(prog="scripts/benchmark figures", add_help=False)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--note", default="")
    given = parser.parse_args()
    for name in given.names:
        if name not in PARTS:
            parser.error(f"no such part: {name}; there are {', '.join(PARTS)}")
    problems = []
    for name in given.names or PARTS:
        part, heading = PARTS[name], f"{name}, short" if given.short else name
        command = f"{part.command} {part.short}" if given.short else part.command
        print(f"==> {command}", file=sys.stderr, flush=True)
        output, status = run(command)
        figures = read_table(output, part.columns)
        found = [] if status == 0 else [f"it ended with {status}"]
        if not figures:
            found.append("it printed no figures")
        page = PAGE.read_text()
        before, where = sections(page).get(heading, ([], machine()))
        if where != machine():
            print(f"==> {heading}: the page has those of another machine, {where}; only bounds hold", file=sys.stderr)
            before = []
        found += compare(figures, before)
        problems += [f"{heading}: {line}" for line in found]
        if given.write and figures:
            number, commit = version()
            day = datetime.datetime.now(datetime.timezone.utc).date()
            note = f", with {given.note}" if given.note else ""
            stamp = f"On {machine()}{note}.\nVersion {number} at `{commit}`, {day}."
            PAGE.write_text(written(page, heading, command, stamp, figures))
    for line in problems:
        print(f"benchmark figures: {line}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
