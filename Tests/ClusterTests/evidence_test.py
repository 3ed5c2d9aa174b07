"""What the recorder reads out of the bytes, and who is said to have lost a command."""

import json
import struct
import unittest

import client
import evidence
import tap

COMMANDS, REPLIES = "waypost/v1/k1/cmd/check", "waypost/v1/k1/reply/check"


class Traffic:
    """Two connections, of an operator and an agent, and the lines about them."""

    def __init__(self):
        self.lines = []
        self.operator, self.agent = self.connection("operator", 4), self.connection("k1", 5)
        self.identifier = 0

    def connection(self, name, level, flags=0):
        made = tap.Connection(self.lines.append)
        properties = bytes([5, 0x11, 0, 0, 0, 9]) if level == 5 else b""
        made.client_sent(
            0x10, client.field(b"MQTT") + bytes([level, flags]) + struct.pack(">H", 10) + properties
            + client.field(name.encode()))
        return made

    def passes(self, way, topic, properties=b"", **payload):
        """A PUBLISH; the PUBACK for it."""
        self.identifier += 1
        identifier = struct.pack(">H", self.identifier)
        way(0x32, client.field(topic.encode()) + identifier + properties + json.dumps(payload).encode())
        return identifier

    def command(self, identifier, delivered=True, acknowledged=True):
        self.operator.node_sent(0x40, self.passes(self.operator.client_sent, COMMANDS, id=identifier))
        if delivered:
            packet = self.passes(self.agent.node_sent, COMMANDS, bytes([0]), id=identifier)
            if acknowledged:
                self.agent.client_sent(0x40, packet)

    def reply(self, identifier, status="ok", delivered=True):
        self.agent.node_sent(0x40, self.passes(self.agent.client_sent, REPLIES, id=identifier, status=status))
        if delivered:
            self.operator.client_sent(
                0x40, self.passes(self.operator.node_sent, REPLIES, id=identifier, status=status))

    def verdict(self, identifier):
        return evidence.Evidence(json.loads(json.dumps(self.lines))).verdict(identifier)


class EvidenceTests(unittest.TestCase):
    def setUp(self):
        self.traffic = Traffic()

    def test_a_command_that_was_skipped_is_the_brokers(self):
        self.traffic.command("c1", delivered=False)
        self.assertIn("no subscription", self.traffic.verdict("c1"))
        self.traffic.command("c2")
        self.assertEqual(self.traffic.verdict("c1"), evidence.SKIPPED["command"])

    def test_a_broker_that_sends_nothing_more_to_who_has_subscribed_is_stuck(self):
        self.traffic.command("c1", delivered=False)
        agent = self.traffic.agent
        wanted = client.field(b"waypost/v1/k1/cmd/+") + b"\1"
        agent.client_sent(0x82, b"\0\1\0" + client.field(b"waypost/v1/k1/ota") + b"\1" + wanted)
        agent.node_sent(0x90, bytes([0, 1, 0, 1, 0x87]))
        self.assertIn("no subscription", self.traffic.verdict("c1"))
        agent.client_sent(0x82, b"\0\2\0" + wanted)
        agent.node_sent(0x90, bytes([0, 2, 0, 1]))
        self.assertEqual(self.traffic.verdict("c1"), evidence.STUCK["command"])
        agent.note("closed")
        self.assertIn("no subscription", self.traffic.verdict("c1"))

    def test_filters_take_topics_as_in_the_standard(self):
        for pattern, topic, expected in [
            ("a/+/c", "a/b/c", True), ("a/+", "a/b/c", False), ("a/#", "a/b/c", True), ("a/#", "a", True),
            ("#", "a/b", True), ("a/b", "a/c", False), ("+/b", "a/b", True),
        ]:
            self.assertEqual(evidence.matches(pattern, topic), expected, f"{pattern} {topic}")

    def test_a_later_command_counts_only_when_it_was_published_later(self):
        self.traffic.command("c0", delivered=False)
        self.traffic.lines[:] = [line for line in self.traffic.lines if line["event"] != "stored"]
        self.traffic.command("c1")
        self.assertIn("no node has acknowledged", self.traffic.verdict("c0"))

    def test_who_leaves_a_session_or_a_subscription_is_not_skipped(self):
        self.traffic.command("c1", delivered=False)
        self.traffic.command("c2")
        before = len(self.traffic.lines)
        self.traffic.connection("k1", 5, flags=0x02)
        self.assertIn("has left", self.traffic.verdict("c1"))
        del self.traffic.lines[before:]
        self.assertEqual(self.traffic.verdict("c1"), evidence.SKIPPED["command"])
        self.traffic.agent.client_sent(0xA2, b"\0\1" + client.field(b"#"))
        self.assertIn("has left", self.traffic.verdict("c1"))

    def test_what_an_agent_holds_is_its_own_until_its_connection_ends(self):
        self.traffic.command("c1", acknowledged=False)
        self.traffic.command("c2")
        self.assertIn("over a connection that is open", self.traffic.verdict("c1"))
        self.traffic.agent.note("closed")
        self.assertEqual(self.traffic.verdict("c1"), evidence.SKIPPED["command"])

    def test_what_an_agent_acknowledged_is_its_own(self):
        self.traffic.command("c1")
        self.traffic.reply("c1", status="accepted")
        self.assertEqual(self.traffic.verdict("c1"), "the agent acknowledged and never answered")

    def test_a_reply_that_was_skipped_is_the_brokers(self):
        self.traffic.command("c1")
        self.traffic.command("c2")
        self.traffic.reply("c1", delivered=False)
        self.traffic.reply("c2")
        self.assertEqual(self.traffic.verdict("c1"), evidence.SKIPPED["reply"])

    def test_a_reply_that_arrived_is_neithers(self):
        self.traffic.command("c1")
        self.traffic.reply("c1")
        self.assertIn("without counting it", self.traffic.verdict("c1"))

    def test_packets_are_found_however_their_bytes_come(self):
        data = client.packet(0x32, bytes(range(200))) + client.packet(0xC0, b"") + client.packet(0x40, b"\0\1")
        buffer, found = bytearray(), []
        for byte in data:
            buffer.append(byte)
            found += tap.packets(buffer)
        self.assertEqual(found, [(0x32, bytes(range(200))), (0xC0, b""), (0x40, b"\0\1")])
        self.assertEqual(buffer, b"")

    def test_the_story_names_both_ends(self):
        self.traffic.command("c1", delivered=False)
        lines = list(evidence.Evidence(self.traffic.lines).told("c1", 0))
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], r"command c1 published, operator, connection \d+ \(open\)")


if __name__ == "__main__":
    unittest.main()
