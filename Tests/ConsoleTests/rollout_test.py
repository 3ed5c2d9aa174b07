"""A roll-out in the console: followed, paused and taken back in a browser, with a real controller and simulated agents."""

import json
import pathlib
import subprocess
import tempfile
import unittest

from harness import LIMIT, PROGRAMS, TOKEN, Broker, Console, Fleet, browser, wait_for
from selenium.webdriver.common.by import By


def write_map(folder, revision, target):
    path = pathlib.Path(folder) / f"{revision}.json"
    path.write_text(json.dumps({
        "id": f"m-{revision}", "type": "map", "rev": revision, "aud": "@lobby",
        "entries": [{"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": f"scheme://router/{target}"}],
    }))
    return str(path)


class RolloutTests(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.broker = Broker(self.folder.name)
        self.addCleanup(self.broker.stop)
        base = write_map(self.folder.name, 41, "demo1")
        self.next = write_map(self.folder.name, 42, "demo2")
        fleet = Fleet(
            self.broker, 40, "--groups", "lobby", "--problems", "0%", "--traffic", "60", "--log-rate", "0",
            "--failure-rate", "0", "--map-of", base, "--seed", "7")
        self.addCleanup(fleet.stop)
        self.console = Console(self.broker, "--allow-commands")
        self.addCleanup(self.console.stop)
        wait_for("40 agents", lambda: self.console.get("/api/fleet")["total"] == 40)
        sent = self.run_waypost("relocate", "--group", "lobby", "--file", base, "--yes", "--wait", "0")
        self.assertEqual(sent.returncode, 0, sent.stderr)
        self.driver = browser()
        self.addCleanup(self.driver.quit)

    def run_waypost(self, *words):
        return subprocess.run(
            [str(PROGRAMS / "waypost"), *words, "--broker", self.broker.url], capture_output=True, text=True,
            timeout=LIMIT)

    def start(self):
        controller = subprocess.Popen(
            [
                str(PROGRAMS / "waypost"), "rollout", "start", "--group", "lobby", "--file", self.next, "--id", "r-7",
                "--stages", "5,100%", "--dwell", "10m", "--as", "ops", "--broker", self.broker.url,
            ],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(controller.wait)
        self.addCleanup(controller.kill)
        return controller

    def rollout(self):
        found = self.console.get("/api/rollouts")["rollouts"]
        return found[0] if found else None

    def text(self):
        return self.driver.find_element(By.CSS_SELECTOR, "main").text

    def press(self, label, place="main"):
        button = wait_for(label, lambda: [
            one for one in self.driver.find_elements(By.CSS_SELECTOR, f"{place} button") if one.text == label])
        button[0].click()

    def confirm(self, label, why):
        """Fills the dialog that asks for a reason and for the group's name."""
        self.press(label)
        inputs = wait_for("the dialog", lambda: self.driver.find_elements(By.CSS_SELECTOR, "dialog[open] input"))
        inputs[0].send_keys(why)
        send = self.driver.find_elements(By.CSS_SELECTOR, "dialog[open] .dialog-foot button")[-1]
        self.assertFalse(send.is_enabled())
        inputs[1].send_keys("@lobby")
        wait_for("the button", send.is_enabled)
        send.click()
        wait_for("the answer", lambda: self.driver.find_element(By.CSS_SELECTOR, "dialog[open] .answer").text)
        self.press("Close", "dialog[open]")

    def test_a_rollout_is_followed_and_taken_back(self):
        self.driver.get(f"{self.console.base}/#/rollouts?token={TOKEN}")
        wait_for("nothing yet", lambda: "No map is being rolled out" in self.text())
        controller = self.start()
        wait_for("five agents", lambda: (self.rollout() or {}).get("onNext") == 5)
        wait_for("the page", lambda: "5 of 40 agents online have the candidate" in self.text())
        page = self.text()
        for words in ("@lobby", "running", "rev 41 → rev 42", "steered by ops", "100%", "candidate", "inconclusive"):
            self.assertIn(words, page)
        self.confirm("Take back…", "wrong prices")
        wait_for("the take-back", lambda: self.rollout()["state"] == "taken-back")
        wait_for("the page", lambda: "taken back" in self.text() and "wrong prices" in self.text())
        self.assertNotIn("Take back…", self.text())
        self.assertEqual(controller.wait(timeout=LIMIT), 3)
        history = self.run_waypost("rollout", "history", "--group", "lobby")
        self.assertEqual(history.returncode, 0, history.stdout + history.stderr)
        self.assertIn("wrong prices", history.stdout)
        self.assertEqual([one for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
                          and "401" not in one["message"]], [])

    def test_what_may_not_be_done_is_refused(self):
        self.start()
        wait_for("five agents", lambda: (self.rollout() or {}).get("onNext") == 5)
        for path, body, wanted in (
            ("lobby/take-back", {}, 403), ("lobby/take-back", {"confirm": "lobby"}, 403),
            ("lobby/explode", {"confirm": "@lobby"}, 404), ("a%20b/pause", {"confirm": "@a b"}, 404),
        ):
            status, answer = self.console.request(f"/api/rollouts/{path}", body)
            self.assertEqual(status, wanted, answer)
        status, answer = self.console.request("/api/rollouts/lobby/pause?dry=1", {"why": "it's late"})
        self.assertEqual(status, 200)
        self.assertIn("waypost rollout pause --group lobby --why 'it'\\''s late'", answer["command"])
        reading = Console(self.broker)
        self.addCleanup(reading.stop)
        status, _ = reading.request("/api/rollouts/lobby/pause", {"confirm": "@lobby"})
        self.assertEqual(status, 403)
        self.assertEqual(self.rollout()["state"], "running")
        status, answer = self.console.request("/api/rollouts/lobby/pause", {"confirm": "@lobby", "why": "late"})
        self.assertEqual((status, self.rollout()["state"]), (200, "paused"), answer)


if __name__ == "__main__":
    unittest.main()
