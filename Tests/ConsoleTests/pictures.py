"""Pictures of each page of the console, to be looked at: light, dark, narrow, with many, few and no agents, and without
the broker. Usage: scripts/console --pictures [FOLDER]; --pictures --readme makes those of the README."""

import pathlib
import sys
import tempfile
import time

from harness import TOKEN, TOP, Broker, Console, Fleet, browser, scheme, wait_for
from selenium.webdriver.common.by import By

PAGES = ["fleet", "maps", "rollouts", "where", "log", "failures", "commands", "console"]


class Camera:
    def __init__(self, folder, console):
        self.folder, self.console = folder, console
        self.driver = browser()

    def take(self, name, view, width=1280, height=860, dark=False, settle=1.5):
        driver = self.driver
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})
        scheme(driver, dark)
        driver.get("about:blank")
        driver.get(f"{self.console.base}/{view}{'&' if '?' in view else '?'}token={TOKEN}")
        wait_for("the page", lambda: driver.find_element(By.CSS_SELECTOR, "main h1").text)
        time.sleep(settle)
        driver.save_screenshot(str(self.folder / f"{name}.png"))
        print(f"{name}.png")

    def close(self):
        self.driver.quit()


def with_fleet(folder, agents, each):
    with tempfile.TemporaryDirectory() as work:
        broker = Broker(work)
        fleet = Fleet(
            broker, agents, "--seed", "7", "--groups", "lobby,shop", "--failure-rate", str(max(30, agents // 40)),
            "--log-rate", "10") if agents else None
        console = Console(broker, "--allow-commands")
        camera = Camera(folder, console)
        try:
            wait_for(f"{agents} agents", lambda: console.get("/api/fleet")["total"] == agents, 120)
            each(camera, console, broker)
        finally:
            camera.close()
            console.stop()
            if fleet:
                fleet.stop()
            broker.stop()


def main():
    words = [word for word in sys.argv[1:] if word != "--readme"]
    folder = pathlib.Path(words[0] if words else ".build-scripts/pictures")
    folder.mkdir(parents=True, exist_ok=True)

    def many(camera, console, broker):
        rows = console.get("/api/fleet")["rows"]
        trouble = rows[0]["agent"]
        healthy = console.get("/api/fleet?state=healthy")["rows"][0]["agent"]
        console.request("/api/maps", {"target": healthy, "document": [
            {"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"}]})
        console.request(f"/api/agents/{healthy}/open", {"url": "scheme://router/demo?id=2"})
        console.request(f"/api/agents/{healthy}/open", {"url": "scheme://router/gone"})
        wait_for("failures", lambda: console.get("/api/failures")["groups"])
        time.sleep(20)
        views = {page: f"#/{page}" for page in PAGES}
        views["where"] = "#/where?url=scheme%3A%2F%2Frouter%2Fdemo"
        views["maps"] = f"#/maps?target={healthy}"
        views["agent"] = f"#/agent/{healthy}"
        views["agent-trouble"] = f"#/agent/{trouble}"
        for tab in ("log", "routes", "maps"):
            views[f"agent-{tab}"] = f"#/agent/{healthy}?tab={tab}"
        for name, view in views.items():
            camera.take(f"10000-{name}-light", view)
            camera.take(f"10000-{name}-dark", view, dark=True)
            camera.take(f"10000-{name}-narrow", view, width=360, height=740)

    def few(camera, console, broker):
        for page in ("fleet", "log", "maps"):
            camera.take(f"3-{page}", f"#/{page}")
        broker.stop()
        wait_for("the loss", lambda: not console.get("/api/status")["connected"])
        for page in PAGES:
            camera.take(f"no-broker-{page}", f"#/{page}")

    def none(camera, console, broker):
        for page in PAGES:
            camera.take(f"0-{page}", f"#/{page}")

    def readme(camera, console, broker):
        name = console.get("/api/fleet?state=healthy&group=lobby")["rows"][0]["agent"]
        console.request("/api/maps", {"target": name, "document": [
            {"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"},
            {"routerType": 3, "path": "scheme://router/printer"}]})
        wait_for("failures", lambda: console.get("/api/failures")["groups"])
        time.sleep(70)
        camera.take("console-fleet", "#/fleet", width=1080, height=680)
        camera.take("console-maps", f"#/maps?target={name}", width=1080, height=680)

    if "--readme" in sys.argv:
        return with_fleet(TOP / "Sources/WaypostAgent/WaypostAgent.docc/Resources", 400, readme)
    with_fleet(folder, 10_000, many)
    with_fleet(folder, 3, few)
    with_fleet(folder, 0, none)


if __name__ == "__main__":
    main()
