import MQTTLink
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostConsole

/// What the console makes of messages, without a broker.
@Suite struct FleetStateTests {
    private let topics = Topics.standard
    private let now: Int64 = 1_795_217_000_000

    private func message(_ topic: String, _ payload: [UInt8], retain: Bool = false) -> MQTTMessage {
        MQTTMessage(topic: topic, payload: payload, retain: retain)
    }

    private func online(_ agent: String, version: String = "2.4.1", epoch: Int64 = 1, at time: Int64? = nil)
        -> MQTTMessage
    {
        let json: JSONValue = [
            "state": "online", "epoch": .int(epoch), "boot": "B", "why": "birth", "agent": .string(agent),
            "version": .string(version), "mqtt": 5, "at": .int(time ?? now),
        ]
        return message(topics.state(of: agent), json.serialized(), retain: true)
    }

    private func lost(_ agent: String, epoch: Int64 = 1) -> MQTTMessage {
        let json: JSONValue = [
            "state": "offline", "epoch": .int(epoch), "boot": "B", "why": "will", "agent": .string(agent),
            "version": "2.4.1", "mqtt": 5,
        ]
        return message(topics.state(of: agent), json.serialized())
    }

    private func health(_ agent: String, red: String? = nil) -> MQTTMessage {
        let check: JSONValue = [
            "name": "disk", "state": .string(red == nil ? "ok" : "failed"), "ok": .bool(red == nil),
            "detail": .string(red ?? "fine"),
        ]
        let json: JSONValue = [
            "status": .string(red == nil ? "green" : "red"), "version": "2.4.1", "epoch": 1, "at": .int(now),
            "uptime": 1_000, "checks": [check], "groups": ["lobby"],
        ]
        return message(topics.health(of: agent), json.serialized())
    }

    private func failure(_ agent: String, id: String, count: Int64 = 1, ref: String? = nil) -> MQTTMessage {
        var report = FailureReport(
            id: id, code: .noRoute, origin: .router, ref: ref, url: "kiosk://gone",
            detail: "no route takes it",
            at: now)
        report.count = count
        return message(topics.failures(of: agent), report.encoded())
    }

    private func state(_ messages: [MQTTMessage]) -> FleetState {
        var state = FleetState(topics: topics, began: now)
        for message in messages { state.saw(message, now: now) }
        return state
    }

    @Test func `agents with one problem are one line`() throws {
        var messages: [MQTTMessage] = []
        for number in 1...12 {
            messages += [
                online("k\(number)"), health("k\(number)", red: number <= 5 ? "no space left" : nil),
            ]
        }
        let json = FleetView().json(of: state(messages), isComplete: true, asOf: now, now: now)
        let problems = try #require(json["problems"]?.arrayValue)
        #expect(problems.count == 1)
        #expect(problems.first?["count"] == 5)
        #expect(problems.first?["text"]?.stringValue?.contains("no space left") == true)
        #expect(json["counts"]?["failing"] == 5 && json["counts"]?["healthy"] == 7)
        #expect(json["rows"]?.arrayValue?.prefix(5).allSatisfy { $0["condition"] == "failing" } == true)
    }

    @Test func `a fleet without problems says so`() {
        let json = FleetView().json(
            of: state([online("k1"), health("k1")]), isComplete: true, asOf: now, now: now)
        #expect(json["problems"] == [])
        #expect(json["matched"] == 1)
    }

    @Test func `filter, state, group and version narrow the list`() throws {
        let state = state([
            online("k1"), health("k1"), online("k2", version: "2.3.0"), lost("k3"),
        ])
        func names(_ items: [String: String]) throws -> [String] {
            let view = try FleetView(QueryItems(items))
            return view.json(of: state, isComplete: true, asOf: now, now: now)["rows"]?.arrayValue?
                .compactMap { $0["agent"]?.stringValue } ?? []
        }
        #expect(try names(["filter": "K2"]) == ["k2"])
        #expect(try names(["state": "lost"]) == ["k3"])
        #expect(try names(["group": "lobby"]) == ["k1"])
        #expect(try names(["version": "2.3.0"]) == ["k2"])
        #expect(try names(["sort": "name", "desc": "1"]) == ["k3", "k2", "k1"])
        #expect(try names(["sort": "name", "offset": "1", "limit": "1"]) == ["k2"])
        for wrong in [["state": "sad"], ["sort": "mood"], ["limit": "0"], ["limit": "201"], ["offset": "-1"]]
        {
            #expect(throws: ViewError.self) { try FleetView(QueryItems(wrong)) }
        }
    }

    @Test func `a query is read as a browser writes it`() throws {
        let items = QueryItems(query: "log=level%3AW+tag:x%2By&agent=&filter=a%20b&&=&x")
        #expect(items["log"] == "level:W tag:x+y")
        #expect(items["filter"] == "a b")
        #expect(items["agent"] == nil && items["x"] == nil)
    }

    @Test func `what comes and goes stands in the time line`() {
        let events = state([online("k1"), lost("k1"), online("k1", epoch: 2)]).timeline(of: "k1")
        #expect(events.map(\.title) == ["lost", "healthy"])
    }

    @Test func `health that says the same changes nothing that a list shows`() {
        var state = state([online("k1"), health("k1")])
        let revision = state.revision
        state.saw(health("k1"), now: now + 30_000)
        #expect(state.revision == revision)
        state.saw(health("k1", red: "no space left"), now: now + 60_000)
        #expect(state.revision > revision)
    }

    @Test func `a failure that comes twice counts once, one that is counted up by the difference`() {
        var state = state([failure("k1", id: "f-1"), failure("k1", id: "f-1")])
        #expect(state.failures.total == 1)
        state.saw(failure("k1", id: "f-1", count: 4), now: now)
        #expect(state.failures.total == 4)
        #expect(state.failures.minutes(of: "k1", at: now)?.last == 4)
        #expect(state.lines.count == 2, "one line for each time that it came with news")
        #expect(state.failures.groups.sorted.first?.count == 4)
    }

    @Test func `a command that logs, replies and failures name is one command`() throws {
        let reply: JSONValue = [
            "id": "c-1", "type": "reply", "status": "failed", "code": 404, "name": "NO_ROUTE",
        ]
        var state = FleetState(topics: topics, began: now)
        state.sends("c-1", to: "k1", "open", "kiosk://gone", as: "console", now: now)
        state.saw(failure("k1", id: "f-1", ref: "c-1"), now: now + 1)
        state.saw(message(topics.reply(of: "k1", to: "console"), reply.serialized()), now: now + 2)
        let commands = state.commands.newest(10)
        #expect(commands.count == 1)
        let command = try #require(commands.first)
        #expect(command.type == "open" && command.sent == now && command.ended == now + 2)
        #expect(command.code == .noRoute)
    }

    @Test func `hostile messages change nothing`() {
        let hostile = [
            "not json", "[]", "{\"state\":5}", "{\"t\":1}", "{\"id\":\"x\",\"code\":99999999999999999999}",
            String(repeating: "[", count: 100_000),
        ]
        var state = FleetState(topics: topics, began: now)
        for text in hostile {
            for topic in ["state", "health", "map/applied", "log/i", "fail", "reply/console", "nonsense"] {
                state.saw(message("waypost/v1/k1/\(topic)", Array(text.utf8)), now: now)
            }
        }
        #expect(state.lines.count == 0 && state.failures.total == 0)
    }

    @Test func `an agent that is forgotten is no longer listed`() {
        let gone = message(topics.state(of: "k1"), [])
        #expect(state([online("k1"), health("k1"), gone]).rows.isEmpty)
    }

    @Test func `minutes without failures are zero`() {
        var minutes = MinuteCounts()
        minutes.add(2, at: 60_000 * 100)
        minutes.add(3, at: 60_000 * 102 + 59_999)
        minutes.add(5, at: 60_000 * 30)
        #expect(minutes.values(at: 60_000 * 103).suffix(5) == [0, 2, 0, 3, 0])
        #expect(minutes.values(at: 60_000 * 161).suffix(60).reduce(0, +) == 3)
        #expect(minutes.values(at: 60_000 * 500).allSatisfy { $0 == 0 })
    }
}
