"""The check of scripts/cluster --rollout: maps rolled out to a fleet at a real broker, good ones and bad ones.

A thousand or ten thousand simulated agents over a few sessions, then real agents as processes. For a map that is taken
back, the time from the decision to the report of the last online agent that it has the map before.
"""

import contextlib
import itertools
import json
import os
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
            # State and stage of the roll-out.
            self.control = None

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
                document = json.loads(payload) if payload else {}
                self.control = document.get("state"), document.get("stage", 0)
                if document.get("state") == "taking-back" and not self.decided:
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
            payloads = [payload for payload in self.applied.values() if b'"rev":%d,' % revision in payload]
        # The map before is in it, too, while the next one is in force.
        return sum(
            any(layer.get("rev") == revision for layer in json.loads(payload)["layers"]) for payload in payloads)

    @property
    def seconds_back(self):
        """From the decision to the last report; None while an agent is still on the new map."""
        with self.lock:
            if not self.decided or self.on_next or not self.last_back:
                return None
            return max(self.last_back - self.decided, 0)


class Controller:
    """`waypost rollout …` as a process, with what it took of memory and of a processor."""

    def __init__(self, command, folder):
        self.file = folder / "controller.log"
        self.began = time.monotonic()
        with self.file.open("wb") as output:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        self.status = None
        self.megabytes = self.share = 0

    @property
    def is_running(self):
        if self.status is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = self.status = os.waitstatus_to_exitcode(status)
                self.megabytes = usage.ru_maxrss / 1024
                self.share = (usage.ru_utime + usage.ru_stime) / (time.monotonic() - self.began)
        return self.status is None

    @property
    def output(self):
        return self.file.read_text()

    def kill(self):
        """As a power cut does."""
        if self.is_running:
            self.process.kill()
            cluster.wait_for("the controller to be gone", lambda: not self.is_running, every=0.01)


class Check:
    def __init__(self, nodes, agents, real, rounds, program):
        self.nodes, self.agents, self.real, self.rounds, self.program = nodes, agents, real, rounds, program
        self.processes = []
        self.problems = []
        self.rows = []
        # What belongs on the page Figures: name, value, bound.
        self.figures = []
        self.controllers = []
        self.number = self.node_kills = 0
        # Of the map of the group, and of the last one that was written.
        self.base = self.revision = 41

    def run(self):
        say(f"{len(self.nodes.nodes)} nodes of {self.nodes.engine}")
        self.nodes.start()
        self.witness = Witness([node.port for node in self.nodes.nodes])
        if self.agents:
            self.simulated()
            self.together()
            self.dying()
        if self.real:
            self.with_processes()
        print(f"| {self.nodes.engine} | agents | had the new map | ended as | from the decision to the last one back |")
        print("|---|---:|---:|---|---:|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")
        self.figures += [
            ("controller: most memory, MB", f"{max(one.megabytes for one in self.controllers):.0f}", "≤ 150"),
            ("controller: most of a core, %", f"{max(one.share for one in self.controllers) * 100:.0f}", "≤ 100"),
        ]
        print("\n| Figure | Value | Bound |\n|---|---:|---:|")
        for figure in self.figures:
            print("| " + " | ".join(figure) + " |")
        return not self.problems

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)
            say(f"FAILED: {problem}")

    @property
    def brokers(self):
        return [word for node in self.nodes.nodes for word in ("--broker", node.url)]

    def write(self, document):
        path = self.nodes.folder / f"{document['rev']}.json"
        path.write_text(json.dumps(document))
        return path

    def next_map(self, target):
        self.revision += 1
        return self.write(a_map(self.revision, target))

    def put(self, path):
        """Makes the map in the file that of the group; `relocate` would ask each agent first."""
        self.witness.client.publish(f"{ROOT}/@{GROUP}/map", path.read_bytes(), is_retained=True)
        cluster.wait_for("the map to be at the broker", lambda: self.witness.client.open == 0)

    def steer(self, verb, *words):
        controller = Controller(
            [self.program, "rollout", verb, "--group", GROUP, *words, *self.brokers], self.nodes.folder)
        self.controllers.append(controller)
        return controller

    def start(self, path, *words):
        self.witness.reset()
        self.number += 1
        # Some of these brokers send no retained messages to a wildcard. A pause is an end here.
        return self.steer(
            "start", "--file", str(path), "--id", f"r-{self.number}", "--tail", "0s", "--pause-limit", "0s",
            "--unchecked", *words)

    def finish(self, name, controller, count, status, least, during=lambda: None, pause=0.5):
        """Waits for the end of a roll-out, and says how it was; the seconds until all were back."""
        while controller.is_running:
            during()
            time.sleep(pause)
        output = controller.output
        had, seconds = len(self.witness.were_on_next), None
        self.expect(
            controller.status == status, f"{name}: status {controller.status} and not {status}: {output[-1500:]}")
        self.expect(had >= least, f"{name}: {had} agents had it, and not {least}: {output[-1500:]}")
        if controller.status == 1 and had:
            cluster.wait_for(
                f"{name}: all to be back", lambda: self.witness.seconds_back is not None, limit=60)
            seconds = self.witness.seconds_back
        if controller.status == 0:
            self.base = self.revision
        self.rows.append([
            name, str(count), str(had), {0: "promoted", 1: "taken back", 3: "paused"}.get(
                controller.status, str(controller.status)),
            f"{seconds:.1f} s" if seconds is not None else "–"])
        say(f"{name}: {output.strip().rsplit(chr(10), 1)[-1]} ({time.monotonic() - controller.began:.0f} s, "
            f"{controller.megabytes:.0f} MB, {controller.share * 100:.0f} % of a core"
            + (f", back in {seconds:.1f} s)" if seconds is not None else ")"))
        return seconds

    def are_right(self, name, count):
        """No agent has another map than that of the group."""
        end = time.monotonic() + 60
        while self.witness.have(self.base) < count and time.monotonic() < end:
            time.sleep(0.2)
        wrong = count - self.witness.have(self.base)
        self.expect(wrong == 0, f"{name}: {wrong} agents are not on rev {self.base}")
        return wrong

    def roll_out(self, name, count, path, status, least, *words, during=lambda: None):
        """From the start to the end, and all agents on the map that they should have."""
        seconds = self.finish(name, self.start(path, *words), count, status, least, during)
        if status == 3:
            back = self.steer("take-back")
            cluster.wait_for(f"{name}: to be taken back", lambda: not back.is_running)
        if seconds is not None:
            self.was_back(f"{name}: from the decision to the last one back, s", seconds)
        return self.are_right(name, count)

    @property
    def is_cluster(self):
        return len(self.nodes.nodes) > 1

    def was_back(self, name, seconds):
        """How fast a cluster is, is its own affair: on one machine its nodes take the processors from each other."""
        self.figures.append((name, f"{seconds:.1f}", "" if self.is_cluster else "≤ 3"))
        self.expect(self.is_cluster or seconds <= 3, f"{name}: {seconds:.1f}")

    @contextlib.contextmanager
    def nodes_die(self):
        """What kills a node of a cluster every 20 s, in turn, two seconds before it starts it again."""
        due, turn, down = time.monotonic() + 20, itertools.cycle(self.nodes.nodes), None

        def act():
            nonlocal due, down
            if not self.is_cluster or time.monotonic() < due:
                return
            if down:
                self.nodes.restart(down.name)
                due, down = time.monotonic() + 18, None
            else:
                due, down = time.monotonic() + 2, next(turn)
                down.kill()
                self.node_kills += 1
        try:
            yield act
        finally:
            if down:
                self.nodes.restart(down.name)

    # Simulated agents.

    @contextlib.contextmanager
    def fleet(self, traffic, *faults):
        """A fleet with the map of the group; faults are of the maps that come next."""
        path = self.next_map("scheme://router/demo1")
        self.base = self.revision
        words = [
            word for number, fault in enumerate(faults, self.revision + 1) if fault
            for word in ("--map-fault", f"{number}:{fault}")]
        # Not at the operator's node, as long as there is another one that takes them.
        brokers = [word for node in reversed(self.nodes.nodes) for word in ("--broker", node.url)]
        simulation = subprocess.Popen(
            [
                self.program, "simulate", "--agents", str(self.agents), "--groups", GROUP, "--problems", "0%",
                "--traffic", str(traffic), "--log-rate", "0", "--failure-rate", "0", "--map-of", str(path), "--seed",
                # Each node of a cluster takes the next message of a session when the others have the one before.
                "7", "--sessions", "30" if self.is_cluster else "4", *words, *brokers,
            ], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def are_there():
            if simulation.poll() is not None:
                raise AssertionError(simulation.stderr.read().decode())
            return len(self.witness.online) >= self.agents
        try:
            cluster.wait_for(f"{self.agents} agents", are_there, limit=600, every=1)
            self.put(path)
            cluster.wait_for(
                "all to have the map", lambda: self.witness.have(self.base) >= self.agents, limit=600, every=1)
            self.witness.wait_until_calm()
            yield
        finally:
            simulation.terminate()
            simulation.wait(timeout=120)
            self.witness.wait_until_calm()
            self.witness.forget()

    def simulated(self):
        """Bad maps, and then good ones, of which a controller or a broker dies."""
        short = ["--stages", "5,10%,100%", "--dwell", "5s", "--spread", "1s"]
        wrong = 0
        with self.fleet(30, "fail=50%", "fail=10%", "refuse=2.3.0"):
            for name, status, least in [
                ("half of the opens fail", 1, 1), ("one open of ten fails", 1, 1), ("a version refuses it", 3, 0),
                ("a good map", 0, self.agents),
            ]:
                with self.nodes_die() as during:
                    wrong += self.roll_out(
                        name, self.agents, self.next_map("scheme://router/demo2"), status, least, *short, during=during)
            wrong += self.controller_dies(short)
            wrong += self.broker_dies(short)
        if self.is_cluster:
            self.figures.append(("nodes killed meanwhile, one every 20 s", str(self.node_kills), ""))
        self.figures.append(("agents on a map that they should not have, at the end of each", str(wrong), "= 0"))

    def controller_dies(self, words):
        """With kill -9 in each stage and while it promotes; the next one goes on."""
        name = "a good map, the controller killed in each stage"
        controller = self.start(self.next_map("scheme://router/demo1"), *words)
        kills = 0
        for place in [("running", 0), ("running", 1), ("running", 2), ("promoting", 2)]:
            cluster.wait_for(
                f"{name}: {place}", lambda p=place: self.witness.control == p or not controller.is_running, every=0.01)
            if not controller.is_running:
                break
            # In the middle of it, and not at its first message.
            time.sleep(0 if place[0] == "promoting" else 1)
            controller.kill()
            kills += 1
            controller = self.steer("resume", "--dwell", "5s", "--tail", "0s")
        self.finish(name, controller, self.agents, 0, self.agents)
        self.expect(kills == 4, f"{name}: {kills} kills and not 4: {controller.output[-1500:]}")
        self.figures.append((f"{name}: kills after which another went on", str(kills), "= 4"))
        return self.are_right(name, self.agents)

    def broker_dies(self, words):
        """In the second stage; where it is the only one it has forgotten all that it kept."""
        name = "a good map, the broker killed in a stage"
        controller = self.start(self.next_map("scheme://router/demo2"), *words)
        cluster.wait_for(
            f"{name}: the stage", lambda: self.witness.control == ("running", 1) or not controller.is_running, every=0.01)
        node = self.nodes.nodes[0]
        time.sleep(1)
        self.expect(controller.is_running, f"{name}: it ended before")
        node.kill()
        time.sleep(2)
        self.nodes.restart(node.name)
        self.finish(name, controller, self.agents, 0, self.agents)
        return self.are_right(name, self.agents)

    def together(self):
        """A map that is taken back when all have it: so few opens that the gate sees them fail no sooner."""
        name = "half of the opens fail, seen when all have it"
        found = []
        with self.fleet(300 / self.agents, *["fail=50%"] * self.rounds):
            for number in range(1, self.rounds + 1):
                controller = self.start(
                    self.next_map("scheme://router/demo2"), "--stages", "100%", "--dwell", "60s", "--spread", "1s")
                title = f"{name}, {number}"
                found.append(self.finish(title, controller, self.agents, 1, self.agents * 9 // 10) or 1_000)
                self.are_right(title, self.agents)
        median = sorted(found)[len(found) // 2]
        self.was_back(f"{name}: to the last one back, median of {self.rounds}, s", median)
        self.figures.append((f"{name}: the longest, s", f"{max(found):.1f}", ""))

    def dying(self):
        # An agent that does not come back within a minute counts as lost.
        with self.fleet(30, "die=10%"):
            name = "a tenth of the agents dies"
            controller = self.start(
                self.next_map("scheme://router/demo2"), "--stages", "5,50%,100%", "--dwell", "5s,90s", "--spread", "1s")
            seconds = self.finish(name, controller, self.agents, 1, 1)
            if seconds is not None:
                self.was_back(f"{name}: from the decision to the last one back, s", seconds)

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
        self.put(self.next_map("scheme://router/demo1"))
        self.base = self.revision
        cluster.wait_for("all to have the map", lambda: self.witness.have(self.base) >= self.real, every=0.5)

        def opens(url):
            for name in names:
                self.witness.client.publish(
                    f"{ROOT}/{name}/cmd/witness",
                    json.dumps({"id": f"o{time.monotonic_ns()}", "type": "open", "url": url, "ttl": 60_000}).encode())
        words = ["--stages", "2,50%,100%", "--dwell", "4s", "--spread", "500ms"]
        wrong = self.roll_out(
            "a good map, processes", self.real, self.next_map("scheme://router/demo2"), 0, self.real, *words,
            during=lambda: opens(URL))
        wrong += self.roll_out(
            "a path is blocked, processes", self.real, self.next_map(None), 1, 1, *words,
            during=lambda: opens(BAD_URL))
        self.figures.append(("processes on a map that they should not have, at the end of each", str(wrong), "= 0"))
        for each in self.processes:
            self.expect(each.terminate() == 0, f"{each.name} did not end with 0")
        self.processes = []

    def end(self):
        for each in self.processes:
            each.kill()
