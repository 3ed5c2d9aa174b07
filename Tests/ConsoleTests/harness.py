"""A broker, a simulated fleet, the console and a browser: what the tests, the pictures and the benchmark run on."""

import json
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

TOP = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(os.environ.get("WAYPOST_CONSOLE_BUILD", TOP / ".build-scripts/bin"))
LIMIT = 60
TOKEN = "token-of-the-tests"


def wait_for(what, check, limit=LIMIT):
    """The first result of `check` that is true; generous, for machines that have other things to do."""
    end = time.monotonic() + limit
    while True:
        try:
            result = check()
        except Exception as error:  # what is not there yet
            result, last = None, error
        else:
            last = result
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(f"waited {limit} s for {what}; last: {last!r}")
        time.sleep(0.05)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


class Broker:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "broker"
        config = self.folder / "mosquitto.conf"
        lines = [
            f"listener 0 {self.socket}", "allow_anonymous true", "persistence false",
            "max_queued_messages 0", "max_inflight_messages 0", "log_type error",
        ]
        if os.getuid() == 0:
            lines.append("user root")
        config.write_text("\n".join(lines) + "\n")
        self.process = None
        self.start()

    @property
    def url(self):
        return f"unix://{self.socket}"

    def start(self):
        self.socket.unlink(missing_ok=True)
        path = os.environ["PATH"] + ":/usr/sbin:/sbin"
        self.process = subprocess.Popen(
            ["mosquitto", "-c", str(self.folder / "mosquitto.conf")], env={**os.environ, "PATH": path})
        wait_for("the broker's socket", self.socket.exists)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


class Console:
    """The console as a process, asked over HTTP."""

    def __init__(self, broker, *options, port=0, environment=None):
        self.broker = broker
        self.options = options
        self.process = None
        self.log = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        self.start(port, environment)

    def start(self, port=0, environment=None):
        self.process = subprocess.Popen(
            [
                str(PROGRAMS / "waypost-console"), "--listen", f"127.0.0.1:{port}", "--as", "console",
                "--broker", self.broker.url, *self.options,
            ],
            stdout=subprocess.PIPE, stderr=self.log, text=True,
            env={**os.environ, "WAYPOST_CONSOLE_TOKEN": TOKEN, **(environment or {})})
        line = self.process.stdout.readline().strip()
        if "--behind-proxy" in self.options:
            # What is printed is the address of the proxy.
            self.port, self.token, self.printed = port, TOKEN, line
            return
        # A token that was given is not printed.
        match = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/(?:#token=(\S+))?", line)
        if not match:
            raise AssertionError(f"the console printed {line!r}; {pathlib.Path(self.log.name).read_text()}")
        self.port, self.token, self.printed = int(match[1]), match[2] or TOKEN, line

    @property
    def base(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=LIMIT)
            self.process.stdout.close()
            self.process = None

    def request(self, path, body=None, headers=None, method=None):
        """The status and the JSON of an answer."""
        data = None if body is None else json.dumps(body).encode()
        given = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        given.update(headers or {})
        given = {name: value for name, value in given.items() if value is not None}
        request = urllib.request.Request(self.base + path, data=data, headers=given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        try:
            return status, json.loads(text) if text else None
        except json.JSONDecodeError:
            return status, text

    def get(self, path):
        status, answer = self.request(path)
        assert status == 200, (status, answer)
        return answer

    def usage(self):
        """Resident bytes and seconds of processor time."""
        statm = pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()
        stat = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = os.sysconf("SC_CLK_TCK")
        return int(statm[1]) * os.sysconf("SC_PAGESIZE"), (int(stat[11]) + int(stat[12])) / ticks


class Fleet:
    """`waypost simulate` as a process."""

    def __init__(self, broker, agents, *options):
        self.log = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        self.process = subprocess.Popen(
            [
                str(PROGRAMS / "waypost"), "simulate", "--agents", str(agents), "--broker", broker.url,
                *options,
            ],
            stdout=self.log, stderr=self.log)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=LIMIT)
            self.process = None


class Agent:
    """`waypost agent` as a process."""

    def __init__(self, broker, name):
        self.state = tempfile.TemporaryDirectory()
        self.log = tempfile.NamedTemporaryFile(mode="w+", suffix=".log")
        self.process = subprocess.Popen(
            [
                str(PROGRAMS / "waypost"), "agent", "--agent", name, "--demo", "--broker", broker.url,
                "--state", self.state.name,
            ],
            stdout=self.log, stderr=self.log)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=LIMIT)
            self.process = None
            self.state.cleanup()


def with_agent(test, broker, console, name):
    """A real agent for one test, which leaves the fleet as it was."""
    total = console.get("/api/fleet")["total"]
    agent = Agent(broker, name)

    def leave():
        agent.stop()
        status, answer = console.request(f"/api/agents/{name}/forget", {"confirm": name})
        assert status == 200, answer
        wait_for("the fleet without it", lambda: console.get("/api/fleet")["total"] == total)

    test.addCleanup(leave)
    wait_for("the agent", lambda: console.get(f"/api/agents/{name}")["found"])


def browser(width=1280, height=900, dark=False):
    options = webdriver.ChromeOptions()
    for word in (
        "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
        "--enable-precise-memory-info", f"--window-size={width},{height}",
    ):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    # A window has a least width, and 360 px is below it.
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
    scheme(driver, dark)
    return driver


def scheme(driver, dark):
    driver.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})


def publish(broker, topic, payload, retain=False):
    words = ["mosquitto_pub", "--unix", str(broker.socket), "-t", topic, "-q", "1", "-s"]
    text = payload if isinstance(payload, str) else json.dumps(payload)
    subprocess.run(words + (["-r"] if retain else []), input=text.encode(), check=True, timeout=LIMIT)
