import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// One kiosk's password in other hands, at a broker with the shipped rules, while a controller rolls out: a liar, one who
/// repeats what others say, and one who floods.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct LostDeviceTests {
    /// Five kiosks, and one whose password somebody else has.
    private final class Site: Sendable {
        static let honest = ["k1", "k2", "k3", "k4", "k5"]
        let shipped: ShippedBroker
        let agents: [RunningAgent]
        let enemy: MQTTSession

        init() async throws {
            let names = (Self.honest + ["k6"]).flatMap { ["--agent", "\($0)@lobby"] }
            let shipped = try await ShippedBroker(names + ["--sender", "ops", "--release", "ci"])
            self.shipped = shipped
            agents = try Self.honest.map { name in
                try RunningAgent(
                    name, broker: shipped.broker.url,
                    arguments: ["--demo", "--group", "lobby"] + shipped.signIn(name))
            }
            for agent in agents { try await agent.online() }
            var configuration = MQTTLinkConfiguration.oneShot(
                brokers: [try BrokerURL(shipped.broker.url)], clientID: "k6")
            configuration.credentials = Credentials(username: "k6", password: try shipped.password("k6"))
            configuration.subscriptions = [Subscription("waypost/v1/@lobby/rollout")]
            enemy = try await MQTTSession.connect(configuration, within: .seconds(60))
        }

        func end() async throws {
            await enemy.disconnect()
            for agent in agents { #expect(try await agent.terminate() == 0) }
            shipped.broker.end()
        }

        // MARK: Those who may

        /// Each command with one of the user names of its person.
        private func line(_ name: String, _ words: [String]) -> [String] {
            words + ["--as", name, "--accounts", "4"] + shipped.signIn(name)
        }

        func start(_ name: String, _ words: String...) throws -> RunningCommand {
            try RunningCommand(
                line(name, words), environment: ["XDG_RUNTIME_DIR": shipped.broker.directory])
        }

        func run(_ name: String, _ words: String...) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(
                line(name, words), environment: ["XDG_RUNTIME_DIR": shipped.broker.directory])
        }

        /// Begins to roll out a map that sends a URL elsewhere.
        func rollOut(_ revision: Int, _ words: [String]) throws -> RunningCommand {
            let map = try file(revision)
            return try RunningCommand(
                line(
                    "ci",
                    [
                        "rollout", "start", "--group", "lobby", "--file", map, "--id", "r-\(revision)",
                        "--tail", "0s", "--spread", "0ms", "--without-traffic", "--unchecked",
                    ] + words), environment: ["XDG_RUNTIME_DIR": shipped.broker.directory])
        }

        func file(_ revision: Int) throws -> String {
            let path = "\(shipped.broker.directory)/\(revision).json"
            let map =
                #"{"type":"map","id":"m","rev":\#(revision),"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo\#(revision % 2 + 1)"}]}"#
            try Data(map.utf8).write(to: URL(fileURLWithPath: path))
            return path
        }

        func status() async throws -> RolloutStatus? {
            let ending = try await run("ops", "rollout", "status", "--group", "lobby", "--json")
            return ending.output.first.flatMap { try? RolloutStatus(JSONValue(parsing: $0)) }
        }

        /// The revisions of the group's map that the five have in force.
        func revisions() async throws -> [Int64?] {
            let agents = try await run("ops", "agents", "--json")
            return try agents.output.compactMap { line -> (String, Int64?)? in
                let json = try JSONValue(parsing: line)
                let layers = json["map"]?["layers"]?.arrayValue ?? []
                let name = json["agent"]?.stringValue ?? "?"
                return (name, layers.first { $0["layer"] == "@lobby" }?["rev"]?.intValue)
            }.filter { Self.honest.contains($0.0) }.map(\.1)
        }

        /// The epochs in the history, which is whole.
        func epochs() async throws -> [Int64] {
            let history = try await run("ops", "rollout", "history", "--group", "lobby", "--json")
            #expect(history.status == 0, "\(history)")
            return try history.output.map { try JSONValue(parsing: $0)["epoch"]?.intValue ?? 0 }
        }

        // MARK: The one who may not

        func say(_ topic: String, _ json: JSONValue, retain: Bool = true) async throws {
            let message = MQTTMessage(
                topic: "waypost/v1/k6/\(topic)", payload: json.serialized(), retain: retain)
            #expect(try await enemy.publish(message) == .acknowledged)
        }

        func comes() async throws {
            try await say(
                "state",
                [
                    "state": "online", "epoch": 7, "boot": "B", "why": "birth", "agent": "k6", "version": "1",
                    "mqtt": 5,
                ])
            try await say("health", ["status": "green", "groups": ["lobby"], "epoch": 7])
        }

        func goes() async throws {
            try await say(
                "state",
                [
                    "state": "offline", "epoch": 8, "boot": "B", "why": "shutdown", "agent": "k6",
                    "version": "1",
                    "mqtt": 5,
                ])
        }

        func claims(
            _ place: String, _ why: String, of revision: Int, epoch: JSONValue = 1, sequence: JSONValue = 1,
            opened: JSONValue = 0, failed: JSONValue = 0, map: JSONValue = 42
        ) async throws {
            try await say(
                "map/applied",
                [
                    "layers": [["layer": "@lobby", "rev": map, "digest": "sha256:00", "at": 1]], "entries": 1,
                    "inactive": [], "conditional": [], "refused": .null,
                    "rollout": [
                        "layer": "@lobby", "id": .string("r-\(revision)"), "epoch": epoch, "seq": sequence,
                        "in": .string(place), "why": .string(why), "opened": opened, "failed": failed,
                    ],
                ])
        }

        /// All that one agent can say of itself without stopping it.
        func lies(of revision: Int) async throws {
            let largest: JSONValue = .int(Fields.largestInteger)
            for number in [largest, .int(.max), .int(.min), -1, 0, .double(1e300), .int(1 << 53)] {
                try await claims(
                    "next", "chosen", of: revision, epoch: number, sequence: number, opened: number,
                    failed: number,
                    map: number)
            }
            for reason in ["guarded", "not-chosen", "drifted", "silent", "excluded", "x"] {
                try await claims("base", reason, of: revision, opened: 1_000_000_000_000_000)
            }
            try await claims("next", "chosen", of: revision + 900, epoch: 900)
            try await claims("next", "chosen", of: revision, epoch: 900)
            try await say(
                "map/applied",
                [
                    "layers": [], "entries": 0, "inactive": [], "conditional": [], "refused": .null,
                    "want": true,
                ])
            for (code, name) in [(404, "NO_ROUTE"), (500, "HANDLER_FAILED"), (540, "ROLLOUT_GUARD")] {
                try await say(
                    "fail",
                    [
                        "id": "f", "code": .int(Int64(code)), "name": .string(name), "where": "router",
                        "url": "scheme://router/demo",
                        "detail": .string(String(repeating: "x", count: 100_000)),
                        "map": ["layer": "@lobby", "rev": .int(Int64(revision))], "count": .int(1 << 53),
                        "first": 1,
                        "last": 1,
                    ], retain: false)
            }
            try await say(
                "health", ["status": "red", "groups": ["lobby", "all", "@lobby", ""], "epoch": largest])
            for text in ["", "nonsense", "[[[[", #"{"rollout":{"epoch":"#] {
                let message = MQTTMessage(topic: "waypost/v1/k6/map/applied", payload: Array(text.utf8))
                #expect(try await enemy.publish(message) == .acknowledged)
            }
            // In the end it says what is expected of it.
            try await claims("next", "chosen", of: revision)
        }

        /// What is sent to the group and what others say, as it came and changed, where it would do harm.
        func repeats() async throws {
            var iterator = enemy.messages.makeAsyncIterator()
            let message = try #require(await iterator.next())
            var control = try RolloutControl(message.payload)
            control.epoch += 1
            (control.state, control.below, control.entry) = (.takingBack, 0, 1)
            let lease = RolloutLease(holder: "k6", epoch: control.epoch, nonce: "zzzz")
            let entry = RolloutAudit(
                number: 1, at: 1, id: control.id, epoch: 1, sequence: 1, author: "k6", event: "take-back",
                previous: nil)
            let map = MapDocument.map(id: "m", revision: 99, entries: [])
            let applied = AppliedMap().encoded()
            let ping = Array(#"{"id":"a","type":"ping"}"#.utf8)
            for (topic, payload) in [
                ("@lobby/rollout", message.payload), ("@lobby/rollout", control.encoded()),
                ("@lobby/rollout", []),
                ("@lobby/rollout/lease", lease.encoded()), ("@lobby/rollout/lease", []),
                ("@lobby/rollout/log/1", entry.encoded()), ("@lobby/rollout/log/2", []), ("@lobby/map", map),
                ("@lobby/map/next", map), ("@lobby/map/next", []), ("k1/map", map), ("k1/map/patch", map),
                ("k1/map/applied", applied), ("k1/state", []), ("k1/health", []), ("k1/fail", applied),
                ("k1/cmd/ops", ping), ("k1/cmd/k6", ping), ("@lobby/cmd/k6", ping), ("k6/map", map),
            ] {
                let forged = MQTTMessage(topic: "waypost/v1/\(topic)", payload: payload, retain: true)
                let result = try await enemy.publish(forged)
                #expect(result != .acknowledged, "\(topic)")
            }
            // Under its own name it is one agent's word.
            for payload in [message.payload, control.encoded(), lease.encoded(), entry.encoded()] {
                for topic in ["map/applied", "state", "health", "fail"] {
                    let own = MQTTMessage(topic: "waypost/v1/k6/\(topic)", payload: payload)
                    #expect(try await enemy.publish(own) == .acknowledged)
                }
            }
        }

        func floods() async throws {
            let text = Array(
                #"{"id":"f","code":404,"name":"NO_ROUTE","where":"router","url":"scheme://router/demo","detail":"d","count":1,"first":1,"last":1}"#
                    .utf8)
            for index in 0..<4_000 {
                var message = MQTTMessage(topic: "waypost/v1/k6/fail", payload: text, qos: .atMostOnce)
                if index % 500 == 0 {
                    message.payload = [UInt8](repeating: UInt8(ascii: "["), count: 900_000)
                    message.topic = "waypost/v1/k6/health"
                }
                _ = try await enemy.publish(message)
            }
        }
    }

    @Test
    func
        `one who has it lies, repeats and floods: it stops a roll-out at most, and a take-back reaches all others`()
        async throws
    {
        let site = try await Site()
        try await site.comes()
        let base = try await site.run(
            "ci", "relocate", "--group", "lobby", "--file", site.file(41), "--yes", "--unchecked", "--wait",
            "0")
        #expect(base.status == 0, "\(base)")
        try await eventually("the map before") {
            try await site.revisions() == Array(repeating: 41, count: 5)
        }

        // In a stage.
        let first = try site.rollOut(42, ["--stages", "3,100%", "--dwell", "30m", "--include", "k6"])
        try await eventually("the first stage") { try await site.status()?.onNext ?? 0 >= 3 }
        try await site.claims("next", "chosen", of: 42)
        let before = try #require(await site.status())
        try await site.lies(of: 42)
        try await site.repeats()
        for what in ["claims epoch \(Fields.largestInteger)", "sends more than is read"] {
            try await eventually("a note of what it \(what)") {
                // Once is no flood where a broker takes a minute for it.
                try await site.floods()
                return try await site.status()?.notices.contains { $0.hasPrefix("k6 \(what)") } ?? false
            }
        }
        let after = try #require(await site.status())
        // Where all of it takes longer to read than an agent may be silent, it has stopped there already.
        let stops = ["candidate: ", "reports: 1 of 4 missing"]
        let isStopped = stops.contains { after.why?.hasPrefix($0) ?? false }
        #expect(after.state == (isStopped ? "paused" : "running"), "\(after)")
        #expect(after.stage == before.stage && after.holder == "ci", "\(after)")
        #expect(Set(try await site.epochs()) == [1])

        // Where the limit of a gate is one agent, it stops there; and then goes back, whatever it says.
        try await eventually("the pause") {
            // Until something of it is read again.
            try await site.claims("base", "refused", of: 42)
            return try await site.status()?.state == "paused"
        }
        let why = try #require(await site.status()?.why)
        #expect(stops.contains { why.hasPrefix($0) }, "\(why)")
        let back = try site.start("ci", "rollout", "take-back", "--group", "lobby", "--why", "enough")
        try await eventually("the take-back") { try await site.status()?.state == "taking-back" }
        try await site.claims("next", "chosen", of: 42, epoch: .int(Fields.largestInteger))
        try await site.floods()
        try await site.goes()
        var (taken, controllers) = (try await back.ending(), 3 as Int64)
        if taken.output.last?.hasPrefix("paused: 1 agent did not say to be back: k6;") ?? false {
            // Its flood took longer than it is waited for; by now it has gone.
            taken = try await site.run("ci", "rollout", "take-back", "--group", "lobby")
            controllers += 1
        }
        #expect(taken.status == 0 && taken.output.last == "taken back: enough", "\(taken)")
        #expect(try await first.ending().status == 3)
        try await eventually("all to be back") {
            try await site.revisions() == Array(repeating: 41, count: 5)
        }

        // While another one is promoted.
        try await site.comes()
        try await site.claims("next", "chosen", of: 43)
        let second = try site.rollOut(43, ["--stages", "100%", "--dwell", "1s"])
        try await eventually("the promotion") {
            try await site.claims("next", "chosen", of: 43)
            return try await ["promoting", "done"].contains(site.status()?.state)
        }
        try await site.lies(of: 43)
        try await site.goes()
        let done = try await second.ending()
        #expect(done.status == 0 && done.output.last == "done", "\(done)")
        try await eventually("all to have it") {
            try await site.revisions() == Array(repeating: 43, count: 5)
        }
        #expect(Set(try await site.epochs()) == Set(1...controllers))
        try await site.end()
    }
}
