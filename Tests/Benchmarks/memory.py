"""What one agent holds after a million commands, and after a day; prints a Markdown table.
Usage: scripts/benchmark memory [--count N] [--hours N] [--speed N]

First it runs --count commands as fast as it can. Then, started again, it lives --hours hours on a clock that runs --speed
times as fast (faketime), with a command a minute of that clock; --hours 0 leaves that out.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "Tests/ClusterTests"))
import cluster
from agent import Agent, say


def held(process):
    """The memory of a process that is no file, in MB."""
    status = pathlib.Path(f"/proc/{process}/status").read_text()
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("RssAnon:"))) / 1_024


class Samples:
    """What a process holds, by its number, again and again."""

    def __init__(self, process):
        self.process, self.values = process, []

    def take(self):
        self.values.append(held(self.process))

    def part(self, fraction, of):
        """The most of one part of the time."""
        size = len(self.values) / of
        return max(self.values[int(size * fraction):max(int(size * (fraction + 1)), int(size * fraction) + 1)])

    def rows(self, what):
        """The last fifth beside the one before; the first is that of a start."""
        growth = self.part(4, 5) / self.part(3, 5) * 100
        return [
            (f"{what}: memory, MB", f"{self.part(4, 5):.1f}", ""),
            (f"{what}: the last fifth of the time beside the one before, %", f"{growth:.0f}", "≤ 105"),
        ]


def bench(program, agent, url, *words, environment=None):
    """`waypost bench`, which goes on."""
    return subprocess.Popen(
        [program, "bench", "--agent", agent, "--broker", url, "--json", *words], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, text=True, env=environment)


def ending(sender, what):
    """Rows of what became of the commands."""
    found = json.loads(sender.communicate()[0].strip().splitlines()[-1])
    if found["errors"]:
        say(f"{what}: {found['errors']}")
    return [
        (f"{what}: sent", f"{found['sent']}", ""), (f"{what}: that ended well", f"{found['ok']}", f"= {found['sent']}"),
        (f"{what}: without a reply", f"{found['lost']}", "= 0"),
        (f"{what}: replies that came twice", f"{found['duplicates']}", "= 0"),
    ]


def commands(given, nodes, url):
    # All of these commands came within the time for which an agent remembers them.
    agent = Agent(
        "k1", [url], nodes.folder, given.program, "--dedupe-keys", f"{10 * given.count}", "--store-bytes", f"{8 << 30}")
    try:
        cluster.wait_for("k1 to be online", agent.is_online, every=0.5)
        samples = Samples(agent.process.pid)
        sender = bench(given.program, "k1", url, "--count", f"{given.count}", "--service", "CalculatorService", "--method", "add",
                       "--args", "[2,40]")
        for second in itertools.count():
            samples.take()
            if sender.poll() is not None:
                break
            if second % 60 == 59:
                say(f"{second + 1} s, {samples.values[-1]:.1f} MB")
            time.sleep(1)
        rows = ending(sender, "commands") + samples.rows("commands")
        size = sum(file.stat().st_size for file in agent.state.iterdir() if file.is_file()) / 1_000_000
        return rows + [("commands: on disk, MB", f"{size:.0f}", "")]
    finally:
        agent.kill()


def day(given, nodes, url):
    faster = ("faketime", "-m", "-f", f"+0 x{given.speed}")
    agent = Agent("k2", [url], nodes.folder, given.program, "--keepalive", "600", below=faster)
    try:
        cluster.wait_for("k2 to be online", agent.is_online, every=0.5)
        wrapper = agent.process.pid
        process = int(pathlib.Path(f"/proc/{wrapper}/task/{wrapper}/children").read_text())
        # Who sends has the same clock: what is in its memory, the environment names.
        words = pathlib.Path(f"/proc/{process}/environ").read_text().split("\0")
        same = dict(word.split("=", 1) for word in words if word)
        samples = Samples(process)
        began = time.monotonic()
        sender = bench(
            given.program, "k2", url, "--rate", f"{1 / 60:.4f}", "--duration", f"{given.hours * 3_600}", "--wait", "10m",
            environment=same)
        while sender.poll() is None:
            samples.take()
            time.sleep(1)
        health = agent.health()
        lived = health["uptime"] / 3_600_000
        say(f"{time.monotonic() - began:.0f} s, in which {lived:.1f} h went by")
        online = next((check["state"] for check in health["checks"] if check["name"] == "link"), "unknown")
        return [("day: hours by the agent's clock", f"{lived:.0f}", f"≥ {given.hours}")] + ending(sender, "day") + [
            ("day: connections to the broker", f"{health['counters']['connects']}", "= 1"),
            ("day: the link at its end", online, "")] + samples.rows("day")
    finally:
        agent.kill()


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--count", type=int, default=1_000_000)
    arguments.add_argument("--hours", type=int, default=24)
    arguments.add_argument("--speed", type=int, default=120)
    arguments.add_argument("--program", required=True)
    given = arguments.parse_args()
    nodes = cluster.Mosquitto()
    try:
        nodes.start()
        url = nodes.nodes[0].url
        rows = commands(given, nodes, url)
        if given.hours:
            rows += day(given, nodes, url)
    finally:
        nodes.end()
    print("| Figure | Value | Bound |\n|---|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
