"""The generated client in Python with a real broker and real agents: story.py BROKER-URL OLD-BROKER-URL….

The broker is restarted and an agent is killed on request: a line to the process that started all of it, and one back.
"""

import asyncio
import sys

import demo
from demo import Backend, Failure, Options


def restart(what):
    """Asks for a kill and a new start of the broker or of k1, and goes on while that happens."""
    print(f"restart {what}", flush=True)


def done(what):
    line = sys.stdin.readline().strip()
    assert line == f"restarted {what}", line


def raises(code, name, body):
    try:
        body()
    except Failure as failure:
        assert (failure.code, failure.name) == (code, name), failure
        return failure
    raise AssertionError(f"{name} was not raised")


def plain(url, protocol):
    with Backend(url, sender="ops", protocol=protocol) as backend:
        agent = backend.agent("k1")
        calculator, routes = demo.CalculatorService(agent), demo.Routes(agent)
        assert calculator.add(2, 40) == 42
        opened = routes.router_user_id("a/ä?", params={"tab": "all"})
        assert opened.route == "scheme://router/user/:id" and opened.value["params"]["id"] == "a/ä?", opened
        failure = raises(404, "NO_METHOD", lambda: agent.call("CalculatorService", "ad", [1]))
        assert failure.nearest == ["add(a:b:)"] and failure.agent == "k1"
        trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        traced = agent.send("ping", {}, Options(trace=trace)).reply()
        assert traced.trace == trace and traced.ok

        events, failures = backend.events("k1"), backend.failures()
        raises(404, "NO_ROUTE", lambda: agent.open("scheme://nowhere"))
        report = next(each for each in failures if each.url == "scheme://nowhere")
        assert report.agent == "k1" and report.name == "NO_ROUTE"
        calculator.add(1, 1)
        next(each for each in events if each.message.startswith("returned CalculatorService"))
        events.close()
        assert not [each for each in iter(lambda: events.get(0.0), None) if each.agent != "k1"]

        slow = agent.send("call", {"service": "ClockService", "method": "sleep(ms:)", "args": [60_000]})
        assert slow.accepted()
        slow.cancel()
        assert slow.reply().name == "CANCELED"

        answers = backend.group("lobby").call("CalculatorService", "add", [1, 2])
        assert answers.ok and sorted(each.agent for each in answers.replies) == ["k1", "k2"], answers
        raises(0, "NO_MEMBERS", lambda: backend.group("nobody").ping())
        states = backend.agents()
        assert states["k1"].online and not states["gone"].online
        answers = backend.group("all").ping()
        assert not answers.ok and answers.silent == ["gone"], answers
        state = agent.state()
        assert state is not None and state.online and agent.document("contract")["services"]
        assert backend.agent("nobody").state() is None
        assert backend.unreadable == 0


def over_ends(url):
    """Commands that are under way while the broker and the agent end."""
    with Backend(url, sender="ops") as backend:
        agent = backend.agent("k1")
        ledger = demo.LedgerService(agent)
        before = len(ledger.entries())
        waits = Options(expires=300)
        restart("broker")
        entries = [agent.send("call", append(f"broker {n}"), waits) for n in range(5)]
        done("broker")
        for entry in entries:
            assert entry.reply().ok, entry.reply()
        # The same id runs once.
        again = agent.send("call", append("broker 0"), Options(expires=300, id=entries[0].id)).reply()
        assert again.dup and again.id == entries[0].id
        assert len(ledger.entries()) == before + 5

        slow = agent.send("call", {"service": "ClockService", "method": "sleep(ms:)", "args": [1_500]}, waits)
        assert slow.accepted()
        restart("k1")
        done("k1")
        reply = slow.reply()
        assert reply.ok and reply.attempt == 2, reply
        late = agent.send("ping", {}, Options(expires=1, timeout=0.01))
        assert raises(0, "NO_REPLY", late.result).id == late.id


def append(entry):
    return {"service": "LedgerService", "method": "append(entry:)", "args": [entry]}


async def asynchronous(url):
    async with demo.AsyncBackend(url, sender="ops") as backend:
        agent = backend.agent("k1")
        events, failures = backend.events("k1"), backend.failures("k1")
        calculator = demo.AsyncCalculatorService(agent)
        assert await asyncio.gather(*(calculator.add(n, 1) for n in range(20))) == list(range(1, 21))
        async for event in events:
            assert event.agent == "k1"
            break
        try:
            await demo.AsyncRoutes(agent).router_append_line("")
        except ValueError:
            pass
        else:
            raise AssertionError("an empty value in a path")
        try:
            await agent.open("scheme://nowhere")
        except Failure as failure:
            assert failure.name == "NO_ROUTE"
        async for report in failures:
            assert report.name == "NO_ROUTE"
            break
        pending = await agent.send("call", {"service": "ClockService", "method": "sleep(ms:)", "args": [60_000]})
        assert await pending.accepted()
        await agent.cancel(pending.id)
        assert (await pending.reply()).name == "CANCELED"
        assert (await backend.group("lobby").ping()).ok
        waiting = asyncio.create_task(agent.call("ClockService", "sleep(ms:)", [60_000]))
        await asyncio.sleep(0)
        waiting.cancel()
        try:
            await waiting
        except asyncio.CancelledError:
            pass
        assert await calculator.add(1, 1) == 2


def main():
    url, *old = sys.argv[1:]
    for protocol in (None, 4):
        plain(url, protocol)
    # Brokers that know 3.1.1 alone.
    for each in old:
        with Backend(each, sender="ops") as backend:
            assert demo.CalculatorService(backend.agent("k1")).add(2, 40) == 42
            assert backend._protocol == 4
    asyncio.run(asynchronous(url))
    over_ends(url)
    raises(0, "NO_BROKER", lambda: Backend("mqtt://127.0.0.1:1", sender="ops", timeout=0.5).connect())
    print("story in Python: well", flush=True)


main()
