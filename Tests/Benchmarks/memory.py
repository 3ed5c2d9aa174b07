"""What one agent holds while a day goes by, with a million commands; prints a Markdown table.
Usage: scripts/benchmark memory [--count N] [--hours N] [--speed N]

The clocks of the agent and of who sends run --speed times as fast (faketime). Of the commands each is due at its time; an
agent forgets their ids a quarter of an hour later.
"""

import argparse
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


def day(given, nodes, url):
    faster = ("faketime", "-m", "-f", f"+0 x{given.speed}")
    agent = Agent("k1", [url], nodes.folder, given.program, "--keepalive", "600", below=faster)
    try:
        cluster.wait_for("k1 to be online", agent.is_online, every=0.5)
        wrapper = agent.process.pid
        process = int(pathlib.Path(f"/proc/{wrapper}/task/{wrapper}/children").read_text())
        # Who sends has the same clock: what is in its memory, the environment names.
        words = pathlib.Path(f"/proc/{process}/environ").read_text().split("\0")
        seconds = given.hours * 3_600
        sender = subprocess.Popen(
            [given.program, "bench", "--agent", "k1", "--broker", url, "--json", "--wait", "10m", "--service",
             "CalculatorService", "--method", "add", "--args", "[2,40]", "--rate", f"{given.count / seconds:.4f}",
             "--duration", f"{seconds}"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env=dict(word.split("=", 1) for word in words if word))
        samples = []
        while sender.poll() is None:
            samples.append(held(process))
            if len(samples) % 60 == 0:
                say(f"{len(samples)} s, {samples[-1]:.1f} MB")
            time.sleep(1)
        text = sender.stdout.read().strip().splitlines()
        found = json.loads(text[-1]) if text else {}
        if "sent" not in found:
            raise AssertionError(f"who sends has ended with {sender.returncode}: {found}")
        if found["errors"]:
            say(f"{found['errors']}")
        health = agent.health()
        fifth = max(1, len(samples) // 5)
        most, before = max(samples[-fifth:]), max(samples[-2 * fifth:-fifth] or samples)
        size = sum(file.stat().st_size for file in agent.state.iterdir() if file.is_file()) / 1_000_000
        return [
            ("hours by the agent's clock", f"{health['uptime'] // 3_600_000}", f"≥ {given.hours}"),
            ("commands sent", f"{found['sent']}", ""), ("that ended well", f"{found['ok']}", f"= {found['sent']}"),
            ("without a reply", f"{found['lost']}", "= 0"), ("replies that came twice", f"{found['duplicates']}", "= 0"),
            ("connections to the broker", f"{health['counters']['connects']}", ""),
            ("memory of its own in the last fifth of the time, MB", f"{most:.1f}", ""),
            ("the same beside the fifth before, %", f"{most / before * 100:.0f}", "≤ 105"),
            ("files of its state, MB", f"{size:.1f}", ""),
        ]
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
        rows = day(given, nodes, nodes.nodes[0].url)
    finally:
        nodes.end()
    print("| Figure | Value | Bound |\n|---|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
