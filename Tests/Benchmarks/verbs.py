"""What the verbs that look at a fleet take with a large one, at a mosquitto of its own; prints a Markdown table.
Usage: scripts/benchmark verbs [--agents N] [--rounds N]

Time is the least of the rounds, memory the most. A verb that takes longer than a second must have said on the terminal by
then what it does, and each agent must be in what it prints.
"""

import argparse
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "Tests/ClusterTests"))
import client
import cluster

GROUP = "lobby"
ROOT = "waypost/v1"
NOWHERE = "scheme://router/nowhere"


def a_map(revision, target):
    entry = {"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": f"scheme://router/{target}"}
    return json.dumps({
        "id": f"m-{revision}", "type": "map", "rev": revision, "aud": f"@{GROUP}", "entries": [entry]}).encode()


class Run:
    """A verb with its standard error on a terminal."""

    def __init__(self, command, folder):
        there, here = pty.openpty()
        printed = folder / "printed"
        began = time.monotonic()
        with printed.open("wb") as output:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=here)
        os.close(here)
        said, self.first_word = b"", None
        while select.select([there], [], [], 300)[0]:
            try:
                found = os.read(there, 65536)
            except OSError:  # nobody has the other end any more
                break
            if not found:
                break
            self.first_word = self.first_word or time.monotonic() - began
            said += found
        else:
            process.send_signal(signal.SIGKILL)
        os.close(there)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = self.status = os.waitstatus_to_exitcode(status)
        self.seconds, self.processor = time.monotonic() - began, usage.ru_utime + usage.ru_stime
        self.megabytes = usage.ru_maxrss / 1024
        self.printed, self.said = printed.read_text(), said.decode(errors="replace")


class Verbs:
    def __init__(self, program, count, rounds, nodes):
        self.program, self.count, self.rounds, self.nodes = program, count, rounds, nodes
        self.rows, self.problems = [], []

    def measure(self, name, *words, counts, statuses=(0,)):
        """Adds the rows of a verb; `counts` finds in what it printed of how many agents that tells."""
        runs, tellings = [], []
        for _ in range(self.rounds):
            run = Run([self.program, *words, "--broker", self.nodes.nodes[0].url], self.nodes.folder)
            runs.append(run)
            try:
                told = counts(run.printed)
            except (ValueError, KeyError, TypeError):
                told = 0
            tellings.append(told)
            if run.status not in statuses:
                self.problems.append(f"{name}: status {run.status}: {run.printed[-1000:]}{run.said[-1000:]}")
            elif told != self.count:
                self.problems.append(f"{name}: it tells of {told} agents: {run.printed[:500]}{run.said[-1000:]}")
            if run.seconds > 2 and (run.first_word or run.seconds) > 2:
                self.problems.append(f"{name}: nothing was said in {run.seconds:.1f} s")
            print(f"==> {name}: {run.seconds:.2f} s, processor {run.processor:.2f} s, {run.megabytes:.0f} MB, "
                  f"tells of {told}; first word {run.first_word or 0:.1f} s: {run.said[:100]!r}", file=sys.stderr, flush=True)
        self.rows += [
            (f"`{name}`: time, s", f"{min(run.seconds for run in runs):.1f}", "≤ 5"),
            (f"`{name}`: processor, s", f"{min(run.processor for run in runs):.2f}", ""),
            (f"`{name}`: memory, MB", f"{max(run.megabytes for run in runs):.0f}", "≤ 200"),
            (f"`{name}`: agents of which it tells", f"{min(tellings)}", f"= {self.count}"),
        ]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--agents", type=int, default=10_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--program", required=True)
    given = arguments.parse_args()
    nodes = cluster.Mosquitto()
    fleet = None
    try:
        nodes.start()
        base, following = nodes.folder / "base.json", nodes.folder / "next.json"
        base.write_bytes(a_map(41, "demo1"))
        following.write_bytes(a_map(42, "demo2"))
        online, failed = set(), set()

        def received(topic, payload):
            if topic.endswith("/fail"):
                if NOWHERE.encode() in payload:
                    failed.add(topic)
            elif b'"online"' in payload:
                online.add(topic)
        sender = client.Client(
            "verbs", [nodes.nodes[0].port], [f"{ROOT}/+/state", f"{ROOT}/+/fail"], received, qos=0)
        cluster.wait_for("the sender to be connected", lambda: sender.is_online)
        sender.publish(f"{ROOT}/@{GROUP}/map", base.read_bytes(), is_retained=True)
        cluster.wait_for("the map to be at the broker", lambda: sender.open == 0)
        fleet = subprocess.Popen(
            [
                given.program, "simulate", "--agents", str(given.agents), "--groups", GROUP, "--problems", "0%",
                "--log-rate", "200", "--failure-rate", "600", "--map-of", str(base), "--seed", "7", "--broker",
                nodes.nodes[0].url,
            ], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        cluster.wait_for(f"{given.agents} agents", lambda: len(online) >= given.agents, limit=300)
        # One failure of each, beside those that some have had.
        sender.publish(
            f"{ROOT}/@{GROUP}/cmd/verbs",
            json.dumps({"id": "o1", "type": "open", "url": NOWHERE, "ttl": 600_000}).encode())
        cluster.wait_for("the failures", lambda: len(failed) >= given.agents, limit=300)
        sender.stop()
        verbs = Verbs(given.program, given.agents, given.rounds, nodes)
        verbs.measure("agents", "agents", "--names", counts=lambda text: len(text.split()))
        verbs.measure(
            "failures", "failures", "--json", counts=lambda text: len({
                agent for group in map(json.loads, text.splitlines()) if group["url"] == NOWHERE
                for agent in group["agents"]}))
        verbs.measure(
            "map diff", "map", "diff", "--group", GROUP, "--file", str(following), "--json",
            counts=lambda text: sum(len(build["agents"]) for build in json.loads(text)["agents"]))
        verbs.measure(
            "rollout plan", "rollout", "plan", "--group", GROUP, "--file", str(following), "--json",
            counts=lambda text: json.loads(text)["stages"][-1]["agents"])
        verbs.measure(
            "doctor", "doctor", counts=lambda text: int(re.search(r"(\d+) known, \1 online", text)[1]))
    finally:
        if fleet:
            fleet.terminate()
            fleet.wait()
        nodes.end()
    print("| Figure | Value | Bound |\n|---|---:|---:|")
    for row in verbs.rows:
        print(f"| {' | '.join(row)} |")
    for problem in verbs.problems:
        print(f"benchmark verbs: {problem}", file=sys.stderr)
    return 1 if verbs.problems else 0


if __name__ == "__main__":
    sys.exit(main())
