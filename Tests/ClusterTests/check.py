"""The check of scripts/cluster: agents at node B, the operator at node A, and nodes that die under load.

Nothing that a broker has acknowledged may be lost, nothing may run twice, and a command has one end. With two of three
nodes down an agent goes on from its disk, says so, and is back by itself.
"""

import argparse
import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import client
import cluster
import evidence
import rollout
import tap
from agent import ROOT, TOP, Agent, say

OPERATOR = "check"
# What a killed node needs until it is started again: a process manager waits a moment, too.
RESTART_AFTER = 4
# As long as something comes it goes on; this long without anything is a loss.
SILENCE = 120


class Operator:
    """Sends commands and collects their replies."""

    def __init__(self, ports):
        # By id: when it was sent, when it was acknowledged, and every end that came.
        self.sent, self.acknowledged = {}, {}
        # What was sent, by id: topic and payload.
        self.commands = {}
        self.ends = collections.defaultdict(list)
        self.ended_at = {}
        self.failures = collections.Counter()
        self.changed = time.monotonic()
        self.client = client.Client(
            "waypost-cluster-check", ports, [f"{ROOT}/+/reply/{OPERATOR}", f"{ROOT}/+/fail"], self.received)

    def received(self, topic, payload):
        message = json.loads(payload)
        if topic.endswith("/fail"):
            self.failures[message["name"]] += message.get("count", 1)
            return
        if message["status"] == "accepted":
            return
        identifier = message["id"]
        self.ended_at.setdefault(identifier, time.monotonic())
        self.changed = time.monotonic()
        message.pop("dup", None)
        self.ends[identifier].append(json.dumps(message, sort_keys=True))

    def send(self, agent, identifier, method, *words, service="LedgerService", lane="main"):
        command = {
            "id": identifier, "type": "call", "service": service, "method": method, "args": list(words),
            "lane": lane, "exp": int(time.time() * 1000) + 3_600_000,
        }
        self.sent[identifier] = time.monotonic()
        self.commands[identifier] = f"{ROOT}/{agent}/cmd/{OPERATOR}", json.dumps(command).encode()
        self.send_again(identifier)

    def send_again(self, identifier):
        """The same command, as somebody does who has no answer."""
        def acknowledged():
            self.acknowledged[identifier] = self.changed = time.monotonic()

        self.client.publish(*self.commands[identifier], acknowledged)

    @property
    def unanswered(self):
        return [identifier for identifier in self.sent if identifier not in self.ends]

    def settle(self, identifiers=None):
        """Waits until these have their end, or all, as long as anything comes."""
        self.changed = time.monotonic()
        while time.monotonic() - self.changed < SILENCE and any(
                each not in self.ends for each in identifiers or self.sent):
            time.sleep(0.2)

    def figures(self):
        return f"{len(self.sent)} sent, {len(self.acknowledged)} acknowledged, {len(self.ends)} answered"


class Check:
    def __init__(self, nodes, is_short, program):
        self.nodes, self.program = nodes, program
        self.seconds, self.period = (30, 10) if is_short else (300, 20)
        # In CI other steps have the machine too, and this is about what is lost, not about how much it can do.
        self.rate = 25 if is_short else 200
        self.agents = []
        self.operator = self.tap = None
        self.began = time.monotonic()
        self.problems = []
        # What the broker lost and got again, and what it keeps to itself.
        self.skipped, self.stuck = 0, set()

    def run(self):
        say(f"three nodes of {self.nodes.title}")
        self.nodes.start()
        say(f"up in {time.monotonic() - self.began:.0f} s: " + ", ".join(
            f"{node.name} {node.url}" for node in self.nodes.nodes))
        self.tap = tap.Tap(self.nodes.folder, [node.port for node in self.nodes.nodes])
        names = [f"k{number}" for number in range(1, 5)]
        self.agents = [
            Agent(
                name, [f"mqtt://127.0.0.1:{self.port(node)}" for node in "BCA"], self.nodes.folder, self.program)
            for name in names
        ]
        for agent in self.agents:
            cluster.wait_for(f"{agent.name} to be online", agent.is_online, every=0.5)
        self.operator = Operator([self.port(node) for node in "ACB"])
        cluster.wait_for("the operator to be connected", lambda: self.operator.client.is_online)
        self.kill_under_load()
        self.settle("after the kills")
        if self.stuck:
            say("not tried: the loss of the majority")
        else:
            self.lose_majority()
            self.settle("after the loss of the majority")
        self.compare()
        self.operator.client.stop()
        for agent in self.agents:
            status = agent.terminate()
            self.expect(status == 0, f"{agent.name} ended with status {status}")
        say(f"{self.operator.figures()}, {self.operator.client.resent} sent again before an acknowledgement, "
            f"{self.skipped + len(self.stuck)} lost by the broker, {time.monotonic() - self.began:.0f} s in all")
        return not self.problems

    def port(self, node):
        """Where clients reach it: at the recorder before it."""
        return self.tap.ports[self.nodes[node].port]

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)
            say(f"FAILED: {problem}")

    # One of three, again and again.

    def kill_under_load(self):
        say(f"{self.rate} commands/s for {self.seconds} s; kill -9 of a node every {self.period} s")
        began = time.monotonic()
        next_kill, next_start = began + self.period / 2, None
        victims = iter("BCA" * 100)
        victim, kills, late = None, 0, 0
        while (elapsed := time.monotonic() - began) < self.seconds:
            for number in range(len(self.operator.sent), int(elapsed * self.rate)):
                agent = self.agents[number % len(self.agents)].name
                self.operator.send(agent, f"c{number}", "append", f"c{number}", lane=f"l{number % 3}")
            now = time.monotonic()
            if next_start and now >= next_start:
                self.nodes.restart(victim)
                next_start = None
            if now >= next_kill and next_start is None:
                # One at a time: the node before must be back, or two of three would be away.
                if victim and not self.nodes[victim].is_up():
                    late += 1
                    next_kill += 1
                else:
                    victim = next(victims)
                    self.nodes[victim].kill()
                    kills += 1
                    say(f"{now - began:3.0f} s: killed {victim}; {self.operator.figures()}")
                    next_kill, next_start = now + self.period, now + RESTART_AFTER
            time.sleep(0.005)
        if next_start:
            self.nodes.restart(victim)
        say(f"{kills} kills" + (f"; the next one waited {late} s for a node to be back" if late else ""))
        # On a slow machine the nodes take their time, and so there are fewer.
        self.expect(kills >= self.seconds // self.period // 2, f"only {kills} kills")

    def settle(self, when):
        began = time.monotonic()
        self.nodes.wait_until_whole()
        self.operator.settle()
        say(f"{when}: {self.operator.figures()}, settled in {time.monotonic() - began:.0f} s")
        lost = [each for each in self.operator.unanswered if each in self.operator.acknowledged]
        if lost:
            lost = self.judge(lost)
        self.expect(not lost, f"{when}: {len(lost)} acknowledged commands have no reply: {lost[:5]}")
        count = self.operator.client.open
        self.expect(count == 0, f"{when}: {count} commands were never acknowledged")

    def judge(self, lost):
        """Who lost these; what a broker lost that is known for it is sent again. Returns what stays lost."""
        agents = sorted({self.operator.commands[each][0].split("/")[2] for each in lost})
        # What is delivered now says that the subscription is whole.
        later = [f"p{len(self.operator.sent)}-{agent}" for agent in agents]
        for agent, identifier in zip(agents, later):
            self.operator.send(agent, identifier, "append", identifier)
        self.operator.settle(later)
        # What came while this was waited for is late, and not lost.
        came = [each for each in lost if each not in self.operator.unanswered]
        if came:
            say(f"{len(came)} replies came after {SILENCE} s of silence")
        lost = [each for each in lost + later if each in self.operator.unanswered]
        record = self.tap.evidence()
        verdicts = {each: record.verdict(each) for each in lost}
        for verdict, count in collections.Counter(verdicts.values()).items():
            say(f"{count} commands that {verdict}")
            first = next(each for each in lost if verdicts[each] == verdict)
            for line in record.told(first, self.began):
                say(f"  {line}")
        of_broker = [*evidence.SKIPPED.values(), *evidence.STUCK.values()]
        skipped = [each for each in lost if verdicts[each] in of_broker]
        if not skipped or not self.nodes.known_to_skip:
            return lost
        say(f"{self.nodes.title} is known for that: OperatingNATS.md")
        if any(verdicts[each] in evidence.STUCK.values() for each in skipped):
            self.stuck.update(skipped)
            return [each for each in lost if each not in self.stuck]
        say(f"{len(skipped)} are sent again with the same ids")
        self.skipped += len(skipped)
        for each in skipped:
            self.operator.send_again(each)
        self.operator.settle(skipped)
        return [each for each in lost if each in self.operator.unanswered]

    # Two of three.

    def lose_majority(self):
        """Gives the agents some work, and takes two nodes away while they do it."""
        steps = 10
        for agent in self.agents:
            for step in range(steps):
                self.operator.send(
                    agent.name, f"w{step}-{agent.name}", "sleep", 1_000, service="ClockService", lane="slow")
                entry = f"s{step}-{agent.name}"
                self.operator.send(agent.name, entry, "append", entry, lane="slow")
        first = [f"w0-{agent.name}" for agent in self.agents]
        cluster.wait_for("the first of the work", lambda: all(each in self.operator.ends for each in first))
        survivor = self.survivor()
        down = [node.name for node in self.nodes.nodes if node.name != survivor]
        before = {agent.name: len(agent.ledger) for agent in self.agents}
        for name in down:
            self.nodes[name].kill()
        say(f"killed {' and '.join(down)}; {survivor} is left")
        for agent in self.agents:
            self.operator.send(agent.name, f"n-{agent.name}", "append", f"n-{agent.name}")
        began = time.monotonic()
        for agent in self.agents:
            wanted = {f"s{step}-{agent.name}" for step in range(steps)}
            cluster.wait_for(
                f"{agent.name} to go on from its disk", lambda a=agent, w=wanted: w <= set(a.ledger))
            done = len(agent.ledger) - before[agent.name]
            self.expect(done > 0, f"{agent.name} did all of its work before the nodes went")
        say(f"all agents finished their work without a broker in {time.monotonic() - began:.0f} s")
        for agent in self.agents:
            link = cluster.wait_for(
                f"{agent.name} to say that it has no broker",
                lambda a=agent: next((x for x in [a.link()] if x.get("state") == "failed"), None), every=0.5)
            waiting = agent.health()["waiting"]
            say(f"{agent.name}: {link['detail']}; {waiting['outbox']} messages wait")
            self.expect(waiting["outbox"] > 0, f"{agent.name} has nothing that waits for a broker")
        for name in down:
            self.nodes.restart(name)
        began = time.monotonic()
        for agent in self.agents:
            cluster.wait_for(f"{agent.name} to be back", agent.is_online, every=0.5)
        say(f"all agents are back {time.monotonic() - began:.0f} s after the nodes were started")

    def survivor(self):
        """The node that the fewest agents are connected to, so that the others must look for it."""
        links = [agent.link().get("detail", "") for agent in self.agents]
        return min("ACB", key=lambda name: sum(f":{self.port(name)}" in each for each in links))

    # What was promised.

    def compare(self):
        operator = self.operator
        several = [each for each, ends in operator.ends.items() if len(set(ends)) > 1]
        self.expect(not several, f"{len(several)} commands have more than one end: {several[:5]}")
        bad = [ends[0] for ends in operator.ends.values() if json.loads(ends[0])["status"] != "ok"]
        self.expect(not bad, f"{len(bad)} commands did not succeed: {bad[:3]}")
        lines = collections.Counter(line for agent in self.agents for line in agent.ledger)
        twice = [line for line, count in lines.items() if count > 1]
        self.expect(not twice, f"{len(twice)} commands ran twice: {twice[:5]}")
        wanted = {each for each in operator.sent if not each.startswith("w")}
        missing = wanted - lines.keys() - self.stuck
        self.expect(not missing, f"{len(missing)} commands did not run: {sorted(missing)[:5]}")
        self.expect(not lines.keys() - wanted, "the ledgers hold what nobody sent")
        conflicts = operator.failures["CLIENT_ID_CONFLICT"]
        self.expect(conflicts == 0, f"{conflicts} reports of CLIENT_ID_CONFLICT")
        unknown = operator.ends.keys() - operator.sent.keys()
        self.expect(not unknown, f"{len(unknown)} replies to what was never sent: {sorted(unknown)[:5]}")
        copies = sum(len(ends) - 1 for ends in operator.ends.values())
        known = operator.ended_at.keys() & operator.sent.keys()
        waits = sorted(operator.ended_at[each] - operator.sent[each] for each in known)
        say(f"{sum(lines.values())} ran once, {copies} replies came twice, {len(operator.client.connections)} "
            f"connections of the operator; a reply took {waits[len(waits) // 2] * 1000:.0f} ms (median), "
            f"{waits[len(waits) * 99 // 100]:.1f} s (99 %), {waits[-1]:.1f} s (longest)")
        say("failure reports: " + (", ".join(f"{count} {name}" for name, count in operator.failures.items())
                                   or "none"))

    def end(self):
        for agent in self.agents:
            agent.kill()
        if self.tap:
            self.tap.end()


def interrupted(number, _):
    # What follows is only to clean up.
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise SystemExit(128 + number)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("engine", choices=cluster.ENGINES)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--short", action="store_true")
    parser.add_argument("--rollout", action="store_true")
    parser.add_argument("--agents", type=int, default=1_000)
    parser.add_argument("--real", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--program", default=str(TOP / ".build-scripts/bin/waypost"))
    options = parser.parse_args()
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, interrupted)
    nodes = cluster.ENGINES[options.engine]()
    check = None
    if options.rollout:
        check = rollout.Check(nodes, options.agents, options.real, options.rounds, options.program)
    elif options.check:
        check = Check(nodes, options.short, options.program)
    try:
        if check:
            passed = check.run()
            say("passed" if passed else f"{len(check.problems)} problems")
            return 0 if passed else 1
        nodes.start()
        for node in nodes.nodes:
            print(f"{node.name} {node.url}", flush=True)
        say("Ctrl-C ends the cluster and removes its data")
        while True:
            signal.pause()
    finally:
        if check:
            check.end()
        nodes.end()


if __name__ == "__main__":
    sys.exit(main())
