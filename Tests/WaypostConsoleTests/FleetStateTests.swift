import MQTTLink
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostConsole

/// What the console makes of messages, without a broker.
@Suite final class FleetStateTests {
    private var inbox = FleetInbox(topics: .standard)
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

    private func health(
        _ agent: String, red: String? = nil, epoch: Int64 = 1, payload: String? = nil
    ) -> MQTTMessage {
        let check: JSONValue = [
            "name": "disk", "state": .string(red == nil ? "ok" : "failed"), "ok": .bool(red == nil),
            "detail": .string(red ?? "fine"),
        ]
        let json: JSONValue = [
            "status": .string(red == nil ? "green" : "red"), "version": "2.4.1", "epoch": .int(epoch),
            "at": .int(now),
            "uptime": 1_000, "checks": [check], "groups": ["lobby"],
        ]
        return message(topics.health(of: agent), payload.map { Array($0.utf8) } ?? json.serialized())
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
        var state = FleetState(began: now)
        for message in messages { see(&state, message, now: now) }
        return state
    }

    /// As ``FleetReader`` does it.
    private func see(_ state: inout FleetState, _ message: MQTTMessage, now: Int64) {
        for news in inbox.read(message, now: now) { state.take(news, now: now) }
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

    @Test func `the page of an agent says which document of its groups is in force, refused or waited for`() {
        let names: JSONValue = ["lobby"]
        func groups(_ revision: Int64, _ name: String) -> MQTTMessage {
            let document = GroupsDocument(revision: revision, audience: "k1", added: [name], removed: [])
            return message(topics.groups(of: "k1"), document.encoded(), retain: true)
        }
        func digest(_ message: MQTTMessage) -> String { SHA256.label(SHA256.digest(of: message.payload)) }
        func health(_ said: SaidGroups) -> MQTTMessage {
            var health = Health(["status": "green", "epoch": 1, "at": .int(now), "groups": names])
            health.saidGroups = said
            return message(topics.health(of: "k1"), health.json.serialized(), retain: true)
        }
        let (first, second) = (groups(1, "eu"), groups(2, "hall"))
        let taken = SaidGroups(
            own: ["lobby"], revision: 1, digest: digest(first), added: ["eu"], removed: [], refused: nil)
        var refusing = taken
        refusing.refused = .init(digest: digest(second), failure: Failure(.notAllowed, "own-groups"))
        var state = state([first, online("k1")])
        var last: Int64 = 0
        func membership() -> JSONValue? {
            // What is new of it reaches the page.
            #expect(state.revisions["k1", default: 0] > last)
            last = state.revisions["k1", default: 0]
            return state.agentJSON("k1", asOf: now, now: now)["membership"]
        }
        #expect(membership() == .null, "what the broker keeps of an agent that is not known yet")
        see(&state, first, now: now)
        #expect(membership()?["waiting"]?["added"] == ["eu"])
        see(&state, health(taken), now: now)
        let inForce = membership()
        #expect(inForce?["revision"] == 1 && inForce?["own"] == names && inForce?["waiting"] == .null)
        see(&state, second, now: now)
        #expect(membership()?["waiting"]?["revision"] == 2)
        see(&state, health(refusing), now: now)
        let refused = membership()
        #expect(refused?["refused"]?["name"] == "NOT_ALLOWED" && refused?["waiting"] == .null)
        #expect(refused?["added"] == ["eu"])
        // Removed, or no such document: then there is nothing to wait for.
        for payload in [[], Array("x".utf8)] {
            see(&state, groups(3, "eu"), now: now)
            #expect(membership()?["waiting"]?["revision"] == 3)
            see(&state, message(topics.groups(of: "k1"), payload), now: now)
            #expect(membership()?["waiting"] == .null)
        }
    }

    @Test(arguments: [
        "-1", "9223372036854775807", "9223372036854775808", "9007199254740992", "1e3", "x", "0x1", "+1x",
    ])
    func `a number of a request is looked at before it is used`(_ text: String) {
        #expect(throws: ViewError.self) { try QueryItems(["before": text]).number("before") }
        #expect(throws: ViewError.self) { try QueryItems(["limit": text]).number("limit", in: 1...500) }
    }

    @Test func `a query is read as a browser writes it`() throws {
        let items = QueryItems(query: "log=level%3AW+tag:x%2By&agent=&filter=a%20b&&=&x")
        #expect(items["log"] == "level:W tag:x+y")
        #expect(items["filter"] == "a b")
        #expect(items["agent"] == nil && items["x"] == nil)
    }

    /// The values are those of a browser's `URLSearchParams`.
    @Test(arguments: [
        ("1+2%2B3", "1 2+3"), ("%0A%0D%00", "\n\r\0"), ("%E2%80%A8%C2%85", "\u{2028}\u{85}"),
        ("%FF", "\u{FFFD}"),
        ("b=c", "b=c"), ("%zz%", "%zz%"), ("1;b=2", "1;b=2"), ("%EF%BB%BFx", "\u{FEFF}x"), ("%2525", "%25"),
        ("%ed%a0%80", "\u{FFFD}\u{FFFD}\u{FFFD}"), ("%26%3D%23", "&=#"), ("+\u{301}", " \u{301}"),
        ("x&a\u{301}=y", "x"), ("=", "="),
    ]) func `a query is taken apart at its own marks`(_ text: String, _ value: String) {
        let found = QueryItems(query: "a=\(text)&z=1")
        #expect(found["a"].map { Array($0.utf8) } == Array(value.utf8))
        #expect(found["z"] == "1")
    }

    @Test func `what comes and goes stands in the time line`() {
        var fleet = state([online("k1"), lost("k1"), online("k1", epoch: 2), health("k1", epoch: 2)])
        // One that connects anew without being lost says at once how it is.
        for epoch: Int64 in [3, 4] {
            see(&fleet, online("k1", epoch: epoch), now: now)
            see(&fleet, health("k1", epoch: epoch), now: now)
        }
        #expect(
            fleet.timeline(of: "k1").map(\.title) == ["lost", "online"])
        see(&fleet, online("k1", epoch: 5), now: now)
        see(&fleet, health("k1", red: "full", epoch: 5), now: now)
        #expect(fleet.timeline(of: "k1").map(\.title) == ["lost", "online", "failing"])
    }

    @Test func `an agent of which no health came is not healthy, and something is wrong`() {
        for messages in [
            [online("k1")], [online("k1", epoch: 2), health("k1")],
            [online("k1"), health("k1", payload: "?")],
        ] {
            let json = FleetView().json(of: state(messages), isComplete: true, asOf: now, now: now)
            #expect(json["counts"]?["healthy"] == 0 && json["counts"]?["unclear"] == 1)
            #expect(json["problems"]?.arrayValue?.count == 1, "\(json["problems"] ?? .null)")
        }
    }

    /// What is told comes a minute and a half later: longer, and health would show that the agent's clock is wrong.
    @Test func `each event of the time line has the time that its message speaks of`() {
        var state = state([online("k1"), health("k1")])
        let (told, later) = (now + 60_000, now + 150_000)
        func json(_ message: MQTTMessage, _ change: (inout [String: JSONValue]) -> Void) -> MQTTMessage {
            var object = message.json?.objectValue ?? [:]
            change(&object)
            return self.message(message.topic, JSONValue.object(object).serialized())
        }
        let map: JSONValue = [
            "layers": [["layer": "agent", "rev": 3, "digest": "sha256:a", "at": .int(told + 3)]]
        ]
        let failure = json(failure("k1", id: "f1")) {
            $0["at"] = .int(told + 1)
            $0["first"] = .int(told + 1)
            $0["last"] = .int(told + 1)
        }
        let red = json(health("k1", red: "no space left")) { $0["at"] = .int(told + 2) }
        for message in [failure, red, message(topics.applied(of: "k1"), map.serialized())] {
            see(&state, message, now: later)
        }
        let events = state.timeline(of: "k1")
        #expect(events.map(\.kind) == [.failure, .health, .map], "\(events)")
        #expect(events.map(\.time) == [told + 1, told + 2, told + 3])
        // And so has the end of a command, whose reply is repeated to who asks again.
        state.sends("c1", to: "k1", "open", nil, as: "web", now: now)
        let reply: JSONValue = [
            "id": "c1", "type": "reply", "status": "ok", "code": 0, "name": "OK", "dup": true,
            "at": .int(told),
        ]
        see(&state, message(topics.reply(of: "k1", to: "web"), reply.serialized()), now: later)
        #expect(state.commands.command("c1", of: "k1")?.ended == told)
    }

    @Test func `agents that are lost with the broker are not known, and what they were is shown`() {
        func after(_ wills: [String], pause: Int64) -> FleetState {
            var state = state(["k1", "k2", "k3"].flatMap { [online($0), health($0)] })
            for agent in wills { see(&state, lost(agent), now: now + 1_000) }
            for news in inbox.connectionLost(at: now + 1_000 + pause) {
                state.take(news, now: now + 1_000 + pause)
            }
            return state
        }
        let fleet = after(["k1", "k2"], pause: 200)
        #expect(fleet.problems == 0 && fleet.rows.values.allSatisfy { $0.summary.condition == .healthy })
        #expect(fleet.timeline(of: "k1").map(\.title) == ["not known"])
        #expect(fleet.timeline(of: "k1").last?.detail.contains("the broker ended") == true)
        #expect(fleet.timeline(of: "k3").isEmpty)
        // One alone, and those that went some seconds earlier, are lost.
        for (wills, pause) in [(["k1"], Int64(200)), (["k1", "k2"], 1_001)] {
            inbox = FleetInbox(topics: .standard)
            let fleet = after(wills, pause: pause)
            #expect(fleet.problems == wills.count)
            #expect(wills.allSatisfy { fleet.timeline(of: $0).map(\.title) == ["lost"] })
        }
    }

    @Test func `of a map that only health names it is not said that all of it is in force`() {
        var object = health("k1").json?.objectValue ?? [:]
        object["map"] = ["layers": [["layer": "agent", "rev": 3]], "refused": .null]
        var state = state([
            online("k1"), message(topics.health(of: "k1"), JSONValue.object(object).serialized()),
        ])
        func layer() -> JSONValue? { state.agentJSON("k1", asOf: now, now: now)["maps"]?[0] }
        func use() -> JSONValue? { state.mapsJSON(asOf: now)["layers"]?[0]?["revisions"]?[0] }
        #expect(layer()?["revision"] == 3 && layer()?["inactive"] == .null && layer()?["state"] == .null)
        #expect(use()?["agents"] == 1 && use()?["inactive"] == .null)
        let map: JSONValue = [
            "layers": [["layer": "agent", "rev": 3, "digest": "sha256:a", "at": .int(now)]]
        ]
        see(&state, message(topics.applied(of: "k1"), map.serialized()), now: now)
        #expect(layer()?["inactive"] == 0 && layer()?["state"] == "active" && use()?["inactive"] == 0)
    }

    @Test func `health that says the same changes nothing that a list shows`() {
        var state = state([online("k1"), health("k1")])
        let revision = state.revision
        see(&state, health("k1"), now: now + 30_000)
        #expect(state.revision == revision)
        see(&state, health("k1", red: "no space left"), now: now + 60_000)
        #expect(state.revision > revision)
    }

    @Test func `a failure that comes twice counts once, one that is counted up by the difference`() {
        var state = state([failure("k1", id: "f-1"), failure("k1", id: "f-1")])
        #expect(state.failures.total == 1)
        see(&state, failure("k1", id: "f-1", count: 4), now: now)
        #expect(state.failures.total == 4)
        #expect(state.failures.minutes(of: "k1", at: now)?.last == 4)
        #expect(state.lines.count == 2, "one line for each time that it came with news")
        #expect(state.failures.groups.sorted.first?.count == 4)
    }

    @Test func `a command that logs, replies and failures name is one command`() throws {
        let reply: JSONValue = [
            "id": "c-1", "type": "reply", "status": "failed", "code": 404, "name": "NO_ROUTE",
        ]
        var state = FleetState(began: now)
        state.sends("c-1", to: "k1", "open", "kiosk://gone", as: "console", now: now)
        see(&state, failure("k1", id: "f-1", ref: "c-1"), now: now + 1)
        see(&state, message(topics.reply(of: "k1", to: "console"), reply.serialized()), now: now + 2)
        let commands = state.commands.newest(10)
        #expect(commands.count == 1)
        let command = try #require(commands.first)
        #expect(command.type == "open" && command.sent == now && command.ended == now + 2)
        #expect(command.code == .noRoute)
    }

    /// They ended the console: the second one was added to what fits into 32 bits.
    @Test func `a command says how far it is and when it begins, until it has ended`() throws {
        var state = state([online("k1")])
        func reply(_ members: JSONValue) {
            see(&state, message(topics.reply(of: "k1", to: "console"), members.serialized()), now: now)
        }
        func json(_ id: String) -> JSONValue? { state.commands.command(id, of: "k1")?.json }
        let accepted: JSONValue = [
            "id": "c-1", "type": "reply", "status": "accepted", "code": 0, "name": "OK", "ms": 0,
            "attempt": 1,
            "at": .int(now), "progress": ["done": 0.4, "text": "downloading"],
        ]
        // One that it has not sent is not kept for that.
        reply(accepted)
        #expect(json("c-1") == nil)
        for id in ["c-1", "c-2"] { state.sends(id, to: "k1", "call", "A.b", as: "console", now: now) }
        reply(accepted)
        #expect(json("c-1")?["progress"] == "40 %, downloading" && json("c-1")?["state"] == "running")
        reply([
            "id": "c-2", "type": "reply", "status": "accepted", "code": 0, "name": "OK", "ms": 0,
            "attempt": 1,
            "at": .int(now), "due": .int(now + 60_000),
        ])
        #expect(json("c-2")?["due"] == .int(now + 60_000) && json("c-2")?["state"] == "scheduled")
        reply(["id": "c-1", "type": "reply", "status": "ok", "code": 0, "name": "OK", "at": .int(now)])
        #expect(json("c-1")?["progress"] == .null && json("c-1")?["state"] == "ended")
    }

    @Test func `agents are found by what they say of their clients`() throws {
        let text = """
            {"status":"green","version":"2.4.1","epoch":1,"at":\(now),"uptime":1,"checks":[],
            "client":{"build":"7.7.0","locale":"de-AT","labels":{"region":"eu"}}}
            """
        let state = state([online("k1"), health("k1", payload: text), online("k2"), health("k2")])
        func names(_ filter: String) throws -> [JSONValue] {
            let view = try FleetView(QueryItems(["filter": filter]))
            return (view.json(of: state, isComplete: true, asOf: now, now: now)["rows"]?.arrayValue ?? [])
                .compactMap { $0["agent"] }
        }
        #expect(try names("region=EU") == ["k1"] && names("7.7") == ["k1"] && names("de-at") == ["k1"])
        #expect(try names("region=us").isEmpty && names("k") == ["k1", "k2"])
        let client = state.agentJSON("k1", asOf: now, now: now)["client"]
        #expect(client == ["app": "7.7.0", "locale": "de-AT", "labels": ["region=eu"]])
    }

    @Test func `failure reports with the largest counts are the largest sum`() {
        let state = state(
            (1...3).flatMap { number in
                [Int64.max, .max - 1, 1 << 53, .min].map {
                    failure("k\(number)", id: "f-\(number)-\($0)", count: $0)
                }
            })
        #expect(state.failures.total > 1 << 53)
        #expect(state.failures.minutes(of: "k1", at: now)?.last == Int64(UInt32.max))
        #expect(state.failures.minutes(at: now).reduce(0, +) == Int64(UInt32.max))
        #expect(state.timeline(of: "k1").last.map { $0.count >= 1 << 53 } == true)
        #expect(state.failures.groups.sorted.first.map { $0.count >= 1 << 53 } == true)
    }

    @Test func `a time at the end of all numbers sorts like any other`() throws {
        let state = state([online("k1", at: .min), online("k2", at: .max), online("k3")])
        for order in FleetView.Order.allCases {
            var view = FleetView()
            view.order = order
            #expect(view.json(of: state, isComplete: true, asOf: now, now: now)["matched"] == 3)
        }
    }

    @Test func `what agents say at length is kept as far as it can be shown`() {
        let long = String(repeating: "x", count: 100_000)
        var state = FleetState(began: now)
        for number in 0..<30 {
            var report = FailureReport(
                id: long + "\(number)", code: Code(number: 404, name: long), origin: .router, ref: long,
                url: "a://" + long, detail: "\(number)" + long, at: now)
            report.nearest = [long]
            // As fast as it is read.
            see(
                &state, message(topics.failures(of: "k1"), report.encoded()), now: now + Int64(number) * 1_000
            )
        }
        see(&state, health("k1", red: long), now: now + 400_000)
        let bytes =
            state.timeline(of: "k1").map {
                $0.title.utf8.count + $0.detail.utf8.count + ($0.url ?? "").utf8.count
            }
            .reduce(0, +)
        #expect(bytes < 30 * 5_000)
        #expect(state.lines.lines(from: 0).allSatisfy { $0.line.event.message.utf8.count <= 2_048 })
        #expect(state.commands.newest(1).isEmpty, "what is no id is no command")
        #expect((state.rows["k1"]?.summary.problem.utf8.count ?? 0) <= 2_048)
    }

    @Test func `one agent that floods is read up to its share, and that is said`() {
        var state = state([online("k1"), online("k2")])
        let report = FailureReport(
            id: "", code: .noRoute, origin: .router, url: "a://b", detail: "no route", at: now
        ).encoded()
        for second in 0..<10 as Range<Int64> {
            for _ in 0..<1_000 {
                see(&state, message(topics.failures(of: "k1"), report), now: now + second * 1_000)
            }
            see(&state, message(topics.failures(of: "k2"), report), now: now + second * 1_000)
        }
        // A thousand at once, and a hundred a second.
        #expect((1_900...2_000).contains(state.failures.total), "\(state.failures.total)")
        #expect(state.failures.minutes(of: "k2", at: now + 10_000)?.reduce(0, +) == 10)
        let said = state.timeline(of: "k1").filter { $0.title == "too many messages" }
        #expect(said.count == 1 && said[0].count == 1)
        // That it goes is read in any case.
        see(&state, lost("k1"), now: now + 9_000)
        #expect(state.rows["k1"]?.summary.condition == .lost)
    }

    /// What is done under the lock that all share is as much as can be shown, whatever one sends.
    @Test func `of a message that was made to take long, little is done at once`() throws {
        let event = #"{"t":1,"l":"E","tag":"T","boot":"B","seq":0,"msg":"404 NO_ROUTE: x"}"#
        let events = Array(Array(repeating: event, count: 12_000).joined(separator: "\n").utf8)
        let long = String(repeating: "x", count: 900_000)
        let names: JSONValue = .array((0..<90_000).map { .string("g\($0)") })
        let checks: JSONValue = .array(
            (0..<9_000).map { ["name": .string("c\($0)"), "state": "failed", "detail": "x"] })
        for message in [
            message(topics.log(of: "k1", level: .error), events),
            message(topics.health(of: "k2"), (["groups": names] as JSONValue).serialized()),
            message(topics.health(of: "k3"), (["checks": checks] as JSONValue).serialized()),
            message(topics.health(of: "k4"), (["status": .string(long)] as JSONValue).serialized()),
            message(topics.failures(of: "k5"), Self.failure(saying: long)),
            message(
                topics.reply(of: "k6", to: "console"),
                (["id": "c-1", "status": "failed", "code": 1, "name": .string(long), "detail": .string(long)]
                    as JSONValue).serialized()),
        ] {
            let news = inbox.read(message, now: now)
            #expect(!news.isEmpty)
            for one in news { #expect(Self.weight(of: one) < 64 * 6_000, "\(message.topic)") }
        }
    }

    private static func failure(saying text: String) -> [UInt8] {
        let report: JSONValue = [
            "id": .string(text.cut(to: 100_000)), "code": 1, "name": .string(text.cut(to: 100_000)),
            "where": "router", "url": .string("a://" + text.cut(to: 100_000)),
            "ref": .string(text.cut(to: 100_000)), "detail": .string(text.cut(to: 300_000)),
            "nearest": .array((0..<10_000).map { .string("a://\($0)") }), "count": 1, "first": 1, "last": 1,
            "map": ["layer": .string(text.cut(to: 100_000)), "rev": 1],
        ]
        return report.serialized()
    }

    /// How many bytes of texts are taken note of; the documents themselves are only put in their place.
    private static func weight(of news: FleetNews) -> Int {
        guard case .agent(_, _, let told) = news else { return 0 }
        return switch told {
        case .presence(let presence?, _): "\(presence.summary)".utf8.count
        default: "\(told)".utf8.count
        }
    }

    @Test func `time lines of all agents together have an end`() {
        var timelines = AgentTimelines(maximumBytes: 100_000)
        for number in 0..<2_000 {
            timelines.add(
                TimelineEvent(
                    time: 0, kind: .failure, title: "\(number)", detail: String(repeating: "x", count: 500)),
                of: "k\(number % 50)")
        }
        let kept = (0..<50).flatMap { timelines["k\($0)"] }
        #expect((50...200).contains(kept.count))
        #expect(timelines["k49"].last?.title == "1999", "the newest stays")
    }

    @Test func `agents with a problem are counted as they come, change and go`() {
        var state = state([online("k1"), health("k1", red: "x"), online("k2"), lost("k3")])
        #expect(state.problems == 3)
        see(&state, health("k2"), now: now)
        #expect(state.problems == 2)
        see(&state, health("k1"), now: now)
        #expect(state.problems == 1)
        see(&state, message(topics.state(of: "k3"), []), now: now)
        #expect(state.problems == 0)
    }

    @Test func `hostile messages change nothing`() {
        let hostile = [
            "not json", "[]", "{\"state\":5}", "{\"t\":1}", "{\"id\":\"x\",\"code\":99999999999999999999}",
            String(repeating: "[", count: 100_000),
        ]
        var state = FleetState(began: now)
        for text in hostile {
            for topic in ["state", "health", "map/applied", "log/i", "fail", "reply/console", "nonsense"] {
                see(&state, message("waypost/v1/k1/\(topic)", Array(text.utf8)), now: now)
            }
        }
        #expect(state.lines.count == 0 && state.failures.total == 0)
    }

    @Test func `an agent that is forgotten is no longer listed`() {
        let gone = message(topics.state(of: "k1"), [])
        #expect(state([online("k1"), health("k1"), gone]).rows.isEmpty)
    }

    /// An agent that is let in and thrown out again publishes a will each time.
    @Test func `further wills change nothing of since when an agent is lost, or was heard`() {
        var state = state([online("k1"), health("k1")])
        see(&state, lost("k1"), now: now + 1)
        for minute in 1...39 {
            see(&state, lost("k1", epoch: Int64(1 + minute)), now: now + Int64(minute) * 60_000)
        }
        #expect(state.rows["k1"]?.summary.since == now + 1)
        #expect(state.rows["k1"]?.heard == now)
        see(&state, online("k1", epoch: 50), now: now + 3_000_000)
        #expect(state.rows["k1"]?.summary.condition == .unclear)
    }

    @Test func `a report of many failures is spread over the time that it tells of`() {
        func report(_ count: Int64, _ first: Int64, _ last: Int64) -> MQTTMessage {
            var report = FailureReport(
                id: "f-1", code: .noRoute, origin: .router, url: "kiosk://gone", detail: "x", at: first)
            (report.last, report.count) = (last, count)
            return message(topics.failures(of: "k1"), report.encoded())
        }
        let begin = now - 40 * 60_000
        var state = state([report(2_749, begin, now)])
        let minutes = state.failures.minutes(at: now)
        #expect(minutes.reduce(0, +) == 2_749)
        #expect((60...120).contains(minutes.max() ?? 0))
        #expect(minutes.prefix(19).allSatisfy { $0 == 0 })
        // What comes under the same id happened since it was told last.
        see(&state, report(2_749 + 10, begin, now + 60_000), now: now + 60_000)
        #expect(state.failures.minutes(at: now + 60_000).suffix(2) == [(minutes.last ?? 0) + 5, 5])
        // What is older than an hour is in no chart.
        see(
            &state,
            message(
                topics.failures(of: "k2"),
                FailureReport(
                    id: "f-2", code: .noRoute, origin: .router, detail: "x", at: 1
                ).encoded()), now: now)
        #expect(state.failures.minutes(of: "k2", at: now)?.reduce(0, +) == 0)
        #expect(state.failures.total == 2_760)
    }

    @Test func `a minute in which nothing could be seen is not known`() {
        var state = FleetState(began: now)
        let later = now + 10 * 60_000
        state.connectionLost(at: now + 3 * 60_000)
        state.connectionMade(at: now + 6 * 60_000)
        see(&state, failure("k1", id: "f-1"), now: now)
        let shown = state.failuresJSON(asOf: later, now: later)["minutes"]?.arrayValue ?? []
        let unseen = shown.indices.filter { shown[$0] == .null }
        #expect(shown.count == 60 && unseen.count == 49 + 3 - (now % 60_000 == 0 ? 0 : 1))
        #expect(shown.last == 0 && shown[49] == 1)
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
