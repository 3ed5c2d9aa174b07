"""The console's page in a real browser."""

import json
import re
import tempfile
import time
import unittest

from harness import LIMIT, TOKEN, Broker, Console, Fleet, browser, publish, scheme, wait_for, with_agent
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

PAGES = ["fleet", "maps", "where", "log", "failures", "commands", "console"]


class PageTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.broker = Broker(cls.folder.name)
        cls.fleet = Fleet(cls.broker, 300, "--seed", "1", "--log-rate", "20", "--failure-rate", "60")
        cls.console = Console(cls.broker, "--allow-commands")
        wait_for("300 agents", lambda: cls.console.get("/api/fleet")["total"] == 300)
        cls.driver = browser()

    @classmethod
    def tearDownClass(cls):
        cls.driver.quit()
        for part in (cls.console, cls.fleet, cls.broker):
            part.stop()
        cls.folder.cleanup()

    def setUp(self):
        self.size(1280, 900)
        self.go("#/fleet")

    def tearDown(self):
        faults = [
            entry for entry in self.driver.get_log("browser")
            if entry["level"] == "SEVERE" and "401" not in entry["message"]
        ]
        self.assertEqual(faults, [], "the browser reports an error, or a breach of the content security policy")

    def size(self, width, height):
        self.driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False})

    def go(self, view, console=None):
        """Opens a view in a page that is new."""
        console = console or self.console
        self.driver.get("about:blank")
        join = "&" if "?" in view else "?"
        self.driver.get(f"{console.base}/{view}{join}token={TOKEN}")
        wait_for("the page", lambda: self.find("main h1").text)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def text(self, selector="body"):
        return self.find(selector).text

    def js(self, code, *values):
        return self.driver.execute_script(code, *values)

    def rows(self):
        return self.all("virtual-list .list-body > .row")

    def press(self, *keys):
        self.find("body").send_keys(*keys)

    # The fleet

    def test_problems_stand_above_the_list_and_narrow_it(self):
        def found():
            texts = [(one, one.text) for one in self.all(".problem-card")]
            return [(one, int(count[1])) for one, text in texts if (count := re.search(r"(\d+) agents?", text))]

        problem, count = wait_for("a problem", found)[0]
        problem.click()
        wait_for("the list", lambda: f"{count} of 300" in self.text(".filters") or count == 300)
        self.assertIn("problem=", self.js("return location.hash"))

    def test_the_view_is_in_the_address_and_comes_back(self):
        wait_for("rows", self.rows)
        search = self.find("[data-search]")
        search.send_keys("kiosk-12")
        wait_for("the filter", lambda: "filter=kiosk-12" in self.js("return location.hash"))
        wait_for("fewer rows", lambda: 0 < len(self.rows()) < 20)
        names = [row.text for row in self.rows()]
        address = self.js("return location.hash")
        self.go(address)
        wait_for("the same rows", lambda: [row.text.split()[0] for row in self.rows()]
                 == [name.split()[0] for name in names])
        self.assertEqual(self.find("[data-search]").get_attribute("value"), "kiosk-12")
        self.assertNotIn("token", self.js("return location.href"))

    def test_only_what_is_seen_is_in_the_document(self):
        wait_for("rows", self.rows)
        for _ in range(5):
            self.js("const list = document.querySelector('virtual-list'); list.scrollTop += 2000")
            wait_for("drawn rows", lambda: not self.all("virtual-list .missing"))
            self.assertLessEqual(len(self.rows()), 120)

    def test_keys_move_search_and_open(self):
        wait_for("rows", self.rows)
        self.press("j")
        self.press("j")
        self.press("k")
        chosen = wait_for("a choice", lambda: self.all("virtual-list [aria-selected=true]"))
        name = chosen[0].find_element(By.CSS_SELECTOR, ".agent").text
        # The list is in another order before it is drawn again.
        self.js("const source = document.querySelector('virtual-list').config.source;"
                "const get = source.get.bind(source); source.get = index => get(source.count - 1 - index)")
        self.press(Keys.ENTER)
        wait_for("the agent", lambda: f"agent/{name}" in self.js("return location.hash"))
        self.go("#/fleet")
        self.press("/")
        self.assertEqual(self.js("return document.activeElement.type"), "search")
        self.js("document.activeElement.blur()")
        self.press("?")
        wait_for("the help", lambda: self.all("dialog[open]"))
        self.find("dialog[open]").send_keys(Keys.ESCAPE)
        wait_for("no dialog", lambda: not self.all("dialog[open]"))

    def test_each_time_says_as_of_when(self):
        wait_for("rows", self.rows)
        self.assertRegex(self.text("main header"), r"as of")
        times = self.all("virtual-list time")
        self.assertTrue(times and all(one.get_attribute("title") or one.get_attribute("datetime") for one in times))

    # One agent

    def test_an_agent_has_its_health_routes_and_log(self):
        wait_for("rows", self.rows)
        name = self.console.get("/api/fleet?state=healthy")["rows"][0]["agent"]
        for tab, word in (("health", "subscriptions"), ("routes", "CalculatorService"), ("log", "Message")):
            self.go(f"#/agent/{name}?tab={tab}")
            wait_for("the agent", lambda: name in self.text("main h1"))
            wait_for(f"its {tab}", lambda: word in self.text("main"))

    def test_a_log_asks_its_agent_for_what_was_before(self):
        with_agent(self, self.broker, self.console, "before-2")
        wait_for("its lines", lambda: self.console.get("/api/log?agent=before-2")["lines"])
        self.go("#/agent/before-2?tab=log")
        ask = wait_for("the offer", lambda: [
            one for one in self.all("log-view button") if one.text == "Ask for older lines"])
        ask[0].click()
        wait_for("the answer", lambda: "before-2 has nothing older" in self.text("log-view"))
        self.assertFalse([one for one in self.all("log-view button") if one.text == "Ask for older lines"])

    def test_an_agent_says_what_became_of_the_document_of_its_groups(self):
        with_agent(self, self.broker, self.console, "joins-1")
        self.go("#/agent/joins-1")
        refusal = "Refused the newest document of its groups: "
        for name, text in (("hall", "groups rev 1: added @hall"), ("cellar", refusal)):
            document = {"type": "groups", "rev": 1, "add": [name]}
            publish(self.broker, "waypost/v1/joins-1/groups", document, retain=True)
            wait_for(text, lambda text=text: text in self.text("main"))

    def test_an_agent_that_does_not_exist_has_neighbours(self):
        self.go("#/agent/kiosk-1234567")
        wait_for("a suggestion", lambda: "kiosk-" in self.text("main"))

    # The log

    def test_the_log_follows_pauses_and_filters(self):
        self.go("#/log")
        wait_for("lines", lambda: len(self.rows()) > 5)
        self.press(" ")
        wait_for("the pause", lambda: "paused" in self.text("main").lower() or "go on" in self.text("main").lower()
                 or "new" in self.text("main").lower())
        query = self.find("[data-search]")
        query.send_keys("level:E")
        wait_for("the query", lambda: "level" in self.js("return location.hash"))
        wait_for("errors only", lambda: self.rows() and all(
            row.find_element(By.CSS_SELECTOR, ".level").text in ("E", "F", "") for row in self.rows()[:10]))

    def test_a_wrong_query_is_said_where_it_was_typed(self):
        self.go("#/log")
        self.find("[data-search]").send_keys("levl:E")
        wait_for("the fault", lambda: "levl" in self.text("main") and "level" in self.text("main"))

    def test_a_script_in_a_line_stays_text(self):
        self.go("#/log?q=tag:Attack")
        script = "<script>window.attacked=1</script><img src=x onerror='window.attacked=2'>"
        event = {"t": int(time.time() * 1000), "l": "W", "tag": "Attack", "boot": "B", "seq": 1, "pid": 1,
                 "tid": 1, "msg": script, "type": 0, "url": "javascript:window.attacked=3"}
        publish(self.broker, "waypost/v1/attacker-1/log/w", json.dumps(event))
        wait_for("the line", lambda: script in self.text("main"))
        rows = self.rows()
        rows[-1].click()
        self.assertIsNone(self.js("return window.attacked ?? null"))
        self.assertEqual(self.js("return document.querySelectorAll('main script, main img[src=x]').length"), 0)
        self.assertEqual(self.js("return document.querySelectorAll('main a[href^=\"javascript:\"]').length"), 0)

    # Where, maps, failures, commands

    def test_where_a_url_leads(self):
        self.go("#/where?url=scheme%3A%2F%2Frouter%2Fdemo")
        wait_for("the answer", lambda: "scheme://router/demo" in self.text("main") and "waypost resolve" in self.text("main"))

    def test_failures_are_grouped(self):
        wait_for("failures", lambda: self.console.get("/api/failures")["groups"])
        self.go("#/failures")
        wait_for("a group", lambda: "NO_ROUTE" in self.text("main"))

    def test_a_draft_shows_its_difference_before_it_is_sent(self):
        name = self.console.get("/api/fleet?state=healthy")["rows"][1]["agent"]
        self.go(f"#/maps?target={name}")
        wait_for("the page", lambda: self.all("main textarea"))
        area = self.find("main textarea")
        area.send_keys('[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]')
        for button in self.all("main button"):
            if "compare" in button.text.lower() or "diff" in button.text.lower() or "what would" in button.text.lower():
                button.click()
                break
        wait_for("the difference", lambda: "scheme://router/demo → scheme://router/demo1" in self.text("main")
                 or "scheme://router/demo1" in self.text("main").replace(area.get_attribute("value"), ""))

    # Looks

    def test_all_pages_fit_a_narrow_screen(self):
        self.size(360, 740)
        for page in PAGES:
            self.go(f"#/{page}")
            wait_for("the status", lambda: "agents" in self.text("status-bar"))
            width = self.js("return document.documentElement.scrollWidth")
            self.assertLessEqual(width, 360, page)

    def test_dark_and_light_differ(self):
        colours = []
        for dark in (False, True):
            scheme(self.driver, dark)
            colours.append(self.js("return getComputedStyle(document.body).backgroundColor"))
        scheme(self.driver, False)
        self.assertNotEqual(*colours)

    def test_every_control_has_a_name(self):
        for page in PAGES + ["agent/kiosk-1"]:
            self.go(f"#/{page}")
            wait_for("the status", lambda: "agents" in self.text("status-bar"))
            nodes = self.driver.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
            for node in nodes:
                role = node.get("role", {}).get("value")
                if node.get("ignored") or role not in (
                    "button", "link", "textbox", "searchbox", "combobox", "checkbox", "grid", "tab", "dialog",
                ):
                    continue
                self.assertTrue(node.get("name", {}).get("value", "").strip(), f"{page}: a {role} without a name")

    # Connections

    def test_the_page_says_when_the_console_is_gone_and_comes_back(self):
        with tempfile.TemporaryDirectory() as folder:
            broker = Broker(folder)
            console = Console(broker)
            try:
                self.go("#/fleet", console)
                wait_for("the status", lambda: "connected" in self.text("status-bar").lower()
                         or broker.url in self.text("status-bar"))
                port = console.port
                console.stop()
                wait_for("the loss", lambda: self.all("status-bar.is-gone, status-bar [class*=bad]")
                         or "not answer" in self.text("status-bar").lower()
                         or "gone" in self.text("status-bar").lower()
                         or "again in" in self.text("status-bar").lower(), limit=LIMIT)
                console.start(port)
                # Its secret is that of the process before: the page asks for the token.
                wait_for("the sign-in", lambda: self.all("dialog[open] input"))
                self.find("dialog[open] input").send_keys(TOKEN)
                self.find("dialog[open] button.primary").click()
                wait_for("no dialog", lambda: not self.all("dialog[open]"))
            finally:
                console.stop()
                broker.stop()
                self.driver.get("about:blank")
                self.driver.get_log("browser")

    def test_the_page_says_when_the_broker_is_gone(self):
        with tempfile.TemporaryDirectory() as folder:
            broker = Broker(folder)
            fleet = Fleet(broker, 3, "--seed", "3")
            console = Console(broker)
            try:
                wait_for("agents", lambda: console.get("/api/fleet")["total"] == 3)
                self.go("#/fleet", console)
                wait_for("rows", lambda: len(self.rows()) == 3)
                broker.stop()
                wait_for("the loss", lambda: "broker" in self.text("status-bar").lower()
                         and ("no connection" in self.text("status-bar").lower()
                              or "not connected" in self.text("status-bar").lower()
                              or "lost" in self.text("status-bar").lower()))
                self.assertEqual(len(self.rows()), 3)
            finally:
                # A page would ask for a console that is gone, and say so.
                self.driver.get("about:blank")
                console.stop()
                fleet.stop()
                broker.stop()

    def test_the_browser_keeps_a_secret_for_this_console_alone_and_no_cookie(self):
        wait_for("rows", self.rows)
        self.assertEqual(self.driver.get_cookies(), [])
        secret = self.js("return localStorage.getItem('session')")
        self.assertNotIn(TOKEN, secret)
        # A new tab is signed in without the token.
        self.driver.get("about:blank")
        self.driver.get(f"{self.console.base}/#/failures")
        wait_for("the page", lambda: self.find("main h1").text == "Failures")
        self.assertEqual(self.all("dialog[open]"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
