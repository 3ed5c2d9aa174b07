"""The console's server, asked and attacked over HTTP, without a browser."""

import base64
import http.client
import io
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import tarfile
import tempfile
import threading
import time
import unittest

from harness import (
    LIMIT, PROGRAMS, TOKEN, TOP, Broker, Console, Fleet, free_port, publish, wait_for, with_agent)

# What a number can be at most and at least, and what not every reader of JSON reads exactly.
EXTREMES = [0, 1, -1, 2**53, -2**53, 2**63 - 1, -2**63, 2**62, -2**62]
# An engine that tries one way after the other never comes to the end of these.
EXPRESSIONS = ["(a+)+$", "(.*)*x", "(a|aa)+$", "(a|b|ab)*c", "(.*)(.*)(.*)(.*)x", "(a?){100}(a|.){100}(a*)*b"]


class ServerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.broker = Broker(cls.folder.name)
        cls.fleet = Fleet(cls.broker, 30, "--seed", "1", "--log-rate", "20")
        cls.console = Console(cls.broker, "--allow-commands")
        cls.reading = Console(cls.broker)
        for console in (cls.console, cls.reading):
            wait_for("30 agents", lambda: console.get("/api/fleet")["total"] == 30)

    @classmethod
    def tearDownClass(cls):
        for part in (cls.console, cls.reading, cls.fleet, cls.broker):
            part.stop()
        cls.folder.cleanup()

    def healthy(self, number=0):
        rows = self.console.get("/api/fleet?state=healthy&sort=name")["rows"]
        return rows[number]["agent"]

    # What it answers

    def test_the_fleet_shows_problems_first_and_together(self):
        fleet = self.console.get("/api/fleet")
        self.assertEqual(fleet["total"], 30)
        self.assertEqual(sum(fleet["counts"].values()), 30)
        self.assertTrue(fleet["problems"])
        self.assertEqual(fleet["rows"][0]["condition"] == "healthy", False)
        self.assertTrue(all(fleet["asOf"] for _ in fleet["rows"]))

    def test_one_agent_with_health_routes_maps_and_a_url(self):
        name = self.healthy()
        agent = self.console.get(f"/api/agents/{name}")
        self.assertTrue(agent["found"])
        self.assertTrue(agent["health"]["checks"])
        routes = self.console.get(f"/api/agents/{name}/routes")
        self.assertTrue(routes["routes"])
        self.assertIn("layers", self.console.get(f"/api/agents/{name}/maps"))
        status, answer = self.console.request(
            "/api/resolve", {"url": "scheme://router/demo", "agents": [name]})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["results"][0]["route"], "scheme://router/demo")
        self.assertIn(f"waypost resolve scheme://router/demo --agent {name}", answer["command"])

    def test_all_that_is_known_of_an_agent_is_one_archive(self):
        with_agent(self, self.broker, self.console, "bundle-1")
        answer = self.reading.get("/api/agents/bundle-1/bundle")
        self.assertRegex(answer["file"], r"^waypost-bundle-1-\d{8}-\d{6}\.tar\.gz$")
        with tarfile.open(fileobj=io.BytesIO(base64.b64decode(answer["data"])), mode="r:gz") as archive:
            parts = json.load(archive.extractfile("waypost-bundle-1/index.json"))["parts"]
            health = json.load(archive.extractfile("waypost-bundle-1/agent/health.json"))
        self.assertEqual(health["agent"], "bundle-1")
        self.assertEqual([one["file"] for one in parts if "missing" in one], answer["missing"])

    def test_an_unknown_agent_has_names_that_are_near(self):
        agent = self.console.get(f"/api/agents/{self.healthy()}x")
        self.assertFalse(agent["found"])
        self.assertTrue(agent["nearest"])

    def test_a_map_is_compared_sent_and_taken_back(self):
        name = self.healthy(1)
        entry = {"routerType": 1, "orginPath": "scheme://router/demo", "targetPath": "scheme://router/demo1"}
        draft = {"target": name, "document": [entry]}
        status, diff = self.console.request("/api/maps/diff", draft)
        self.assertEqual(status, 200, diff)
        self.assertEqual(diff["diffs"][0]["added"][0]["text"], "scheme://router/demo → scheme://router/demo1")
        status, sent = self.console.request("/api/maps", draft)
        self.assertEqual(status, 200, sent)
        self.assertEqual(sent["answers"][0]["state"], "applied", sent)
        layers = self.console.get(f"/api/agents/{name}/maps")["layers"]
        self.assertTrue(any(layer["layer"] == "patch" for layer in layers))
        status, preview = self.console.request("/api/maps/undo", {"target": name})
        self.assertEqual(status, 200, preview)
        self.assertTrue(preview["origin"])
        self.assertTrue(self.console.get(f"/api/agents/{name}/maps")["layers"], "a preview changes nothing")
        status, undone = self.console.request("/api/maps/undo", {"target": name, "send": True})
        self.assertEqual((status, undone["answers"][0]["state"]), (200, "applied"), undone)
        layers = self.console.get(f"/api/agents/{name}/maps")["layers"]
        self.assertFalse(any(layer["entries"] for layer in layers))

    def test_a_map_for_a_group_needs_its_name(self):
        document = {"type": "map", "rev": 900, "entries": []}
        for confirm in (None, "", "lobby", "@all"):
            status, answer = self.console.request(
                "/api/maps", {"target": "@lobby", "document": document, "confirm": confirm})
            self.assertEqual(status, 403, answer)

    def test_commands_run_and_are_found_again(self):
        name = self.healthy()
        status, answer = self.console.request(
            f"/api/agents/{name}/open", {"url": "scheme://router/demo?id=2", "parameters": {"a": "it's"}})
        self.assertEqual(status, 200, answer)
        self.assertEqual(answer["reply"]["code"], 0)
        self.assertIn("'{\"a\":\"it'\\''s\"}'", answer["command"])
        commands = wait_for(
            "the command", lambda: [one for one in self.console.get("/api/commands")["commands"]
                                    if one["id"] == answer["id"] and one["ended"]])
        self.assertEqual(commands[0]["type"], "open")

    def test_a_command_for_later_says_when_it_begins(self):
        name = self.healthy()
        body = {"url": "scheme://router/demo?id=2", "in": 3600000, "window": "00:00-24:00"}
        status, answer = self.console.request(f"/api/agents/{name}/open", body)
        self.assertEqual((status, answer["reply"]["status"]), (200, "accepted"), answer)
        self.assertGreater(answer["reply"]["begins"], time.time() * 1000 + 3000000)
        self.assertIn("open --after 3600s --window 00:00-24:00 ", answer["command"])
        seen = self.console.get(f"/api/commands/{answer['id']}?agent={name}")["command"]
        self.assertEqual((seen["state"], seen["due"]), ("scheduled", answer["reply"]["begins"]))
        for wrong in ({"in": 5}, {"window": "at night"}):
            status, answer = self.console.request(f"/api/agents/{name}/open", {**body, **wrong})
            self.assertEqual(status, 400, answer)

    def test_the_level_of_a_log_is_changed_for_a_time(self):
        name = self.healthy()
        status, answer = self.console.request(
            f"/api/agents/{name}/level", {"level": "D", "for": 60000})
        self.assertEqual((status, answer["reply"]["code"]), (200, 0))
        log = wait_for("the level", lambda: self.console.get(f"/api/agents/{name}")["log"])
        self.assertEqual(log["level"].upper(), "D")
        self.assertGreater(log["until"], time.time() * 1000)

    def test_an_agent_is_asked_for_the_lines_from_before_the_console(self):
        with_agent(self, self.broker, self.console, "before-1")
        first = wait_for("its lines", lambda: self.console.get("/api/log?agent=before-1")["lines"])
        self.assertEqual(self.console.get("/api/agents/before-1/replay")["lines"], [])
        later = Console(self.broker, "--allow-commands")
        self.addCleanup(later.stop)
        wait_for("the agent", lambda: later.get("/api/agents/before-1")["found"])
        later.request("/api/agents/before-1/open", {"url": "scheme://router/no-such-page"})
        kept = wait_for("a line of its own", lambda: later.get("/api/log?agent=before-1")["lines"])
        older = later.get("/api/agents/before-1/replay")
        self.assertEqual([one["message"] for one in older["lines"]][:len(first)], [one["message"] for one in first])
        self.assertTrue(all(one["n"] < 0 and one["t"] <= kept[0]["t"] for one in older["lines"]))
        self.assertFalse(older["more"])
        found = later.get("/api/agents/before-1/replay?log=message:nothing-says-this")
        self.assertEqual(found["lines"], [])
        for path, wanted in (("/api/agents/before-1/replay?log=levl:W", 400), ("/api/agents/a%20b/replay", 404)):
            self.assertEqual(later.request(path)[0], wanted)

    def test_reading_only_is_reading_only(self):
        name = self.healthy()
        for path in (f"/api/agents/{name}/open", f"/api/agents/{name}/forget", "/api/maps", "/api/maps/undo"):
            status, answer = self.reading.request(path, {"url": "scheme://router/demo", "target": name})
            self.assertEqual(status, 403, answer)
        self.assertFalse(self.reading.get("/api/status")["commands"])

    def test_questions_that_make_no_sense_are_named(self):
        for path, word in (
            ("/api/fleet?sort=mood", "mood"), ("/api/log?log=levl:W", "levl"),
            ("/api/log?limit=100000", "limit"), ("/api/commands/x", "agent"),
        ):
            status, answer = self.console.request(path)
            self.assertEqual(status, 400)
            self.assertIn(word, answer["error"]["message"])
        # A browser writes a space as a plus.
        self.assertEqual(self.console.get("/api/log?log=level:W+-tag:x%2By&limit=1")["lines"][:2],
                         self.console.get("/api/log?log=level:W%20-tag:x%2By&limit=1")["lines"][:2])
        for body in ("[", "null", "5"):
            status, _ = self.console.request("/api/resolve", body)
            self.assertEqual(status, 400)

    # The stream

    def stream(self, console, path, headers=()):
        connection = socket.create_connection(("127.0.0.1", console.port), timeout=LIMIT)
        lines = [
            f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{console.port}",
            f"Authorization: Bearer {TOKEN}", *headers, "", "",
        ]
        connection.sendall("\r\n".join(lines).encode())
        return connection

    def events(self, connection, wanted, number=1):
        found, text = [], ""
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            text += connection.recv(65536).decode(errors="replace")
            *blocks, text = text.split("\n\n")
            for block in blocks:
                fields = [line.split(": ", 1) for line in block.splitlines() if ": " in line]
                fields = {key: value for key, value in fields if key in ("id", "event", "data")}
                if fields.get("event") == wanted:
                    found.append((fields.get("id"), json.loads(fields["data"])))
            if len(found) >= number:
                return found
        raise AssertionError(f"no {number} events {wanted}")

    def test_lines_come_in_order_and_go_on_behind_the_last_one(self):
        with self.stream(self.console, "/api/events?follow=1&log=") as one:
            seen = self.events(one, "log", 5)
        numbers = [line["n"] for _, frame in seen for line in frame["lines"]]
        self.assertEqual(numbers, list(range(numbers[0], numbers[0] + len(numbers))))
        last = seen[-1][0]
        with self.stream(self.console, "/api/events?follow=1&log=", [f"Last-Event-ID: {last}"]) as two:
            _, frame = self.events(two, "log")[0]
        self.assertEqual(frame["lines"][0]["n"], int(last) + 1)

    def test_a_tab_that_does_not_read_costs_nothing_and_is_told_what_it_missed(self):
        slow = self.stream(self.console, "/api/events?follow=1&log=")
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        before, _ = self.console.usage()
        # More than fits into the buffers of the kernel, and more than a tab may be behind.
        event = {"l": "I", "tag": "Load", "boot": "B", "pid": 1, "tid": 1, "type": 0}
        for batch in range(400):
            lines = [
                json.dumps({**event, "t": 1, "seq": batch * 60 + one + 1, "msg": "x" * 400})
                for one in range(60)
            ]
            publish(self.broker, "waypost/v1/load-1/log/i", "\n".join(lines))
        wait_for("the load", lambda: self.console.get("/api/log?log=agent:load-1&limit=1")["lines"])
        after, _ = self.console.usage()
        self.assertLess(after - before, 64 << 20)
        slow.settimeout(LIMIT)
        # With the small one each few bytes would wait for an acknowledgement.
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        dropped = 0
        end = time.monotonic() + LIMIT
        while not dropped and time.monotonic() < end:
            for _, frame in self.events(slow, "log"):
                dropped += frame["dropped"]
        slow.close()
        self.assertGreater(dropped, 0)

    # Attacks

    def test_a_name_of_someone_else_that_leads_here_gets_nothing(self):
        for host in ("attacker.example", f"attacker.example:{self.console.port}", "127.0.0.1"):
            for path in ("/", "/api/fleet"):
                status, answer = self.console.request(path, headers={"Host": host})
                self.assertEqual(status, 403, answer)

    def test_another_page_can_not_post(self):
        status, answer = self.console.request("/api/session", {"token": TOKEN}, {"Authorization": None})
        self.assertEqual(status, 401, answer)
        for origin in ("http://attacker.example", "null", f"http://127.0.0.1:{self.console.port + 1}"):
            status, _ = self.console.request(
                f"/api/agents/{self.healthy()}/open", {"url": "scheme://router/demo"}, {"Origin": origin})
            self.assertEqual(status, 403)
        # What a form of another page can send.
        status, _ = self.console.request(
            f"/api/agents/{self.healthy()}/open", {"url": "scheme://router/demo"}, {"Content-Type": "text/plain"})
        self.assertEqual(status, 415)

    def test_a_browser_gets_a_secret_in_the_place_of_the_token_and_no_cookie(self):
        connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
        connection.sendall(
            f"POST /api/session HTTP/1.1\r\nHost: 127.0.0.1:{self.console.port}\r\nContent-Length: 0\r\n"
            f"Origin: {self.console.base}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\r\n".encode())
        answer = self.rest(connection)
        # Cookies know no ports: each server on this machine would get it.
        self.assertNotIn(b"set-cookie", answer.lower())
        secret = json.loads(answer.split(b"\r\n\r\n", 1)[1])["session"]
        self.assertNotIn(TOKEN, secret)
        shown = {"Authorization": f"Bearer {secret}", "Origin": self.console.base}
        self.assertEqual(self.console.request("/api/fleet", headers=shown)[0], 200)
        self.assertEqual(self.console.request("/api/session", {}, shown)[0], 401)
        # Another console has others.
        self.assertEqual(self.reading.request("/api/fleet", headers={"Authorization": f"Bearer {secret}"})[0], 401)

    def test_two_host_lines_are_refused(self):
        for hosts in ((f"127.0.0.1:{self.console.port}", "attacker.example"),
                      ("attacker.example", f"127.0.0.1:{self.console.port}"),
                      (f"127.0.0.1:{self.console.port}",) * 2):
            connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
            lines = "".join(f"Host: {host}\r\n" for host in hosts)
            connection.sendall(
                f"GET /api/fleet HTTP/1.1\r\n{lines}Connection: close\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            self.assertRegex(self.rest(connection).split(b"\r\n")[0], rb"HTTP/1.1 40[03]")

    def rest(self, connection):
        answer = b""
        while part := connection.recv(65536):
            answer += part
        connection.close()
        return answer

    def test_without_the_token_there_is_no_answer(self):
        for headers in ({"Authorization": None}, {"Authorization": "Bearer wrong"},
                        {"Authorization": None, "Cookie": f"waypost-console={TOKEN}"}):
            for path in ("/api/fleet", "/api/events", "/api/health"):
                status, _ = self.console.request(path, headers=headers)
                self.assertEqual(status, 401)

    def test_paths_lead_to_no_other_files(self):
        for path in (
            "/../Package.swift", "/%2e%2e/Package.swift", "/..%2fPackage.swift", "//etc/passwd",
            "/Page/../../Main.swift", "/index.html/../../Main.swift", "/%00", "/api/../index.html%00.js",
            "/api/agents/..%2f..%2fx", "/api/agents/%2e%2e/routes",
        ):
            connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
            connection.sendall(
                f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.console.port}\r\nConnection: close\r\n"
                f"Authorization: Bearer {TOKEN}\r\n\r\n".encode())
            answer = b""
            while part := connection.recv(65536):
                answer += part
            connection.close()
            self.assertNotIn(b"swift-tools-version", answer, path)
            self.assertNotIn(b"root:", answer, path)
            self.assertRegex(answer.split(b"\r\n")[0], rb"HTTP/1.1 (4\d\d|200)")
            if b" 200 " in answer.split(b"\r\n")[0]:
                self.assertTrue(b'"found":false' in answer or b"<!doctype html>" in answer, path)

    def test_each_answer_forbids_what_the_page_does_not_need(self):
        connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
        connection.sendall(
            f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{self.console.port}\r\nConnection: close\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
        connection.close()
        head = answer.split(b"\r\n\r\n")[0].lower()
        for words in (b"content-security-policy: default-src 'self'", b"frame-ancestors 'none'",
                      b"x-content-type-options: nosniff", b"referrer-policy: no-referrer"):
            self.assertIn(words, head)

    def test_the_token_is_in_no_log(self):
        self.console.request("/api/fleet")
        self.console.request("/api/session", {})
        self.console.request("/api/session", {}, {"Authorization": "Bearer wrong"})
        text = pathlib.Path(self.console.log.name).read_text()
        self.assertNotIn(TOKEN, text)

    def test_a_token_that_was_given_is_not_printed_and_a_new_one_is(self):
        self.assertNotIn(TOKEN, self.console.printed)
        self.assertIn("WAYPOST_CONSOLE_TOKEN", pathlib.Path(self.console.log.name).read_text())
        with tempfile.NamedTemporaryFile(mode="w") as file:
            file.write("token-of-a-file-1234\n")
            file.flush()
            given = Console(self.broker, "--token-file", file.name)
            self.addCleanup(given.stop)
            self.assertNotIn("token-of-a-file", given.printed)
            self.assertIn(file.name, pathlib.Path(given.log.name).read_text())
        new = Console(self.broker, environment={"WAYPOST_CONSOLE_TOKEN": ""})
        self.addCleanup(new.stop)
        self.assertIn("#token=", new.printed)
        self.assertEqual(new.request("/api/fleet")[0], 200)

    def test_an_option_that_there_is_not_is_named_with_the_nearest(self):
        program = [str(PROGRAMS / "waypost-console")]
        for words, text in [
            (["--allow-comands"], "there is no option --allow-comands; did you mean --allow-commands?"),
            (["--port=1", "--listen", "--x"], "there is no option --port"),
        ]:
            ending = subprocess.run(program + words, capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual(ending.returncode, 64, ending.stderr)
            self.assertIn(f"waypost: error: {text}", ending.stderr)
            self.assertIn("see waypost-console --help", ending.stderr)

    def test_addresses_that_would_show_the_token_to_others_are_refused(self):
        for options, text in (
                (("--behind-proxy", "http://console.example"), "over http others can read the token"),
                (("--behind-proxy", "HTTP://console.example"), "over http others can read the token"),
                (("--behind-proxy", "https://console.example/path"), "must be https://host"),
                (("--behind-proxy", "https://someone@console.example"), "must be https://host"),
                (("--behind-proxy", "https://console.example?x"), "must be https://host"),
                (("--behind-proxy", "https://console.example:99999"), "must be https://host"),
                (("--behind-proxy", "console.example"), "must be https://host"),
                (("--listen", "0.0.0.0:0"), "can be reached by others"),
                (("--listen", "[::]:0"), "can be reached by others"),
                (("--listen", "127.console.example:0"), "can be reached by others"),
                (("--listen", "127.0.0.1.console.example:0"), "can be reached by others")):
            ending = subprocess.run(
                [str(PROGRAMS / "waypost-console"), "--broker", self.broker.url, "--listen", "127.0.0.1:0", *options]
                if options[0] != "--listen" else
                [str(PROGRAMS / "waypost-console"), "--broker", self.broker.url, *options],
                capture_output=True, text=True, timeout=LIMIT)
            self.assertEqual(ending.returncode, 64, options)
            self.assertIn(text, ending.stderr)

    # Time

    def drip(self, console, count, authorization, byte=b" "):
        """So many requests whose body, or headers, come byte by byte, until the test ends."""
        stop = threading.Event()
        connections = []
        for _ in range(count):
            connection = socket.create_connection(("127.0.0.1", console.port), timeout=LIMIT)
            connection.sendall(
                f"POST /api/resolve HTTP/1.1\r\nHost: 127.0.0.1:{console.port}\r\nContent-Length: 100000\r\n"
                f"Content-Type: application/json\r\n{authorization}".encode() + (b"\r\n" if byte == b" " else b"x: "))
            connections.append(connection)

        def send():
            while not stop.wait(0.2):
                for connection in connections:
                    try:
                        connection.send(byte, socket.MSG_DONTWAIT)
                    except OSError:
                        pass  # what is to be shown: the server has ended it

        thread = threading.Thread(target=send)
        thread.start()

        def end():
            stop.set()
            thread.join()
            for connection in connections:
                connection.close()

        self.addCleanup(end)
        return connections

    def test_a_body_is_not_waited_for_when_its_request_is_not_let_in(self):
        connection = self.drip(self.console, 1, "")[0]
        self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 401"))
        self.ends(connection)

    def test_a_body_that_comes_byte_by_byte_has_an_end(self):
        self.ends(self.drip(self.console, 1, f"Authorization: Bearer {TOKEN}\r\n")[0])

    def test_headers_that_come_byte_by_byte_have_an_end(self):
        self.ends(self.drip(self.console, 1, "", b"x")[0])

    def test_headers_of_the_next_request_have_one_too(self):
        connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
        connection.sendall(f"HEAD / HTTP/1.1\r\nHost: 127.0.0.1:{self.console.port}\r\n\r\nHEAD / HTTP/1.1\r\nx: ".encode())
        self.assertTrue(connection.recv(65536).startswith(b"HTTP/1.1 200"))
        stop = threading.Event()
        self.addCleanup(stop.set)

        def send():
            while not stop.wait(0.2):
                try:
                    connection.send(b"x")
                except OSError:
                    return  # what is to be shown: the server has ended it

        threading.Thread(target=send).start()
        self.ends(connection)

    def test_requests_that_come_byte_by_byte_keep_no_places(self):
        for authorization, byte in (("", b" "), (f"Authorization: Bearer {TOKEN}\r\n", b" "), ("", b"x")):
            self.drip(self.reading, 64, authorization, byte)
            wait_for("an answer", lambda: self.reading.get("/api/fleet")["total"] == 30, limit=180)

    def ends(self, connection):
        connection.settimeout(LIMIT)
        try:
            while connection.recv(65536):
                pass
        except ConnectionResetError:
            pass

    def test_a_stream_begins_at_no_line_that_is_none(self):
        for number in (*EXTREMES, 2**64, -2**64, "x", ""):
            with self.stream(
                    self.reading, "/api/events?follow=1&log=", [f"Last-Event-ID: {number}"]) as one:
                self.events(one, "status")
        for name in ("before", "after", "at", "limit"):
            for number in (*EXTREMES, 2**64, "x"):
                status, _ = self.reading.request(f"/api/log?{name}={number}")
                self.assertIn(status, (200, 400))

    def test_an_expression_that_would_take_for_ever_keeps_no_one_waiting(self):
        event = {"l": "I", "tag": "Slow", "boot": "S", "pid": 1, "tid": 1, "type": 0, "msg": "a" * 2000 + "!"}
        for batch in range(20):
            lines = [json.dumps({**event, "t": 1, "seq": batch * 50 + one + 1}) for one in range(50)]
            publish(self.broker, "waypost/v1/slow-1/log/i", "\n".join(lines))
        wait_for("the lines", lambda: self.reading.get("/api/log?agent=slow-1&limit=1")["lines"])
        for expression in EXPRESSIONS:
            text = expression.replace("+", "%2B").replace("|", "%7C")
            stream = self.stream(self.reading, f"/api/events?follow=1&log=message~:'{text}'")
            self.addCleanup(stream.close)
            self.events(stream, "status")
        statuses = []

        def ask(expression):
            text = expression.replace("+", "%2B").replace("$", "%24").replace("|", "%7C")
            statuses.append(self.reading.request(f"/api/log?log=message~:'{text}'&limit=500")[0])

        threads = [threading.Thread(target=ask, args=[expression]) for expression in EXPRESSIONS * 2]
        for thread in threads:
            thread.start()
        # Meanwhile others are answered, and lines still come.
        self.assertEqual(self.reading.get("/api/fleet")["total"] >= 30, True)
        for thread in threads:
            thread.join()
        self.assertTrue(set(statuses) <= {200, 422}, statuses)
        for expression in ("(", "(?=a)", "a{5000}", "(a{100}){100}"):
            self.assertEqual(self.reading.request(f"/api/log?log=message~:'{expression}'")[0], 400)

    def test_a_signal_ends_it_whatever_is_asked_of_it(self):
        busy = Console(self.broker)
        wait_for("30 agents", lambda: busy.get("/api/fleet")["total"] >= 30)
        event = {"l": "I", "tag": "Slow", "boot": "T", "pid": 1, "tid": 1, "type": 0, "msg": "a" * 2000 + "!"}
        lines = [json.dumps({**event, "t": 1, "seq": one + 1}) for one in range(100)]
        publish(self.broker, "waypost/v1/slow-2/log/i", "\n".join(lines))
        wait_for("the lines", lambda: busy.get("/api/log?agent=slow-2&limit=1")["lines"])
        end = threading.Event()

        def ask():
            while not end.is_set():
                try:
                    busy.request("/api/log?log=message~:'(a?){100}(a%7C.){100}(a*)*b'")
                except OSError:
                    return

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        drips = self.drip(busy, 8, f"Authorization: Bearer {TOKEN}\r\n")
        self.assertEqual(len(drips), 8)
        busy.stop()
        end.set()
        for thread in threads:
            thread.join()

    def test_giant_headers_and_bodies_are_refused(self):
        status, _ = self.console.request("/api/resolve", {"url": "x" * (2 << 20)})
        self.assertEqual(status, 400)
        connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
        try:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * (64 << 10))
            connection.sendall(b"a" * (1 << 20))
            answer = connection.recv(65536)
            self.assertFalse(answer.startswith(b"HTTP/1.1 200"))
        except (BrokenPipeError, ConnectionResetError):
            pass
        connection.close()
        self.assertEqual(self.console.get("/api/fleet")["total"], 30)

    def test_headers_that_never_end_do_not_hold_a_place(self):
        connection = socket.create_connection(("127.0.0.1", self.console.port), timeout=LIMIT)
        connection.sendall(b"GET / HTTP/1.1\r\n")
        # The server ends it, however long the next byte would take.
        self.assertEqual(connection.recv(1), b"")
        connection.close()

    def test_a_thousand_idle_connections_end_and_the_page_answers_again(self):
        idle = []
        for _ in range(1000):
            connection = socket.socket()
            connection.setblocking(False)
            try:
                connection.connect(("127.0.0.1", self.console.port))
            except (BlockingIOError, OSError):
                pass
            idle.append(connection)
        memory, _ = self.console.usage()
        self.assertLess(memory, 300 << 20)
        wait_for("an answer", lambda: self.console.get("/api/fleet")["total"] == 30, limit=180)
        for connection in idle:
            connection.close()

    def test_many_tabs_are_limited_and_places_come_back(self):
        tabs = [self.stream(self.reading, "/api/events") for _ in range(60)]
        heads = []
        for tab in tabs[:48]:
            heads.append(tab.recv(64))
        self.assertTrue(all(head.startswith(b"HTTP/1.1 ") for head in heads))
        for tab in tabs:
            tab.close()
        wait_for("the places of closed tabs", lambda: self.reading.get("/api/health")["tabs"] == 0)

    def test_requests_side_by_side_are_all_answered(self):
        answers = []

        def ask():
            for _ in range(20):
                answers.append(self.console.get("/api/fleet?limit=200")["total"])

        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(len(answers), 160)


class HostileFleetTests(unittest.TestCase):
    def test_hostile_messages_do_not_end_it(self):
        with tempfile.TemporaryDirectory() as folder:
            broker = Broker(folder)
            console = Console(broker)
            try:
                wait_for("the broker", lambda: console.get("/api/status")["connected"])
                self.attack(broker)
                fleet = Fleet(broker, 3, "--seed", "4")
                wait_for("3 agents", lambda: len([
                    row for row in console.get("/api/fleet")["rows"] if row["agent"].startswith("kiosk-")]) == 3)
                fleet.stop()
            finally:
                console.stop()
                broker.stop()

    def attack(self, broker):
        report = {"code": 404, "name": "NO_ROUTE", "where": "router", "detail": "x", "first": 1, "last": 1}
        event = {"t": 1, "l": "E", "tag": "T", "boot": "B", "msg": "404 NO_ROUTE: x", "type": 1}
        state = {"state": "online", "boot": "B", "why": "birth", "agent": "k1", "version": "1", "mqtt": 5}
        for number in EXTREMES:
            for _ in range(2):
                publish(broker, "waypost/v1/k1/fail", {**report, "id": f"f{number}", "count": number})
                publish(broker, "waypost/v1/k1/fail", {**report, "id": "same", "count": number})
                publish(broker, "waypost/v1/k1/log/e", {**event, "seq": number, "dropped": number})
                publish(broker, "waypost/v1/k1/state", {**state, "epoch": number, "at": number})
                publish(broker, "waypost/v1/k1/health", {"at": number, "uptime": number, "epoch": number})
        for topic, payload in (
            ("k1/state", "{"), ("k1/health", "[" * 5000), ("k1/log/i", '{"t":1e400}'),
            ("k1/fail", '{"code":' + "9" * 400 + "}"), ("k1/map/applied", '"' + "x" * 100000 + '"'),
            ("x" * 64 + "/state", "null"),
        ):
            publish(broker, f"waypost/v1/{topic}", payload)


class LostBrokerTests(unittest.TestCase):
    def test_a_lost_broker_is_said_and_found_again(self):
        with tempfile.TemporaryDirectory() as folder:
            broker = Broker(folder)
            fleet = Fleet(broker, 5, "--seed", "2")
            console = Console(broker)
            try:
                wait_for("5 agents", lambda: console.get("/api/fleet")["total"] == 5)
                broker.stop()
                wait_for("the loss", lambda: not console.get("/api/status")["connected"])
                status = console.get("/api/status")
                self.assertTrue(status["reason"])
                # What was known is still shown, with its time.
                self.assertEqual(console.get("/api/fleet")["total"], 5)
                self.assertLess(console.get("/api/fleet")["asOf"], status["now"])
                broker.start()
                wait_for("the broker", lambda: console.get("/api/status")["connected"])
            finally:
                console.stop()
                fleet.stop()
                broker.stop()

    def test_no_broker_at_the_start_is_no_end(self):
        with tempfile.TemporaryDirectory() as folder:
            broker = Broker(folder)
            broker.stop()
            console = Console(broker)
            try:
                self.assertFalse(console.get("/api/status")["connected"])
                broker.start()
                wait_for("the broker", lambda: console.get("/api/status")["connected"])
            finally:
                console.stop()
                broker.stop()


NGINX = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/sbin")
GUIDE = TOP / "Sources/WaypostAgent/WaypostAgent.docc/Console.md"


@unittest.skipUnless(NGINX, "there is no nginx")
class ProxyTests(unittest.TestCase):
    """The lines for nginx that the guide has, word for word, with the console behind them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.broker = Broker(cls.folder.name)
        cls.port = free_port()
        cls.host = f"console.example:{cls.port}"
        cls.console = Console(cls.broker, "--behind-proxy", f"https://{cls.host}", port=free_port())
        cls.nginx = cls.proxy()
        wait_for("nginx", lambda: cls.ask("/")[0] == 200)

    @classmethod
    def tearDownClass(cls):
        cls.nginx.terminate()
        cls.nginx.wait(timeout=LIMIT)
        for part in (cls.console, cls.broker):
            part.stop()
        cls.folder.cleanup()

    @classmethod
    def proxy(cls):
        folder = pathlib.Path(cls.folder.name)
        found = re.search(r"^    location / \{\n(?:.*\n)*?^    \}$", GUIDE.read_text(), re.MULTILINE)
        lines = found[0].replace("10.0.0.5:8750", f"127.0.0.1:{cls.console.port}")
        assert str(cls.console.port) in lines, "the guide has another address"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=console.example",
             "-keyout", folder / "key.pem", "-out", folder / "certificate.pem"],
            check=True, capture_output=True)
        places = "".join(
            f"{kind}_temp_path {folder}/{kind};\n"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        config = folder / "nginx.conf"
        config.write_text(
            f"daemon off;\npid {folder}/pid;\nerror_log {folder}/errors;\nevents {{}}\n"
            f"http {{\naccess_log off;\n{places}server {{\nlisten 127.0.0.1:{cls.port} ssl;\n"
            f"ssl_certificate {folder}/certificate.pem;\nssl_certificate_key {folder}/key.pem;\n{lines}\n}}\n}}\n")
        command = [NGINX, "-e", str(folder / "errors"), "-c", str(config)]
        tried = subprocess.run([*command, "-t"], capture_output=True, text=True)
        assert tried.returncode == 0, tried.stderr
        return subprocess.Popen(command)

    @classmethod
    def connection(cls):
        # Who it is does not matter here; that it is TLS does.
        context = ssl.create_default_context(cafile=pathlib.Path(cls.folder.name) / "certificate.pem")
        context.check_hostname = False
        return http.client.HTTPSConnection("127.0.0.1", cls.port, timeout=LIMIT, context=context)

    @classmethod
    def ask(cls, path, method="GET", host=None, **headers):
        connection = cls.connection()
        connection.request(
            method, path, headers={"Host": host or cls.host, "Authorization": f"Bearer {TOKEN}", **headers})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer.status, body

    def test_the_page_its_session_and_its_questions_get_through(self):
        self.assertIn(b"<!doctype html>", self.ask("/")[1])
        self.assertEqual(json.loads(self.ask("/api/status")[1])["connected"], True)
        status, body = self.ask("/api/session", "POST", Origin=f"https://{self.host}")
        self.assertEqual(status, 200, body)
        secret = json.loads(body)["session"]
        self.assertEqual(self.ask("/api/fleet", Authorization=f"Bearer {secret}")[0], 200)
        for host in (self.host.upper(), self.host.replace("example", "example.")):
            self.assertEqual(self.ask("/api/status", host=host)[0], 200, host)

    def test_what_the_console_keeps_out_is_kept_out_behind_it_too(self):
        for host in ("attacker.example", "console.example", f"console.example:{self.port + 1}"):
            self.assertEqual(self.ask("/api/status", host=host)[0], 403, host)
        for origin in ("https://attacker.example", "https://console.example", f"http://{self.host}"):
            self.assertEqual(self.ask("/api/session", "POST", Origin=origin)[0], 403, origin)
        self.assertEqual(self.ask("/api/fleet", Authorization="Bearer wrong")[0], 401)

    def test_an_event_comes_when_it_happens_and_not_once_a_buffer_is_full(self):
        connection = self.connection()
        connection.request("GET", "/api/events", headers={"Host": self.host, "Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        self.assertEqual(answer.status, 200)
        seen = b""
        while b"event: fleet" not in seen:
            seen += answer.read1(65536)
        event = {"l": "I", "tag": "Proxy", "boot": "B", "pid": 1, "tid": 1, "type": 0, "t": 1, "seq": 1, "msg": "x"}
        publish(self.broker, "waypost/v1/k1/log/i", json.dumps(event))
        publish(self.broker, "waypost/v1/k1/state", json.dumps(
            {"state": "online", "epoch": 1, "boot": "B", "why": "birth", "agent": "k1", "version": "1", "mqtt": 5}))
        # Each read ends with an error after the limit.
        while b'"total":1' not in seen:
            part = answer.read1(65536)
            self.assertTrue(part, seen)
            seen += part
        connection.close()


if __name__ == "__main__":
    unittest.main(verbosity=2)
