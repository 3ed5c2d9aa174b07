"""Commands to real agents that are killed meanwhile, at a mosquitto of its own; prints a Markdown table.
Usage: scripts/benchmark commands [--agents N] [--rate N] [--seconds N] [--period SECONDS] [--seed N]

Each command writes a line into the ledger of its agent. Whatever is killed, a command ends once, and what ended well is in
the ledger once.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "Tests/ClusterTests"))
import check
import cluster
from agent import Agent, say


def processor(agents):
    """Seconds that the processes have had."""
    ticks = 0
    for each in agents:
        stat = pathlib.Path(f"/proc/{each.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks += int(stat[11]) + int(stat[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--agents", type=int, default=50)
    arguments.add_argument("--rate", type=int, default=1_000)
    arguments.add_argument("--seconds", type=int, default=600)
    arguments.add_argument("--period", type=float, default=2)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--program", required=True)
    given = arguments.parse_args()
    chance = random.Random(given.seed)
    nodes = cluster.Mosquitto()
    agents, problems = [], []
    say(f"seed {given.seed}")
    try:
        nodes.start()
        urls = [nodes.nodes[0].url]

        def start(name):
            return Agent(name, urls, nodes.folder, given.program)
        agents = [start(f"k{number}") for number in range(given.agents)]
        for each in agents:
            cluster.wait_for(f"{each.name} to be online", each.is_online, every=0.5)
        operator = check.Operator([nodes.nodes[0].port])
        cluster.wait_for("the operator to be connected", lambda: operator.client.is_online)
        kills, used = 0, 0.0
        began = time.monotonic()
        next_kill = began + given.period
        while (elapsed := time.monotonic() - began) < given.seconds:
            for number in range(len(operator.sent), int(elapsed * given.rate)):
                operator.send(agents[number % given.agents].name, f"c{number}", "append", f"c{number}")
            if time.monotonic() >= next_kill:
                victim = chance.randrange(given.agents)
                used += processor([agents[victim]])
                agents[victim].kill()
                agents[victim] = start(agents[victim].name)
                kills += 1
                next_kill += given.period
            time.sleep(0.005)
        used += processor(agents)
        operator.settle()
        say(f"{kills} kills; {operator.figures()}")
        unanswered = operator.unanswered
        several = [one for one, ends in operator.ends.items() if len(set(ends)) > 1]
        statuses = collections.Counter(json.loads(ends[0])["status"] for ends in operator.ends.values())
        lines = collections.Counter(line for each in agents for line in each.ledger)
        twice = [line for line, count in lines.items() if count > 1]
        lost = [one for one, ends in operator.ends.items() if json.loads(ends[0])["status"] == "ok" and one not in lines]
        for found, what in [
            (unanswered, "were not answered"), (several, "have several ends"), (twice, "ran twice"),
            (lost, "ended well and are in no ledger"), (set(statuses) - {"ok", "interrupted"}, "is no end that a kill explains"),
        ]:
            if found:
                problems.append(f"{len(found)} {what}: {sorted(found)[:5]}")
        waits = sorted(operator.ended_at[one] - operator.sent[one] for one in operator.ended_at)
        rate = len(operator.sent) / given.seconds
        say(f"{dict(statuses)}; {sum(len(ends) - 1 for ends in operator.ends.values())} replies came again")
        rows = [
            ("commands sent", f"{len(operator.sent)}", ""), ("agents killed with -9", f"{kills}", ""),
            ("commands/s", f"{rate:.0f}", f"≥ {given.rate * 99 // 100}"),
            ("without an end", f"{len(unanswered)}", "= 0"), ("with several ends", f"{len(several)}", "= 0"),
            ("that ran twice, or ended well and did not run", f"{len(twice) + len(lost)}", "= 0"),
            ("interrupted by a kill", f"{statuses['interrupted']}", ""),
            ("agents: processor for a command, with their starts, µs", f"{used / len(operator.sent) * 1e6:.0f}", ""),
            ("until the reply, p50, ms", f"{waits[len(waits) // 2] * 1000:.0f}", ""),
            ("until the reply, p99, ms", f"{waits[len(waits) * 99 // 100] * 1000:.0f}", ""),
        ]
        operator.client.stop()
    finally:
        for each in agents:
            each.kill()
        nodes.end()
    print("| Figure | Value | Bound |\n|---|---:|---:|")
    for row in rows:
        print(f"| {' | '.join(row)} |")
    for problem in problems:
        print(f"benchmark commands: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
