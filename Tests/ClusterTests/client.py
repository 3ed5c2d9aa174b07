"""What the check needs of MQTT 3.1.1: one connection that lasts, over a list of brokers.

A message counts as acknowledged when its PUBACK was read. What was not acknowledged when a connection ended is sent
again over the next one; what was is never sent again, so that whatever the brokers lose of it is missed.
"""

import collections
import select
import socket
import struct
import threading
import time

KEEPALIVE = 10
# A broker that has lost its majority accepts connections, and answers nothing.
PATIENCE = 10
# RabbitMQ and NATS have limits of their own; beyond this many, messages wait here.
WINDOW = 500


def field(data):
    return struct.pack(">H", len(data)) + data


def packet(kind, body):
    rest, length = len(body), b""
    while True:
        rest, digit = divmod(rest, 128)
        length += bytes([digit | (128 if rest else 0)])
        if not rest:
            return bytes([kind]) + length + body


class Ended(Exception):
    """The connection is over."""


class Client:
    """Publishes and subscribes at QoS 1, in a thread of its own; its session is kept by the brokers."""

    def __init__(self, name, ports, filters, received, qos=1):
        self.name, self.ports, self.filters, self.received = name, ports, filters, received
        self.qos = qos
        self.lock = threading.Lock()
        # What waits, and what was sent and not acknowledged, both in the order of `publish`.
        self.waiting = collections.deque()
        self.sent = collections.OrderedDict()
        self.acknowledged = 0
        self.resent = 0
        # When each connection was made, at which broker.
        self.connections = []
        self.errors = collections.Counter()
        self.is_online = False
        self.socket = None
        self.buffer = bytearray()
        self.heard = self.pinged = self.progress = time.monotonic()
        self.turn = 0
        self.identifier = 0
        self.wake_reader, self.wake_writer = socket.socketpair()
        self.is_stopping = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    # What others call.

    def publish(self, topic, payload, acknowledged=None, is_retained=False):
        """Hands over a message; `acknowledged` is called once the broker has it."""
        with self.lock:
            self.waiting.append((topic.encode(), payload, acknowledged, is_retained))
        self.wake_writer.send(b".")

    @property
    def open(self):
        """Messages that no broker has acknowledged yet."""
        with self.lock:
            return len(self.waiting) + len(self.sent)

    def stop(self):
        self.is_stopping = True
        self.wake_writer.send(b".")
        self.thread.join()

    # The thread.

    def run(self):
        while not self.is_stopping:
            port = self.ports[self.turn % len(self.ports)]
            try:
                self.connect(port)
                self.connections.append((time.monotonic(), port))
                self.is_online = True
                while not self.is_stopping:
                    self.step()
            except (OSError, Ended) as error:
                self.errors[str(error) or type(error).__name__] += 1
                self.turn += 1
                # As a program with a person before it: soon, and not at once.
                if not self.is_stopping:
                    time.sleep(0.2)
            finally:
                self.is_online = False
                if self.socket:
                    self.socket.close()
                    self.socket = None

    def connect(self, port):
        self.buffer.clear()
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Without the flag for a clean session.
        self.write(packet(
            0x10, field(b"MQTT") + bytes([4, 0]) + struct.pack(">H", KEEPALIVE) + field(self.name.encode())))
        kind, body = self.expect(0x20)
        if body[1] != 0:
            raise Ended(f"CONNACK {body[1]}")
        filters = b"".join(field(each.encode()) + bytes([self.qos]) for each in self.filters)
        self.write(packet(0x82, struct.pack(">H", 1) + filters))
        kind, body = self.expect(0x90)
        if any(code & 0x80 for code in body[2:]):
            raise Ended("SUBACK with a refusal")
        with self.lock:
            self.resent += len(self.sent)
            self.waiting.extendleft(reversed(self.sent.values()))
            self.sent.clear()
        self.heard = self.pinged = time.monotonic()

    def expect(self, wanted):
        """Reads up to a packet of that kind; messages that the session kept may come before it."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            ready, _, _ = select.select([self.socket], [], [], 0.5)
            if not ready:
                continue
            self.fill()
            while (found := self.take()) is not None:
                if found[0] & 0xF0 == wanted:
                    return found
                self.handle(*found)
        raise Ended(f"no {'CONNACK' if wanted == 0x20 else 'SUBACK'} in {PATIENCE} s")

    def step(self):
        self.send_waiting()
        ready, _, _ = select.select([self.socket, self.wake_reader], [], [], 1)
        if self.wake_reader in ready:
            self.wake_reader.recv(65_536)
        if self.socket in ready:
            self.fill()
            while (found := self.take()) is not None:
                self.handle(*found)
        now = time.monotonic()
        if now - self.heard > PATIENCE + KEEPALIVE / 2:
            raise Ended(f"silent for {PATIENCE} s")
        if now - max(self.heard, self.pinged) > KEEPALIVE / 2:
            self.pinged = now
            self.write(packet(0xC0, b""))
        with self.lock:
            oldest = next(iter(self.sent.values()), None)
        if oldest and now - self.progress > 3 * PATIENCE:
            raise Ended(f"nothing acknowledged for {3 * PATIENCE} s")

    def send_waiting(self):
        data = b""
        with self.lock:
            if not self.sent:
                self.progress = time.monotonic()
            while self.waiting and len(self.sent) < WINDOW:
                message = self.waiting.popleft()
                self.identifier = self.identifier % 65_535 + 1
                while self.identifier in self.sent:
                    self.identifier = self.identifier % 65_535 + 1
                self.sent[self.identifier] = message
                topic, payload, _, is_retained = message
                data += packet(0x33 if is_retained else 0x32, field(topic) + struct.pack(">H", self.identifier) + payload)
        if data:
            self.write(data)

    def handle(self, kind, body):
        if kind & 0xF0 == 0x30:
            length = struct.unpack_from(">H", body)[0]
            topic, rest = body[2:2 + length].decode(), body[2 + length:]
            if kind & 0x06:
                identifier, rest = rest[:2], rest[2:]
                self.received(topic, bytes(rest))
                self.write(packet(0x40, identifier))
            else:
                self.received(topic, bytes(rest))
        elif kind == 0x40:
            with self.lock:
                message = self.sent.pop(struct.unpack(">H", body[:2])[0], None)
                self.progress = time.monotonic()
            if message:
                self.acknowledged += 1
                if message[2]:
                    message[2]()

    def write(self, data):
        self.socket.sendall(data)

    def fill(self):
        data = self.socket.recv(262_144)
        if not data:
            raise Ended("closed by the broker")
        self.heard = time.monotonic()
        self.buffer += data

    def take(self):
        """The next whole packet in the buffer."""
        length, shift, place = 0, 0, 1
        while True:
            if place >= len(self.buffer):
                return None
            digit = self.buffer[place]
            length |= (digit & 127) << shift
            shift += 7
            place += 1
            if not digit & 128:
                break
        if len(self.buffer) < place + length:
            return None
        found = self.buffer[0], bytes(self.buffer[place:place + length])
        del self.buffer[:place + length]
        return found
