extension PythonClient {
    /// What each client in Python begins with.
    ///
    /// A literal: a resource that is embedded in code becomes an array of numbers, and checking their types takes seconds.
    // swift-format-ignore
    static let runtime = #"""
from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import queue
import re
import secrets
import threading
import time
import urllib.parse
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

import paho.mqtt.client as mqtt
from paho.mqtt.enums import CallbackAPIVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

__all__ = [
    "Agent",
    "AgentState",
    "Answers",
    "AsyncAgent",
    "AsyncBackend",
    "AsyncGroup",
    "AsyncPending",
    "AsyncStream",
    "Backend",
    "Event",
    "Failure",
    "FailureReport",
    "Group",
    "Json",
    "OpenResult",
    "Options",
    "Pending",
    "Reply",
    "Stream",
]

#: A JSON value: None, bool, int, float, str, list or dict.
Json = Any
T = TypeVar("T")

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_TRACE = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_LEVELS = "vdiwef"
#: The most lines of a stream that wait to be read; older ones are dropped and counted.
_STREAM_LIMIT = 10_000
#: How long after the last retained message the broker is taken to have sent all, in seconds.
_QUIET = 0.5
#: A command is sent again after so many seconds without a reply.
_REPEAT = 30.0


class Failure(Exception):
    """What went wrong: at the agent with its code and name, or here with code 0.

    Names with code 0: `NO_REPLY` (it may have run), `NO_BROKER`, `NO_MEMBERS`, `UNREADABLE` (it has run), `NOT_SENT`,
    `CLOSED`.
    """

    def __init__(
        self,
        code: int,
        name: str,
        detail: str,
        nearest: Sequence[str] = (),
        payload: Json = None,
        agent: str | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(f"{agent + ': ' if agent else ''}{code} {name}: {detail}")
        self.code, self.name, self.detail = code, name, detail
        #: Names close to the one that was not found.
        self.nearest = list(nearest)
        #: What the application says beside the detail, for programs.
        self.payload = payload
        self.agent, self.id = agent, id


@dataclass(frozen=True)
class Options:
    """How a command is sent."""

    #: The handler begins within so many seconds, or not at all; at most a day.
    expires: float = 60.0
    #: How long the reply is awaited, in seconds; 15 longer than `expires` unless given.
    timeout: float | None = None
    #: Commands of one lane run one after another.
    lane: str | None = None
    #: A W3C `traceparent`.
    trace: str | None = None
    #: The command's id, 1 to 64 letters, digits, `_`, `-`: the same id runs once. A new one unless given.
    id: str | None = None


_DEFAULT = Options()


@dataclass(frozen=True)
class Reply:
    """How a command ended at an agent."""

    agent: str
    id: str
    status: str
    code: int
    name: str
    result: Json = None
    detail: str | None = None
    nearest: list[str] = field(default_factory=list)
    payload: Json = None
    warnings: list[str] = field(default_factory=list)
    #: How often it was started: more than 1 when the agent was interrupted.
    attempt: int = 1
    #: Whether the agent had replied before, and repeats it.
    dup: bool = False
    #: How long the work took, in milliseconds.
    ms: int = 0
    trace: str | None = None

    @property
    def ok(self) -> bool:
        return self.status == "ok"

    @property
    def failure(self) -> Failure | None:
        """Why it did not end well; None when it did."""
        if self.ok:
            return None
        detail = self.detail or "no detail given"
        return Failure(self.code, self.name, detail, self.nearest, self.payload, self.agent, self.id)

    @staticmethod
    def _read(agent: str, json: dict[str, Json]) -> Reply:
        get = _Fields(json)
        return Reply(
            agent,
            get.need("id", str),
            get.need("status", str),
            get.need("code", int),
            get.need("name", str),
            json.get("result"),
            get.maybe("detail", str),
            get.texts("nearest"),
            json.get("payload"),
            get.texts("warnings"),
            get.maybe("attempt", int) or 1,
            json.get("dup") is True,
            get.maybe("ms", int) or 0,
            get.maybe("trace", str),
        )


@dataclass(frozen=True)
class OpenResult:
    """What an open came to: the URL after all redirects, its route, the redirects, and what the handler returned."""

    url: str
    route: str | None
    redirects: list[str]
    value: Json

    @staticmethod
    def _read(reply: Reply, url: str) -> OpenResult:
        get = _Fields(_object(reply.result))
        try:
            route = get.maybe("route", str)
            return OpenResult(get.maybe("url", str) or url, route, get.texts("hops"), get.json.get("value"))
        except ValueError as error:
            raise _wrong(reply.result, "that of an open") from error


@dataclass(frozen=True)
class Event:
    """A line of an agent's log: `time` by its clock, in milliseconds since 1970; `level` one of V D I W E F."""

    agent: str
    time: int
    level: str
    tag: str
    message: str
    url: str | None
    ref: str | None
    trace: str | None
    boot: str
    sequence: int

    @staticmethod
    def _read(agent: str, json: dict[str, Json]) -> Event:
        get = _Fields(json)
        return Event(
            agent,
            get.need("t", int),
            get.need("l", str),
            get.need("tag", str),
            get.need("msg", str),
            get.maybe("url", str),
            get.maybe("ref", str),
            get.maybe("trace", str),
            get.maybe("boot", str) or "",
            get.maybe("seq", int) or 0,
        )


@dataclass(frozen=True)
class FailureReport:
    """What failed at an agent, where and why. `time` is that of the last time, in milliseconds since 1970."""

    agent: str
    id: str
    code: int
    name: str
    where: str
    detail: str
    url: str | None
    ref: str | None
    trace: str | None
    nearest: list[str]
    count: int
    time: int

    @staticmethod
    def _read(agent: str, json: dict[str, Json]) -> FailureReport:
        get = _Fields(json)
        return FailureReport(
            agent,
            get.maybe("id", str) or "",
            get.need("code", int),
            get.need("name", str),
            get.maybe("where", str) or "agent",
            get.maybe("detail", str) or "",
            get.maybe("url", str),
            get.maybe("ref", str),
            get.maybe("trace", str),
            get.texts("nearest"),
            get.maybe("count", int) or 1,
            get.maybe("last", int) or 0,
        )


@dataclass(frozen=True)
class AgentState:
    """What the broker keeps of an agent: whether it is online, since when (by its clock, ms since 1970), and why."""

    agent: str
    online: bool
    why: str
    version: str | None
    at: int | None

    @staticmethod
    def _read(agent: str, json: dict[str, Json]) -> AgentState:
        get = _Fields(json)
        return AgentState(
            agent,
            get.need("state", str) == "online",
            get.maybe("why", str) or "",
            get.maybe("version", str),
            get.maybe("at", int),
        )


@dataclass(frozen=True)
class Answers:
    """What a group answered: a reply of each agent that did, and the names of known members that did not."""

    replies: list[Reply]
    silent: list[str]

    @property
    def ok(self) -> bool:
        """Whether all known members did it."""
        return not self.silent and all(reply.ok for reply in self.replies)


class _Fields:
    """The fields of an object from outside; null is as good as absent, and ValueError means another type."""

    def __init__(self, json: dict[str, Json]) -> None:
        self.json = json

    def maybe(self, name: str, kind: type[T]) -> T | None:
        value = self.json.get(name)
        if value is None:
            return None
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise ValueError(f"{name} is no {kind.__name__}")
        return value

    def need(self, name: str, kind: type[T]) -> T:
        value = self.maybe(name, kind)
        if value is None:
            raise ValueError(f"{name} is missing")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.json.get(name)
        return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _constant(text: str) -> Json:
    raise ValueError(f"{text} is no JSON")


def _parse(payload: bytes | bytearray) -> dict[str, Json]:
    """One JSON object; raises ValueError for anything else."""
    try:
        value = json.loads(payload.decode(), parse_constant=_constant)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if not isinstance(value, dict):
        raise ValueError("no object")
    return value


def _dump(value: Json) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _name(text: str, what: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{what} is 1 to 64 letters, digits, _ or -; found {text!r}")
    return text


def _command(type: str, fields: Mapping[str, Json], options: Options, now: float) -> dict[str, Json]:
    """A command as it goes over the wire; `now` in seconds since 1970."""
    if not 0 < options.expires <= 86_400:
        raise ValueError(f"expires is more than 0 and at most 86400 seconds; found {options.expires}")
    at = int(now * 1000)
    command: dict[str, Json] = {
        "id": secrets.token_hex(13) if options.id is None else options.id,
        "type": type,
        **fields,
    }
    _name(command["id"], "an id")
    command.update(at=at, exp=at + int(options.expires * 1000))
    if options.lane is not None:
        command["lane"] = _name(options.lane, "a lane")
    if options.trace is not None:
        if not _TRACE.fullmatch(options.trace):
            raise ValueError(f"{options.trace!r} is no W3C traceparent")
        command["trace"] = options.trace
    return command


class Pending:
    """A command that was sent: after each lost connection it is sent again, the same bytes, until there is a reply."""

    def __init__(self, backend: Backend, audience: str, command: dict[str, Json], options: Options) -> None:
        self.id: str = command["id"]
        self.audience = audience
        self._backend = backend
        self._payload = _dump(command)
        self._trace = options.trace
        now = time.monotonic()
        self._expires = now + options.expires
        self._deadline = now + (options.expires + 15 if options.timeout is None else options.timeout)
        self._next = 0.0
        self._accepted: concurrent.futures.Future[bool] = concurrent.futures.Future()
        self._answers: concurrent.futures.Future[Answers] = concurrent.futures.Future()
        self._replies: dict[str, Reply] = {}
        self._isolated = threading.Lock()

    @property
    def _is_group(self) -> bool:
        return self.audience.startswith("@")

    def accepted(self) -> bool:
        """Waits until an agent took it and says that it takes a while (True), or until it has ended (False)."""
        return self._accepted.result()

    def answers(self) -> Answers:
        """Waits for the replies, good and bad, and says who is silent."""
        return self._answers.result()

    def reply(self) -> Reply:
        """Waits for the reply of the agent, good or bad. Raises Failure when there is none in time."""
        return self._one(self.answers())

    def result(self) -> Json:
        """Waits for the result. Raises Failure, also when the agent refused the command or it failed there."""
        return _good(self.reply()).result

    def cancel(self) -> None:
        """Asks the agent, or all of the group, to end it; it then ends with 499 CANCELED unless it has ended before."""
        self._backend._send(self.audience, "cancel", {"target": self.id}, _DEFAULT)

    def _one(self, answers: Answers) -> Reply:
        if answers.replies:
            return answers.replies[0]
        raise Failure(
            0, "NO_REPLY", "no reply came in time; the command may have run", agent=self.audience, id=self.id
        )

    def _replied(self, reply: Reply, known: Callable[[], dict[str, bool]]) -> bool:
        """Whether this was the last reply."""
        with self._isolated:
            if reply.status == "accepted":
                self._settle(self._accepted, True)
                return False
            self._replies.setdefault(reply.agent, reply)
            isOver = not self._is_group or all(
                agent in self._replies for agent, online in known().items() if online
            )
        if isOver:
            self._end(known())
        return isOver

    def _end(self, known: Mapping[str, bool], error: Failure | None = None) -> None:
        with self._isolated:
            self._settle(self._accepted, False)
            if self._answers.done():
                return
            if error is not None:
                self._answers.set_exception(error)
                return
            silent = sorted(known.keys() - self._replies.keys())
            self._answers.set_result(Answers(list(self._replies.values()), silent))

    @staticmethod
    def _settle(future: concurrent.futures.Future[bool], value: bool) -> None:
        if not future.done():
            future.set_result(value)


def _good(reply: Reply) -> Reply:
    if failure := reply.failure:
        raise failure
    return reply


class Stream(Generic[T]):
    """What agents publish, as it comes. `missed` counts what was dropped because it was not read fast enough."""

    def __init__(
        self, backend: Backend, filters: Sequence[str], read: Callable[[str, bytes], list[T]]
    ) -> None:
        self.missed = 0
        self._backend, self._filters, self._read = backend, tuple(filters), read
        self._waiting: queue.SimpleQueue[T | None] = queue.SimpleQueue()
        self._take: Callable[[T | None], None] = self._waiting.put

    def __iter__(self) -> Iterator[T]:
        while (value := self._waiting.get()) is not None:
            yield value

    def get(self, timeout: float) -> T | None:
        """The next, or None when there is none within so many seconds, or the stream was closed."""
        try:
            return self._waiting.get(timeout=timeout)
        except queue.Empty:
            return None

    def close(self) -> None:
        """Ends it; who iterates is done."""
        self._backend._unfollow(self)
        self._take(None)

    def _came(self, agent: str, payload: bytes) -> None:
        for value in self._read(agent, payload):
            if self._waiting.qsize() >= _STREAM_LIMIT:
                self.missed += 1
                with contextlib.suppress(queue.Empty):
                    self._waiting.get_nowait()
            self._take(value)


class Backend:
    """A connection to the broker: sends commands to agents and follows what they publish.

        with Backend("mqtt://ops:secret@broker.example") as backend:
            print(backend.agent("kiosk-7").call("Calculator", "add", [2, 40]))

    `url` is `mqtt://` or `mqtts://`, with user and password where the broker wants them. `sender` is this backend's
    name in the topics, the user's unless given. MQTT 5 is tried first and then 3.1.1, unless `protocol` is 5 or 4.
    `configure` gets each client of paho-mqtt before it connects, for certificates and proxies.
    """

    def __init__(
        self,
        url: str,
        sender: str | None = None,
        root: str = "waypost/v1",
        protocol: Literal[4, 5] | None = None,
        configure: Callable[[mqtt.Client], None] | None = None,
        timeout: float = 10.0,
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("mqtt", "mqtts") or not parts.hostname:
            raise ValueError("the broker's URL is mqtt://host or mqtts://host")
        self.sender = _name(sender or urllib.parse.unquote(parts.username or ""), "a sender")
        self.root = root
        #: Messages that made no sense, and were skipped.
        self.unreadable = 0
        self._url, self._host = parts, parts.hostname
        self._configure, self._timeout = configure, timeout
        self._protocol: Literal[4, 5] = protocol or 5
        self._may_fall_back = protocol is None
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._client: mqtt.Client | None = None
        self._is_open = self._is_online = False
        self._problem = "no connection yet"
        self._pending: dict[str, Pending] = {}
        self._streams: list[Stream[Any]] = []
        self._filters: dict[str, int] = {}
        self._presence: dict[str, AgentState] = {}
        self._groups: dict[str, list[str]] = {}
        self._looked_at = 0.0
        self._seen: OrderedDict[str, None] = OrderedDict()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Backend:
        self.connect()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        self.close()

    # What it is for

    def agent(self, name: str) -> Agent:
        return Agent(self, _name(name, "an agent"))

    def group(self, name: str) -> Group:
        """All agents of a group; every agent is in `all`."""
        return Group(self, _name(name, "a group"))

    def events(self, agent: str | None = None, level: str = "i") -> Stream[Event]:
        """The log lines of an agent, or of all, of this level and higher: one of v d i w e f."""
        if level not in _LEVELS or len(level) != 1:
            raise ValueError(f"level is one of v d i w e f; found {level!r}")
        return self._follow(agent, [f"log/{each}" for each in _LEVELS[_LEVELS.index(level) :]], self._lines)

    def failures(self, agent: str | None = None) -> Stream[FailureReport]:
        """The failure reports of an agent, or of all; each once."""
        return self._follow(agent, ["fail"], self._reports)

    def states(self, agent: str | None = None) -> Stream[AgentState]:
        """Whether an agent, or each, is online: what the broker keeps first, then each change."""
        return self._follow(agent, ["state"], self._states)

    def agents(self) -> dict[str, AgentState]:
        """The agents that the broker knows."""
        self._look()
        with self._lock:
            return dict(self._presence)

    # The connection

    def connect(self) -> None:
        """Connects, unless it is connected. Raises Failure `NO_BROKER` when that takes longer than `timeout`."""
        with self._lock:
            if not self._is_open:
                self._is_open = True
                self._start()
                self._clock = threading.Thread(target=self._run_clock, name="waypost", daemon=True)
                self._clock.start()
            if not self._changed.wait_for(lambda: self._is_online, self._timeout):
                problem = self._problem
            else:
                return
        self.close()
        raise Failure(0, "NO_BROKER", f"{self._host}: {problem}")

    def close(self) -> None:
        """Ends the connection; what is still awaited ends with Failure `CLOSED`, and streams end."""
        with self._lock:
            client, self._client = self._client, None
            pending, streams, clock = list(self._pending.values()), list(self._streams), self._clock
            self._is_open = self._is_online = False
            self._pending.clear()
            self._changed.notify_all()
        if client is not None:
            client.disconnect()
            client.loop_stop()
        for command in pending:
            command._end({}, Failure(0, "CLOSED", "the backend was closed", id=command.id))
        for stream in streams:
            stream.close()
        if clock is not None and clock is not threading.current_thread():
            clock.join()

    def _start(self) -> None:
        five = self._protocol == 5
        client = mqtt.Client(
            CallbackAPIVersion.VERSION2,
            client_id=f"waypost-{self.sender}-{secrets.token_hex(6)}",
            clean_session=None if five else True,
            protocol=mqtt.MQTTv5 if five else mqtt.MQTTv311,
        )
        if self._url.username:
            client.username_pw_set(
                urllib.parse.unquote(self._url.username), urllib.parse.unquote(self._url.password or "")
            )
        if self._url.scheme == "mqtts":
            client.tls_set()
        client.reconnect_delay_set(1, 30)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        if self._configure is not None:
            self._configure(client)
        self._client = client
        port = self._url.port or (8883 if self._url.scheme == "mqtts" else 1883)
        client.connect_async(self._host, port, keepalive=30)
        client.loop_start()

    def _fall_back(self, client: mqtt.Client) -> None:
        """A broker that does not speak MQTT 5 gets 3.1.1; from a thread of its own, for this client's is to end."""
        with self._lock:
            if client is not self._client or not self._may_fall_back or self._protocol == 4:
                return
            self._may_fall_back, self._protocol, self._client = False, 4, None

        def change() -> None:
            client.disconnect()
            client.loop_stop()
            with self._lock:
                if self._is_open:
                    self._start()

        threading.Thread(target=change, name="waypost-protocol", daemon=True).start()

    def _on_connect(
        self,
        client: mqtt.Client,
        _: Any,
        flags: mqtt.ConnectFlags,
        code: ReasonCode,
        properties: Properties | None,
    ) -> None:
        if code.is_failure:
            self._problem = f"the broker refuses the connection: {code}"
            if code.getName() == "Unsupported protocol version":
                self._fall_back(client)
            return
        with self._lock:
            self._may_fall_back = False
            filters = [(f"{self.root}/+/reply/{self.sender}", 1)] + [(each, 1) for each in self._filters]
        client.subscribe(filters)

    def _on_connect_fail(self, client: mqtt.Client, _: Any) -> None:
        self._problem = "nothing answers there"

    def _on_subscribe(
        self, client: mqtt.Client, _: Any, mid: int, codes: list[ReasonCode], properties: Properties | None
    ) -> None:
        refused = [code for code in codes if code.is_failure]
        with self._lock:
            if client is not self._client:
                return
            if refused:
                self._problem = f"the broker refuses a subscription: {refused[0]}"
            if self._is_online or codes[0].is_failure:
                return
            self._is_online = True
            # The replies arrive from now on: all that is awaited is sent, again where it was sent before.
            for command in self._pending.values():
                command._next = 0
            self._changed.notify_all()

    def _on_disconnect(
        self,
        client: mqtt.Client,
        _: Any,
        flags: mqtt.DisconnectFlags,
        code: ReasonCode,
        properties: Properties | None,
    ) -> None:
        with self._lock:
            self._is_online = False
        # Some brokers that know 3.1.1 alone end the connection without an answer.
        if code.is_failure:
            self._problem = f"the connection ended: {code}"
            self._fall_back(client)

    # What is sent

    def _send(self, audience: str, type: str, fields: Mapping[str, Json], options: Options) -> Pending:
        command = Pending(self, audience, _command(type, fields, options, time.time()), options)
        if command._is_group:
            self._look()
            if not self._members(audience):
                raise Failure(0, "NO_MEMBERS", f"the broker knows no agent in {audience}")
        with self._lock:
            if not self._is_open:
                raise Failure(0, "CLOSED", "the backend is not connected")
            if command.id in self._pending:
                raise ValueError(f"the command {command.id} is under way")
            self._pending[command.id] = command
            self._changed.notify_all()
        return command

    def _publish(self, client: mqtt.Client, command: Pending, now: float) -> None:
        properties: Properties | None = None
        if self._protocol == 5:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            properties.MessageExpiryInterval = max(1, int(command._expires - now + 1))
            properties.PayloadFormatIndicator = 1
            properties.ContentType = "application/json"
            properties.CorrelationData = command.id.encode()
            if not command._is_group:
                properties.ResponseTopic = f"{self.root}/{command.audience}/reply/{self.sender}"
            if command._trace is not None:
                properties.UserProperty = [("traceparent", command._trace)]
        topic = f"{self.root}/{command.audience}/cmd/{self.sender}"
        client.publish(topic, command._payload, qos=1, properties=properties)

    def _run_clock(self) -> None:
        """Sends what is due, and ends what is not answered in time."""
        while True:
            with self._lock:
                if not self._is_open:
                    return
                now = time.monotonic()
                over = [command for command in self._pending.values() if now >= command._deadline]
                for command in over:
                    del self._pending[command.id]
                waiting = list(self._pending.values())
                due = [
                    each for each in waiting if self._is_online and now >= each._next and now < each._expires
                ]
                for command in due:
                    command._next = now + _REPEAT
                client = self._client
            for command in over:
                command._end(self._members(command.audience) if command._is_group else {})
            for command in due:
                if client is None:
                    continue
                try:
                    self._publish(client, command, now)
                except (ValueError, RuntimeError, OSError) as error:
                    # What can't be sent must not end this thread, which sends and ends all others.
                    with self._lock:
                        self._pending.pop(command.id, None)
                    command._end({}, Failure(0, "NOT_SENT", str(error), id=command.id))
            with self._lock:
                next = [each._deadline for each in self._pending.values()]
                if self._is_online:
                    next += [each._next for each in self._pending.values() if each._next < each._expires]
                pause = min(next, default=now + 60) - time.monotonic()
                if self._is_open and pause > 0:
                    self._changed.wait(pause)

    # What comes

    def _on_message(self, client: mqtt.Client, _: Any, message: mqtt.MQTTMessage) -> None:
        if not message.topic.startswith(self.root + "/"):
            return
        agent, _, rest = message.topic[len(self.root) + 1 :].partition("/")
        try:
            if rest == f"reply/{self.sender}":
                self._came(Reply._read(agent, _parse(message.payload)))
                return
            if rest == "state":
                self._noted(
                    agent, self._presence, message.payload, lambda json: AgentState._read(agent, json)
                )
            if rest == "health":
                self._noted(agent, self._groups, message.payload, lambda json: _Fields(json).texts("groups"))
            with self._lock:
                streams = [
                    each
                    for each in self._streams
                    if any(mqtt.topic_matches_sub(filter, message.topic) for filter in each._filters)
                ]
            for stream in streams:
                stream._came(agent, bytes(message.payload))
        except ValueError:
            self.unreadable += 1

    def _noted(
        self,
        agent: str,
        known: dict[str, T],
        payload: bytes | bytearray,
        read: Callable[[dict[str, Json]], T],
    ) -> None:
        with self._lock:
            self._looked_at = time.monotonic()
            if payload:
                known[agent] = read(_parse(payload))
            else:
                known.pop(agent, None)

    def _came(self, reply: Reply) -> None:
        with self._lock:
            command = self._pending.get(reply.id)
        if command is None or (not command._is_group and command.audience != reply.agent):
            return
        if command._replied(reply, lambda: self._members(command.audience)):
            with self._lock:
                self._pending.pop(reply.id, None)

    def _lines(self, agent: str, payload: bytes) -> list[Event]:
        events = [Event._read(agent, _parse(line)) for line in payload.split(b"\n") if line]
        return [event for event in events if self._is_new(f"{agent} {event.boot} {event.sequence}")]

    def _reports(self, agent: str, payload: bytes) -> list[FailureReport]:
        report = FailureReport._read(agent, _parse(payload))
        return [report] if self._is_new(f"{agent} {report.id} {report.count}") else []

    def _states(self, agent: str, payload: bytes) -> list[AgentState]:
        return [AgentState._read(agent, _parse(payload))] if payload else []

    def _is_new(self, key: str) -> bool:
        """Whether this came for the first time: what is sent at QoS 1 may come again."""
        with self._lock:
            if key in self._seen:
                return False
            self._seen[key] = None
            if len(self._seen) > _STREAM_LIMIT:
                self._seen.popitem(last=False)
            return True

    # Who is there

    def _members(self, audience: str) -> dict[str, bool]:
        """The known members of a group, and whether each is online."""
        name = audience[1:]
        with self._lock:
            return {
                agent: state.online
                for agent, state in self._presence.items()
                if name == "all" or name in self._groups.get(agent, [])
            }

    def _look(self) -> None:
        """Waits until the broker has sent what it keeps of the agents; it is kept up to date from then on."""
        filters = [f"{self.root}/+/state", f"{self.root}/+/health"]
        with self._lock:
            if filters[0] not in self._filters:
                self._looked_at = time.monotonic()
                self._subscribe(filters)
        while (left := self._looked_at + _QUIET - time.monotonic()) > 0:
            time.sleep(left)

    def _document(self, agent: str, name: str) -> Json:
        """What the broker keeps of an agent; None when there is nothing."""
        stream = self._follow(agent, [name], lambda _, payload: [_parse(payload)] if payload else [])
        try:
            return stream.get(timeout=2)
        finally:
            stream.close()

    def _follow(
        self, agent: str | None, names: Sequence[str], read: Callable[[str, bytes], list[T]]
    ) -> Stream[T]:
        level = "+" if agent is None else _name(agent, "an agent")
        stream = Stream(self, [f"{self.root}/{level}/{name}" for name in names], read)
        with self._lock:
            self._streams.append(stream)
            self._subscribe(stream._filters)
        return stream

    def _unfollow(self, stream: Stream[Any]) -> None:
        with self._lock:
            if stream not in self._streams:
                return
            self._streams.remove(stream)
            for each in stream._filters:
                self._filters[each] -= 1
                if not self._filters[each]:
                    del self._filters[each]
                    if self._client is not None and self._is_online:
                        self._client.unsubscribe(each)

    def _subscribe(self, filters: Sequence[str]) -> None:
        for each in filters:
            self._filters[each] = self._filters.get(each, 0) + 1
        if self._client is not None and self._is_online:
            # Again where it is followed already: what is retained comes with each subscription.
            self._client.subscribe([(each, 1) for each in filters])


@dataclass(frozen=True)
class Agent:
    """One agent. Each method waits for the reply, and raises Failure when the agent refuses or it fails there."""

    backend: Backend
    name: str

    def send(self, type: str, fields: Mapping[str, Json], options: Options = _DEFAULT) -> Pending:
        """Sends any command, and does not wait."""
        return self.backend._send(self.name, type, fields, options)

    def open(
        self, url: str, params: Mapping[str, Json] | None = None, options: Options = _DEFAULT
    ) -> OpenResult:
        return OpenResult._read(_good(self.send("open", _open(url, params), options).reply()), url)

    def call(
        self,
        service: str,
        method: str,
        args: Sequence[Json] | Mapping[str, Json] = (),
        options: Options = _DEFAULT,
    ) -> Json:
        """Calls a method, the arguments by position or by label."""
        return self.send("call", _call(service, method, args), options).result()

    def ping(self, options: Options = _DEFAULT) -> dict[str, Json]:
        """Its health."""
        return _object(self.send("ping", {}, options).result())

    def cancel(self, id: str, options: Options = _DEFAULT) -> None:
        """Ends a command of this backend that waits or runs."""
        self.send("cancel", {"target": _name(id, "an id")}, options).result()

    def state(self) -> AgentState | None:
        """Whether it is online, as the broker knows; None when it does not know the agent."""
        json = self.backend._document(self.name, "state")
        return None if json is None else AgentState._read(self.name, json)

    def document(self, name: str) -> Json:
        """What the broker keeps of it: `health`, with its groups in `membership`, `routes`, `contract`,
        `map/applied`, `navigation`, and for the release role `groups`; else None."""
        return self.backend._document(self.name, name)


@dataclass(frozen=True)
class Group:
    """All agents of a group. Each method waits for those that are online."""

    backend: Backend
    name: str

    def send(self, type: str, fields: Mapping[str, Json], options: Options = _DEFAULT) -> Pending:
        """Sends any command, and waits for no reply. Raises Failure `NO_MEMBERS` when no member is known."""
        return self.backend._send("@" + self.name, type, fields, options)

    def open(
        self, url: str, params: Mapping[str, Json] | None = None, options: Options = _DEFAULT
    ) -> Answers:
        return self.send("open", _open(url, params), options).answers()

    def call(
        self,
        service: str,
        method: str,
        args: Sequence[Json] | Mapping[str, Json] = (),
        options: Options = _DEFAULT,
    ) -> Answers:
        return self.send("call", _call(service, method, args), options).answers()

    def ping(self, options: Options = _DEFAULT) -> Answers:
        return self.send("ping", {}, options).answers()


def _open(url: str, params: Mapping[str, Json] | None) -> dict[str, Json]:
    return {"url": url} | ({"params": dict(params)} if params else {})


def _call(service: str, method: str, args: Sequence[Json] | Mapping[str, Json]) -> dict[str, Json]:
    found = dict(args) if isinstance(args, Mapping) else list(args)
    return {"service": service, "method": method} | ({"args": found} if found else {})


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


# The same for asyncio


class AsyncStream(Generic[T]):
    """A stream for `async for`; see Stream."""

    def __init__(self, stream: Stream[T]) -> None:
        self._stream = stream
        self._signal: asyncio.Queue[None] = asyncio.Queue()
        loop = asyncio.get_running_loop()
        put = stream._waiting.put

        def take(value: T | None) -> None:
            put(value)
            # A loop that has ended reads no more.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._signal.put_nowait, None)

        # What came before this waits in there.
        for _ in range(stream._waiting.qsize()):
            self._signal.put_nowait(None)
        stream._take = take

    @property
    def missed(self) -> int:
        return self._stream.missed

    async def __aiter__(self) -> AsyncIterator[T]:
        while True:
            try:
                value = self._stream._waiting.get_nowait()
            except queue.Empty:
                await self._signal.get()
                continue
            if value is None:
                return
            yield value

    def close(self) -> None:
        self._stream.close()


class AsyncPending:
    """A command that was sent, for asyncio; see Pending."""

    def __init__(self, pending: Pending) -> None:
        self.id = pending.id
        self._pending = pending

    async def accepted(self) -> bool:
        return await asyncio.shield(asyncio.wrap_future(self._pending._accepted))

    async def answers(self) -> Answers:
        return await asyncio.shield(asyncio.wrap_future(self._pending._answers))

    async def reply(self) -> Reply:
        return self._pending._one(await self.answers())

    async def result(self) -> Json:
        return _good(await self.reply()).result

    def cancel(self) -> None:
        self._pending.cancel()


class AsyncBackend:
    """A connection to the broker, for asyncio; takes what Backend takes.

    async with AsyncBackend("mqtt://ops:secret@broker.example") as backend:
        print(await backend.agent("kiosk-7").call("Calculator", "add", [2, 40]))
    """

    def __init__(
        self,
        url: str,
        sender: str | None = None,
        root: str = "waypost/v1",
        protocol: Literal[4, 5] | None = None,
        configure: Callable[[mqtt.Client], None] | None = None,
        timeout: float = 10.0,
    ) -> None:
        self._backend = Backend(url, sender, root, protocol, configure, timeout)

    async def __aenter__(self) -> AsyncBackend:
        await asyncio.to_thread(self._backend.connect)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, place: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self._backend.close)

    def agent(self, name: str) -> AsyncAgent:
        return AsyncAgent(self._backend.agent(name))

    def group(self, name: str) -> AsyncGroup:
        return AsyncGroup(self._backend.group(name))

    def events(self, agent: str | None = None, level: str = "i") -> AsyncStream[Event]:
        return AsyncStream(self._backend.events(agent, level))

    def failures(self, agent: str | None = None) -> AsyncStream[FailureReport]:
        return AsyncStream(self._backend.failures(agent))

    def states(self, agent: str | None = None) -> AsyncStream[AgentState]:
        return AsyncStream(self._backend.states(agent))

    async def agents(self) -> dict[str, AgentState]:
        return await asyncio.to_thread(self._backend.agents)


@dataclass(frozen=True)
class AsyncAgent:
    """One agent, for asyncio; see Agent."""

    _agent: Agent

    @property
    def name(self) -> str:
        return self._agent.name

    async def send(self, type: str, fields: Mapping[str, Json], options: Options = _DEFAULT) -> AsyncPending:
        return AsyncPending(self._agent.send(type, fields, options))

    async def open(
        self, url: str, params: Mapping[str, Json] | None = None, options: Options = _DEFAULT
    ) -> OpenResult:
        pending = await self.send("open", _open(url, params), options)
        return OpenResult._read(_good(await pending.reply()), url)

    async def call(
        self,
        service: str,
        method: str,
        args: Sequence[Json] | Mapping[str, Json] = (),
        options: Options = _DEFAULT,
    ) -> Json:
        return await (await self.send("call", _call(service, method, args), options)).result()

    async def ping(self, options: Options = _DEFAULT) -> dict[str, Json]:
        return _object(await (await self.send("ping", {}, options)).result())

    async def cancel(self, id: str, options: Options = _DEFAULT) -> None:
        await (await self.send("cancel", {"target": _name(id, "an id")}, options)).result()

    async def state(self) -> AgentState | None:
        return await asyncio.to_thread(self._agent.state)

    async def document(self, name: str) -> Json:
        return await asyncio.to_thread(self._agent.document, name)


@dataclass(frozen=True)
class AsyncGroup:
    """All agents of a group, for asyncio; see Group."""

    _group: Group

    async def send(self, type: str, fields: Mapping[str, Json], options: Options = _DEFAULT) -> AsyncPending:
        return AsyncPending(await asyncio.to_thread(self._group.send, type, fields, options))

    async def open(
        self, url: str, params: Mapping[str, Json] | None = None, options: Options = _DEFAULT
    ) -> Answers:
        return await (await self.send("open", _open(url, params), options)).answers()

    async def call(
        self,
        service: str,
        method: str,
        args: Sequence[Json] | Mapping[str, Json] = (),
        options: Options = _DEFAULT,
    ) -> Answers:
        return await (await self.send("call", _call(service, method, args), options)).answers()

    async def ping(self, options: Options = _DEFAULT) -> Answers:
        return await (await self.send("ping", {}, options)).answers()


# Results of a type


def _wrong(value: Json, wanted: str) -> Failure:
    return Failure(
        0, "UNREADABLE", f"the result should be {wanted} and is {str(value)[:200]}; the method has run"
    )


def _json(value: Json) -> Json:
    return value


def _none(value: Json) -> None:
    return None


def _bool(value: Json) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(value, "true or false")


def _int(value: Json) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise _wrong(value, "an integer")


def _float(value: Json) -> float:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    raise _wrong(value, "a number")


def _str(value: Json) -> str:
    if isinstance(value, str):
        return value
    raise _wrong(value, "a text")


def _list(each: Callable[[Json], T]) -> Callable[[Json], list[T]]:
    def read(value: Json) -> list[T]:
        if isinstance(value, list):
            return [each(element) for element in value]
        raise _wrong(value, "a list")

    return read


def _dict(each: Callable[[Json], T]) -> Callable[[Json], dict[str, T]]:
    def read(value: Json) -> dict[str, T]:
        if isinstance(value, dict):
            return {key: each(element) for key, element in value.items()}
        raise _wrong(value, "an object")

    return read


def _optional(each: Callable[[Json], T]) -> Callable[[Json], T | None]:
    return lambda value: None if value is None else each(value)


def _quoted(value: Json) -> str:
    """A value in one component of a path."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    if not text:
        raise ValueError("a value in the path of a URL is not empty")
    return urllib.parse.quote(text, safe="")


def _choice(*values: str) -> Callable[[Json], Any]:
    def read(value: Json) -> Any:
        if isinstance(value, str) and value in values:
            return value
        raise _wrong(value, "one of " + ", ".join(values))

    return read


def _given(known: Mapping[str, Json], further: Mapping[str, Json] | None) -> dict[str, Json]:
    """The parameters that were given."""
    return {name: value for name, value in known.items() if value is not None} | dict(further or {})

"""#
}
