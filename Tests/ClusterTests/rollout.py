"""The check of scripts/cluster --rollout: maps rolled out to a fleet at a real broker, good ones and bad ones.

A thousand or ten thousand simulated agents over a few sessions, then real agents as processes. For a map that is taken
back, the time from the decision to the report of the last online agent that it has the map before.
"""

import json
import subprocess
import threading
import time

import client
import cluster
from agent import ROOT, Agent, say

GROUP = "lobby"
URL = "scheme://router/demo"
BAD_URL = "scheme://router/demo2"
ECHO = "waypost-rollout-witness/echo"


def a_map(revision, target):
    entry = {"routerType": 1, "orginPath": URL, "targetPath": target} if target else {
        "routerType": 3, "path": BAD_URL}
    return {"id": f"m-{revision}", "type": "map", "rev": revision, "aud": f"@{GROUP}", "entries": [entry]}


class Witness:
    """Sees what the controller says, and what each agent has in force."""

    def __init__(self, ports):
        self.lock = threading.Lock()
        # Agents that are connected, and what each has said of its maps last.
        self.online, self.applied = set(), {}
        self.echo = threading.Event()
        self.reset()
        self.client = client.Client(
            "waypost-rollout-witness", ports,
            [f"{ROOT}/@{GROUP}/rollout", f"{ROOT}/+/map/applied", f"{ROOT}/+/state", ECHO], self.received,
            # NATS cuts topics with @ at 1.
            qos=0)
        cluster.wait_for("the witness to be connected", lambda: self.client.is_online)

    def reset(self):
        with self.lock:
            # Agents on the new map, those that have ever been, and when the last one came back.
            self.on_next, self.were_on_next = set(), set()
            self.decided = self.last_back = None

    def wait_until_calm(self):
        """Until the broker has nothing left to do: ten thousand agents that go leave it work for a minute."""
        quick = 0

        def answers():
            nonlocal quick
            self.echo.clear()
            self.client.publish(ECHO, b"?")
            quick = quick + 1 if self.echo.wait(0.2) else 0
            return quick == 5
        cluster.wait_for("the broker to be calm", answers, limit=600, every=0.2)

    def forget(self):
        """The agents are gone; NATS may have delivered the birth of one behind its end."""
        with self.lock:
            self.online.clear()
            self.applied.clear()

    def received(self, topic, payload):
        if topic == ECHO:
            self.echo.set()
            return
        now = time.monotonic()
        name, _, kind = topic.removeprefix(f"{ROOT}/").partition("/")
        with self.lock:
            if kind == "rollout":
                state = json.loads(payload)["state"] if payload else ""
                if state == "taking-back" and not self.decided:
                    self.decided = now
            elif kind == "state":
                if b'"online"' in payload:
                    self.online.add(name)
                else:
                    self.online.discard(name)
                    self.on_next.discard(name)
                    self.applied.pop(name, None)
            else:
                self.applied[name] = payload
                if b'"in":"next"' in payload:
                    self.on_next.add(name)
                    self.were_on_next.add(name)
                elif name in self.on_next:
                    self.on_next.discard(name)
                    self.last_back = now

    def have(self, revision):
        """How many agents have that revision in force."""
        with self.lock:
            return sum(b'"rev":%d,' % revision in payload for payload in self.applied.values())

    @property
    def seconds_back(self):
        """From the decision to the last report; None while an agent is still on the new map."""
        with self.lock:
            if not self.decided or self.on_next or not self.last_back:
                return None
            return max(self.last_back - self.decided, 0)


class Check:
    def __init__(self, nodes, agents, real, program):
        self.nodes, self.agents, self.real, self.program = nodes, agents, real, program
        self.processes = []
        self.problems = []
        self.rows = []
        self.number = 0
        self.revision = 40

    def run(self):
        say(f"{len(self.nodes.nodes)} nodes of {self.nodes.engine}")
        self.nodes.start()
        self.witness = Witness([node.port for node in self.nodes.nodes])
        short = ["--stages", "5,10%,100%", "--dwell", "5s"]
        # An agent that does not come back within a minute counts as lost.
        long = ["--stages", "5,50%,100%", "--dwell", "5s,90s"]
        for name, fault, status, least, words in [
            ("a good map", None, 0, self.agents, short), ("half of the opens fail", "fail=50%", 1, 1, short),
            ("one open of ten fails", "fail=10%", 1, 1, short), ("a tenth of the agents dies", "die=10%", 1, 1, long),
            ("a version refuses it", "refuse=2.3.0", 3, 0, short),
        ]:
            if self.agents:
                self.simulated(name, fault, status, least, *words)
        if self.real:
            self.with_processes()
        print(f"| {self.nodes.engine} | agents | had the new map | ended as | from the decision to the last one back |")
        print("|---|---:|---:|---|---:|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")
        return not self.problems

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)
            say(f"FAILED: {problem}")

    def waypost(self, *words, check=True, timeout=600):
        brokers = [word for node in self.nodes.nodes for word in ("--broker", node.url)]
        result = subprocess.run(
            [self.program, *words, *brokers], capture_output=True, text=True, timeout=timeout, check=False)
        if check and result.returncode:
            raise AssertionError(f"waypost {' '.join(words)}: {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def write(self, document):
        path = self.nodes.folder / f"{document['rev']}.json"
        path.write_text(json.dumps(document))
        return path

    def put(self, path):
        """Makes the map in the file that of the group; `relocate` would ask each agent first."""
        self.witness.client.publish(f"{ROOT}/@{GROUP}/map", path.read_bytes(), is_retained=True)
        cluster.wait_for("the map to be at the broker", lambda: self.witness.client.open == 0)

    def roll_out(self, name, count, path, status, least, *words, during=lambda: None):
        self.witness.reset()
        self.number += 1
        brokers = [word for node in self.nodes.nodes for word in ("--broker", node.url)]
        began = time.monotonic()
        controller = subprocess.Popen(
            [
                self.program, "rollout", "start", "--group", GROUP, "--file", str(path), "--id",
                # Some of these brokers send no retained messages to a wildcard.
                f"r-{self.number}", "--tail", "0s", "--unchecked", *words, *brokers,
            ], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        while controller.poll() is None:
            during()
            time.sleep(0.5)
        output = controller.stdout.read()
        last = output.strip().split("\n")[-1]
        had, seconds = len(self.witness.were_on_next), None
        self.expect(
            controller.returncode == status,
            f"{name}: status {controller.returncode} and not {status}: {output[-1500:]}")
        self.expect(had >= least, f"{name}: {had} agents had it, and not {least}: {output[-1500:]}")
        if controller.returncode == 1 and had:
            cluster.wait_for(
                f"{name}: all to be back", lambda: self.witness.seconds_back is not None, limit=60)
            seconds = self.witness.seconds_back
            self.expect(seconds <= 3, f"{name}: {seconds:.1f} s until the last was back")
        self.rows.append([
            name, str(count), str(had), {0: "promoted", 1: "taken back", 3: "paused"}.get(
                controller.returncode, str(controller.returncode)),
            f"{seconds:.1f} s" if seconds is not None else "–"])
        say(f"{name}: {last} ({time.monotonic() - began:.0f} s)")

    # Simulated agents.

    def simulated(self, name, fault, status, least, *words):
        base, following = self.revision + 1, self.revision + 2
        self.revision += 10
        path = self.write(a_map(base, "scheme://router/demo1"))
        next_path = self.write(a_map(following, "scheme://router/demo2"))
        faults = ["--map-fault", f"{following}:{fault}"] if fault else []
        # Not at the operator's node, as long as there is another one that takes them.
        brokers = [word for node in reversed(self.nodes.nodes) for word in ("--broker", node.url)]
        simulation = subprocess.Popen(
            [
                self.program, "simulate", "--agents", str(self.agents), "--groups", GROUP, "--problems", "0%",
                "--traffic", "30", "--log-rate", "0", "--failure-rate", "0", "--map-of", str(path), "--seed",
                "7", *faults, *brokers,
            ], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def are_there():
            if simulation.poll() is not None:
                raise AssertionError(simulation.stderr.read().decode())
            return len(self.witness.online) >= self.agents
        try:
            cluster.wait_for(f"{self.agents} agents", are_there, limit=600, every=1)
            self.put(path)
            cluster.wait_for(
                "all to have the map", lambda: self.witness.have(base) >= self.agents, limit=600, every=1)
            self.witness.wait_until_calm()
            self.roll_out(
                name, self.agents, next_path, status, least, *words, "--spread", "1s")
            if status == 3:
                self.waypost("rollout", "take-back", "--group", GROUP)
        finally:
            simulation.terminate()
            simulation.wait(timeout=120)
            self.witness.wait_until_calm()
            self.witness.forget()

    # Real ones.

    def with_processes(self):
        urls = [node.url for node in self.nodes.nodes]
        names = [f"real-{number}" for number in range(1, self.real + 1)]
        for name in names:
            self.processes.append(
                Agent(
                    name, urls, self.nodes.folder, self.program, "--group", GROUP, "--group-qos",
                    "0" if self.nodes.engine == "nats" else "1"))
        for each in self.processes:
            cluster.wait_for(f"{each.name} to be online", each.is_online, every=0.5)
        base = self.write(a_map(self.revision + 1, "scheme://router/demo1"))
        good = self.write(a_map(self.revision + 2, "scheme://router/demo2"))
        bad = self.write(a_map(self.revision + 3, None))
        self.put(base)
        cluster.wait_for(
            "all to have the map", lambda: self.witness.have(self.revision + 1) >= self.real, every=0.5)

        def opens(url):
            for name in names:
                self.witness.client.publish(
                    f"{ROOT}/{name}/cmd/witness",
                    json.dumps({"id": f"o{time.monotonic_ns()}", "type": "open", "url": url, "ttl": 60_000}).encode())
        words = ["--stages", "2,50%,100%", "--dwell", "4s", "--spread", "500ms"]
        self.roll_out(
            "a good map, processes", self.real, good, 0, self.real, *words, during=lambda: opens(URL))
        self.roll_out(
            "a path is blocked, processes", self.real, bad, 1, 2, *words, during=lambda: opens(BAD_URL))
        for each in self.processes:
            self.expect(each.terminate() == 0, f"{each.name} did not end with 0")
        self.processes = []

    def end(self):
        for each in self.processes:
            each.kill()
