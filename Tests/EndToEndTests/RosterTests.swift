import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostCLI

/// What `waypost agents` and `waypost watch` say of many agents.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RosterTests {
    /// Retains a state for each of so many agents, at least once, as agents do.
    private func retainStates(_ count: Int, at broker: TestBroker) throws {
        let client = try PlainSocket(port: broker.port)
        // These packets of MQTT 3.1.1 are ASCII: all lengths and both bytes of the number are below 128.
        client.send("\u{10}\u{0E}\0\u{04}MQTT\u{04}\u{02}\0\0\0\u{02}c1")
        let state = #"{"state":"online","epoch":1,"why":"birth"}"#
        for number in 1...count {
            let topic = "waypost/v1/k\(number)/state"
            let packet = [
                [0x33, 4 + topic.utf8.count + state.utf8.count, 0, topic.utf8.count],
                Array(topic.utf8).map(Int.init),
                [number / 128, number % 128], Array(state.utf8).map(Int.init),
            ]
            #expect(client.send(packet.joined().map { String(UnicodeScalar(UInt8($0))) }.joined()))
        }
        // CONNACK, and as many PUBACK.
        var (missing, buffer) = (4 * (count + 1), [UInt8](repeating: 0, count: 4_096))
        while missing > 0 {
            let came = recv(client.descriptor, &buffer, buffer.count, 0)
            guard came > 0 else { throw TestBroker.Failure(description: "the broker closed the connection") }
            missing -= came
        }
    }

    /// Retains for each of so many agents a state, a map, and 20 000 bytes of health.
    private func retainFleet(_ count: Int, at broker: TestBroker) async throws {
        let filling = String(repeating: "x", count: 20_000)
        try await retain(
            count, at: broker,
            [
                ("state", #"{"state":"online","epoch":1,"why":"birth"}"#),
                (
                    "health",
                    #"{"type":"health","status":"green","epoch":1,"checks":[],"filling":"\#(filling)"}"#
                ), ("map/applied", #"{"at":1,"layers":[]}"#),
            ])
    }

    private func retain(
        _ count: Int, at broker: TestBroker, _ documents: [(name: String, payload: String)]
    ) async throws {
        let session = try await MQTTSession.connect(
            .oneShot(brokers: [try BrokerURL(broker.url)], clientID: "fleet"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...count {
                for (document, payload) in documents {
                    let topic = "waypost/v1/k\(number)/\(document)"
                    group.addTask {
                        _ = try await session.publish(
                            MQTTMessage(topic: topic, payload: Array(payload.utf8), retain: true))
                    }
                }
            }
            try await group.waitForAll()
        }
        await session.disconnect()
    }

    // mosquitto drops what a client has not read beyond so many packets, answers to subscriptions too.
    @Test func `of a fleet that is more than the broker holds for a client, all is read`() async throws {
        let broker = try await TestBroker.start(["allow_anonymous true", "max_queued_messages 100"])
        defer { broker.end() }
        try await retainFleet(600, at: broker)
        let link = try Relay(to: broker.port, pause: 20_000)
        defer { link.end() }
        let ended = try await RunningCommand.run(["agents", "--broker", link.url, "--json", "--wait", "5m"])
        #expect(ended.status == 0, "\(ended.errorLines)")
        let agents = ended.output.compactMap { try? JSONValue(parsing: Array($0.utf8), limits: .trustedFile) }
        #expect(agents.count == 600)
        #expect(agents.allSatisfy { $0["health"]?["status"] == "green" && $0["map"]?["at"] == 1 })
    }

    @Test func `while agents may be missing, nothing is said of one because it is not there`() {
        var roster = roster([("k1/state", state("online", "birth"))])
        #expect(AgentSelection(names: ["k2"]).fault(in: roster) != nil)
        #expect(AgentSelection(names: [], group: "lobby").fault(in: roster) != nil)
        #expect(RosterFilter(names: ["k2"]).unknownNames(in: roster).count == 1)
        roster.cutOff = RetainedReading.droppedByBroker.fault
        #expect(AgentSelection(names: ["k2"]).fault(in: roster) == nil)
        #expect(AgentSelection(names: [], group: "lobby").fault(in: roster) == nil)
        #expect(RosterFilter(names: ["k2"]).unknownNames(in: roster).isEmpty)
    }

    @Test func `agents lists all of a fleet of 12 500`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try retainStates(12_500, at: broker)
        let names = try await RunningCommand.run([
            "agents", "--broker", broker.url, "--names", "--wait", "2m",
        ])
        #expect(names.status == 0)
        #expect(Set(names.output).count == 12_500)
    }

    @Test
    func `on a link that pauses for longer than the broker needs the list is whole, or says that it is not`()
        async throws
    {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        try retainStates(1_500, at: broker)
        let link = try Relay(to: broker.port, pause: 700_000)
        defer { link.end() }
        let whole = try await RunningCommand.run(["agents", "--broker", link.url, "--names", "--wait", "2m"])
        #expect(whole.status == 0, "\(whole.errorLines)")
        #expect(Set(whole.output).count == 1_500)

        let short = try await RunningCommand.run([
            "agents", "--broker", link.url, "--names", "--wait", "100ms",
        ])
        // Where this process itself had to wait for longer than that, all may have come.
        let isSaid = short.errorLines.contains { $0.contains("the list may be incomplete") }
        #expect(short.status == (isSaid ? 1 : 0), "\(short.errorLines)")
        #expect(isSaid || Set(short.output).count == 1_500)
    }

    private func roster(_ documents: [(topic: String, payload: String)]) -> Roster {
        var roster = Roster(topics: .standard)
        for (topic, payload) in documents {
            roster.saw(MQTTMessage(topic: "waypost/v1/\(topic)", payload: Array(payload.utf8), retain: true))
        }
        return roster
    }

    private func state(_ word: String, _ reason: String, at: Int64? = nil) -> String {
        let time = at.map { #","at":\#($0)"# } ?? ""
        return #"{"state":"\#(word)","epoch":1,"why":"\#(reason)","version":"1.0","mqtt":5\#(time)}"#
    }

    private func health(_ status: String, at: Int64, problem: String? = nil) -> String {
        let checks = problem.map { #"{"name":"store","ok":false,"detail":"\#($0)"}"# } ?? ""
        return #"""
            {"status":"\#(status)","at":\#(at),"uptime":86400000,"epoch":1,"checks":[\#(checks)],
             "map":{"rev":1,"entries":9,"inactive":0}}
            """#
    }

    private static let now: Int64 = 1_795_216_999_123

    private var troubled: Roster {
        let now = Self.now
        let refused = #"{"layer":"agent","rev":3,"code":422,"name":"CHAIN","detail":"a circle"}"#
        return roster([
            ("a-fine/state", state("online", "birth", at: now - 7_200_000)),
            ("a-fine/health", health("green", at: now - 10_000)),
            ("b-stopped/state", state("offline", "shutdown", at: now - 180_000)),
            ("b-stopped/health", health("green", at: now - 200_000)),
            ("c-map/state", state("online", "birth", at: now - 60_000)),
            ("c-map/health", health("green", at: now)),
            (
                "c-map/map/applied",
                #"""
                {"layers":[{"layer":"@all","rev":7},{"layer":"agent","rev":2}],"entries":3,"inactive":[],
                 "refused":\#(refused)}
                """#
            ),
            ("d-disk/state", state("online", "birth", at: now - 60_000)),
            ("d-disk/health", health("red", at: now, problem: "disk full")),
            ("e-lost/state", state("offline", "will")),
            ("e-lost/health", health("green", at: now - 240_000)),
        ])
    }

    @Test func `opens that wait are listed, with what cancels them`() throws {
        let health = Health([
            "status": "green", "at": 100_000,
            "waiting": [
                "gates": [
                    ["url": "app://orders", "gate": "login", "since": 40_000, "ref": "c-1", "from": "ops"],
                    ["url": "app://news", "gate": "map", "since": 99_000],
                ]
            ],
        ])
        #expect(health.waitingText == "2 opens wait for login, map")
        let lines = health.lines(of: "k1", "", Style(isOn: false)).map(\.text)
        #expect(
            lines.dropFirst() == [
                "  app://orders waits for 60 s for login; to cancel it: waypost cancel c-1 --agent k1",
                "  app://news waits for 1 s for map",
            ])
        #expect(Health(["status": "green"]).waitingText == nil)
    }

    @Test func `who needs attention comes first, and nobody who is gone is green`() throws {
        let lines = AgentTable(troubled.summaries(now: Self.now), now: Self.now).lines(Style(isOn: false))
            .map(\.text)
        #expect(
            lines == [
                "AGENT      STATE      SINCE      HEALTH  AS OF      MAP                VERSION  MQTT  PROBLEM",
                "e-lost     lost       ?          -       4 min ago  rev 1              1.0      5     "
                    + "last heard of 4 min ago",
                "d-disk     online     60 s ago   red     0 s ago    rev 1              1.0      5     "
                    + "store: disk full",
                "c-map      online     60 s ago   green   0 s ago    @all rev 7, rev 2  1.0      5     "
                    + "map rev 3 refused: CHAIN: a circle",
                "b-stopped  shut down  3 min ago  -       3 min ago  rev 1              1.0      5",
                "a-fine     online     2 h ago    green   10 s ago   rev 1              1.0      5",
            ])
    }

    @Test(arguments: [60, 100, 160])
    func `the table fits the terminal, with the problem in it`(columns: Int) throws {
        let lines = AgentTable(troubled.summaries(now: Self.now), now: Self.now, isWide: true).lines(
            Style(isOn: false), within: columns
        ).map(
            \.text)
        #expect(lines.allSatisfy { $0.columns <= columns }, "\(lines)")
        #expect(lines[0].hasPrefix("AGENT") && lines[0].hasSuffix("PROBLEM"))
        #expect(lines[2].contains("store: disk full"))
        #expect(lines[0].contains("BROKER") == (columns == 160))
        let wrapped = AgentTable(troubled.summaries(now: Self.now), now: Self.now).lines(
            Style(isOn: false), within: columns, wraps: true
        ).map(\.text).joined(separator: " ").split(separator: " ")
        #expect(["CHAIN:", "circle"].allSatisfy { word in wrapped.contains { $0 == word } })
    }

    @Test func `a loss that was seen has its time, and one that was not when the agent was last heard of`() {
        let (now, lost) = (Self.now, state("offline", "will"))
        func summary(live: Bool) -> AgentStatus? {
            var roster = roster([
                ("k1/state", state("online", "birth", at: now - 7_200_000)),
                ("k1/health", health("green", at: now - 45_000)),
            ])
            roster.saw(
                MQTTMessage(topic: "waypost/v1/k1/state", payload: Array(lost.utf8), retain: !live), now: now)
            return roster.summaries(now: now + 5_000).first
        }
        #expect(summary(live: true)?.sinceText(now + 5_000) == "5 s ago")
        #expect(summary(live: true)?.problemText(now + 5_000) == "")
        #expect(summary(live: false)?.sinceText(now + 5_000) == "?")
        #expect(summary(live: false)?.problemText(now + 5_000) == "last heard of 50 s ago")
    }

    @Test func `an agent whose clock is 400 days back was not online for 400 days`() throws {
        let (now, then) = (Self.now, Self.now - 400 * 86_400_000)
        let roster = roster([
            ("k1/state", state("online", "birth", at: then - 40_000)),
            ("k1/health", health("green", at: then)),
        ])
        let summary = try #require(roster.summaries(now: now).first)
        // How old is what the broker kept, its clock does not tell.
        #expect(summary.sinceText(now) == "over 40 s ago" && summary.asOfText(now) == "?")
        #expect(summary.problemText(now) == "its clock is 400 d behind this machine's")
    }

    @Test func `why an agent went is in its problem`() {
        let will = #"""
            {"state":"offline","epoch":1,"why":"will","version":"1.0","mqtt":5,
             "last":{"code":503,"name":"DISK","detail":"no space left","at":1}}
            """#
        let summary = roster([("k1/state", will)]).summaries(now: Self.now).first
        #expect(summary?.problemText(Self.now) == "503 DISK: no space left")
    }

    @Test func `agents are chosen by name, group, state, version and problem, and sorted`() {
        let roster = troubled
        func names(_ filter: RosterFilter) -> [String] {
            filter.agents(of: roster, now: Self.now).map(\.name)
        }
        #expect(names(RosterFilter()) == ["e-lost", "d-disk", "c-map", "b-stopped", "a-fine"])
        #expect(names(RosterFilter(order: .name)) == ["a-fine", "b-stopped", "c-map", "d-disk", "e-lost"])
        #expect(names(RosterFilter(states: ["offline"])) == ["e-lost", "b-stopped"])
        #expect(names(RosterFilter(states: ["online"], haveProblem: true)) == ["d-disk", "c-map"])
        #expect(names(RosterFilter(names: ["a-fine", "b-stoped"])) == ["a-fine"])
        #expect(names(RosterFilter(version: "2.0")).isEmpty)
        #expect(names(RosterFilter(group: "lobby")).isEmpty && names(RosterFilter(group: "all")).count == 5)
        #expect(RosterFilter(names: ["b-stoped"]).unknownNames(in: roster).map(\.nearest) == [["b-stopped"]])
    }

    @Test(arguments: [60, 100, 160])
    func `on a small screen the agents that are hidden are the healthy ones`(columns: Int) throws {
        var model = WatchModel(topics: .standard, filter: LogFilter())
        for (name, member) in [
            ("a-fine", "online"), ("b-fine", "online"), ("y-lost", "offline"), ("z-lost", "offline"),
        ] {
            let text = state(member, member == "online" ? "birth" : "will")
            model.saw(
                MQTTMessage(topic: "waypost/v1/\(name)/state", payload: Array(text.utf8), retain: true))
            guard member == "online" else { continue }
            let health = #"{"type":"health","status":"green","epoch":1,"checks":[]}"#
            model.saw(
                MQTTMessage(topic: "waypost/v1/\(name)/health", payload: Array(health.utf8), retain: true))
        }
        func lines(rows: Int) -> [String] {
            WatchScreen(rows: rows, columns: columns, style: Style(isOn: false))
                .lines(model, now: Self.now).map(\.text)
        }
        // As long as nothing else needs the space, all are shown.
        #expect(lines(rows: 12).contains { $0.hasPrefix("b-fine") })
        for number in 1...20 {
            let event =
                #"{"t":1,"l":"I","tag":"T","boot":"BBBBBBBB","seq":\#(number),"pid":1,"tid":1,"msg":"m"}"#
            model.saw(MQTTMessage(topic: "waypost/v1/a-fine/log/i", payload: Array(event.utf8)))
        }
        let twelve = lines(rows: 12)
        #expect(twelve.contains { $0.hasPrefix("y-lost  lost") && $0.contains(" - ") })
        #expect(twelve.contains { $0.hasPrefix("z-lost  lost") })
        #expect(twelve.contains("… and 2 more"))
        #expect(lines(rows: 9).contains("… and 3 more, 1 of them lost or with problems"))
    }

    @Test func `a map that was refused is shown by ping, agents and health`() async throws {
        let site = try await Site.open()
        #expect(
            try await site.run(
                "relocate", "--from", "scheme://router/demo", "--to", "scheme://router/demo1", "--agent", "k1"
            ).status == 0)
        let circle = try ScratchFile(
            #"""
            {"type":"map","rev":3,"entries":[{"routerType":1,"orginPath":"s://a","targetPath":"s://b"},
             {"routerType":1,"orginPath":"s://b","targetPath":"s://a"}]}
            """#, name: "map.json")
        let sent = try await site.run(
            "relocate", "--yes", "--allow-refused", "--file", circle.path, "--agent", "k1")
        #expect(sent.status == 1, "\(sent)")
        let ping = try await site.run("ping", "--agent", "k1")
        #expect(ping.output.contains { $0.hasPrefix("  map rev 3 refused: ") }, "\(ping.output)")
        let table = try await site.run("agents")
        #expect(table.output.contains { $0.hasPrefix("k1 ") && $0.contains("map rev 3 refused: ") })
    }
}
