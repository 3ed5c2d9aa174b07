"""Agents as processes."""

import json
import os
import pathlib
import signal
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
ROOT = "waypost/v1"


def say(text):
    print(f"==> {text}", file=sys.stderr, flush=True)


class Agent:
    """`waypost agent` as a process, with the demo's ledger; `words` are options, each with its value, and
    `below` the program that starts it, with its own."""

    def __init__(self, name, urls, folder, program, *words, below=()):
        self.name, self.program = name, program
        self.state = folder / name
        self.log = folder / f"{name}.log"
        brokers = [word for url in urls for word in ("--broker", url)]
        options = {"--keepalive": "10", "--intake-rate": "0", "--sender-share": "100", "--dedupe-keys": "1000000",
                   "--handler-deadline": "60"} | dict(zip(words[::2], words[1::2]))
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [
                    *below, program, "agent", "--agent", name, "--demo", "--state", str(self.state), *brokers,
                    *(word for option in options.items() for word in option),
                ], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)

    @property
    def ledger(self):
        try:
            return (self.state / "ledger.txt").read_text().split("\n")[:-1]
        except FileNotFoundError:
            return []

    def health(self):
        """What the agent says of itself, without a broker; None before it has begun."""
        result = subprocess.run(
            [self.program, "health", "--local", "--state", str(self.state), "--json"], capture_output=True,
            text=True, timeout=60, check=False)
        return json.loads(result.stdout) if result.stdout.startswith("{") else None

    def link(self):
        """The check `link` of its health."""
        health = self.health() or {}
        return next((each for each in health.get("checks", []) if each["name"] == "link"), {})

    def is_online(self):
        return self.link().get("state") == "ok"

    def terminate(self):
        """Ends it in order; its exit status."""
        self.process.terminate()
        try:
            return self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def kill(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
