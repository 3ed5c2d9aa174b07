"""A recorder between clients and nodes: it passes on every byte, and notes each message at QoS 1 and its acknowledgement.

A process of its own, so that the interpreter of the check has no part in it. It has a port for each node, and writes a
line as JSON for what goes through: `published` by a client and `stored` by its node, `sent` by a node and `acknowledged` by
its client, `subscribed` with the filters that a node granted, `gave up` when a client leaves its session or a subscription,
and `closed` for each connection that ended.
"""

import asyncio
import json
import pathlib
import socket
import struct
import subprocess
import sys
import time

import evidence


class Tap:
    """The recorder as a process; `ports` has its own by those of the nodes."""

    def __init__(self, folder, ports):
        self.file = folder / "traffic.jsonl"
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(pathlib.Path(__file__)), str(self.file), *map(str, ports)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
        self.ports = dict(zip(ports, json.loads(self.process.stdout.readline())))

    def evidence(self):
        """What went through up to now."""
        with self.file.open() as file:
            # The last line may be half written.
            return evidence.Evidence(json.loads(line) for line in file if line.endswith("\n"))

    def end(self):
        self.process.kill()
        self.process.wait()


def packets(buffer):
    """Takes the whole packets out of a buffer: the first byte and the body of each."""
    while len(buffer) >= 2:
        length, shift, place = 0, 0, 1
        while place < len(buffer):
            digit = buffer[place]
            place += 1
            length |= (digit & 127) << shift
            shift += 7
            if not digit & 128:
                break
        else:
            return
        if len(buffer) < place + length:
            return
        yield buffer[0], bytes(buffer[place:place + length])
        del buffer[:place + length]


def message(kind, body):
    """Topic, packet identifier, and what a PUBLISH at QoS 1 is called here; None for any other, and for what is not looked
    for: only commands and the ends that are their replies are."""
    if kind & 0xF0 != 0x30 or not kind & 0x06:
        return None
    end = 2 + struct.unpack_from(">H", body)[0]
    topic = body[2:end].decode(errors="replace")
    identifier = struct.unpack_from(">H", body, end)[0]
    if "/cmd/" not in topic and "/reply/" not in topic:
        return None
    # MQTT 5 has properties behind the identifier; the payload of both begins with the first brace.
    payload = json.loads(body[body.index(b"{", end + 2):])
    if payload.get("status") == "accepted":
        return None
    return topic, identifier, ("reply " if "/reply/" in topic else "command ") + payload["id"]


class Connection:
    """What goes over one connection of a client."""

    count = 0

    def __init__(self, write):
        Connection.count += 1
        self.number, self.write = Connection.count, write
        self.client, self.level = "", 4
        # The filters that were asked for, by the packet identifier.
        self.asked = {}
        # What its other side has not acknowledged yet, by the packet identifier.
        self.from_client, self.from_node = {}, {}

    def note(self, event, **more):
        self.write({"at": round(time.monotonic(), 3), "event": event, "client": self.client,
                    "connection": self.number, **more})

    def client_sent(self, kind, body):
        if kind & 0xF0 == 0x10:
            # The name of the protocol, its level, the flags and the keep-alive; MQTT 5 has properties then.
            start = 2 + struct.unpack_from(">H", body)[0]
            self.level, flags, start = body[start], body[start + 1], start + 4
            start += self.properties(body, start)
            length = struct.unpack_from(">H", body, start)[0]
            self.client = body[start + 2:start + 2 + length].decode(errors="replace")
            if flags & 0x02:
                self.note("gave up")
        elif kind & 0xF0 == 0x80:
            self.asked[body[:2]] = list(self.filters(body, 2 + self.properties(body, 2)))
        elif kind & 0xF0 == 0xA0:
            self.note("gave up")
        self.passed(kind, body, "published", self.from_client, "acknowledged", self.from_node)

    def node_sent(self, kind, body):
        if kind & 0xF0 == 0x90:
            codes = body[2 + self.properties(body, 2):]
            asked = self.asked.pop(body[:2], [])
            self.note("subscribed", filters=[name for name, code in zip(asked, codes) if code == 1])
        self.passed(kind, body, "sent", self.from_node, "stored", self.from_client)

    def properties(self, body, start):
        """How long the properties of MQTT 5 are that begin there; clients here have few."""
        return 1 + body[start] if self.level >= 5 else 0

    @staticmethod
    def filters(body, start):
        while start < len(body):
            end = start + 2 + struct.unpack_from(">H", body, start)[0]
            yield body[start + 2:end].decode(errors="replace")
            start = end + 1

    def passed(self, kind, body, event, own, acknowledgement, others):
        if kind & 0xF0 == 0x40:
            found = others.pop(struct.unpack_from(">H", body)[0], None)
            if found:
                self.note(acknowledgement, topic=found[0], message=found[1])
        elif found := message(kind, body):
            topic, identifier, name = found
            own[identifier] = topic, name
            self.note(event, topic=topic, message=name)


async def pass_on(reader, writer, look):
    buffer = bytearray()
    try:
        while data := await reader.read(65_536):
            # Noted before it arrives, so that no answer is noted before its question.
            buffer += data
            for kind, body in packets(buffer):
                look(kind, body)
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def serve(port, write):
    async def connected(reader, writer):
        try:
            node_reader, node_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.transport.abort()
            return
        for each in (writer, node_writer):
            each.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(write)
        await asyncio.gather(
            pass_on(reader, node_writer, connection.client_sent), pass_on(node_reader, writer, connection.node_sent))
        connection.note("closed")

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    return server, server.sockets[0].getsockname()[1]


async def main(path, ports):
    with open(path, "w", buffering=1) as file:
        servers = [await serve(port, lambda line: file.write(json.dumps(line) + "\n")) for port in ports]
        print(json.dumps([own for _, own in servers]), flush=True)
        # Until the check ends, however it does.
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], [int(each) for each in sys.argv[2:]]))
