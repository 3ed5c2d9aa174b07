import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostMessages

@testable import WaypostAgent
@testable import WaypostLab

/// The agents of `waypost simulate` as a value: what they send when, and what they do with what comes.
@Suite(.timeLimit(.minutes(60)))
struct SimulatedFleetTests {
    private static let noon: Int64 = 1_795_716_000_000

    /// A fleet, all of it up at noon.
    private struct Scene {
        var fleet: SimulatedFleet
        private(set) var sent: [MQTTMessage] = []
        private(set) var started: [SimulatedCommand] = []

        init(_ plan: FleetPlan) throws {
            fleet = try SimulatedFleet(plan, directory: NSTemporaryDirectory(), at: noon)
            for index in 0..<plan.count { note(fleet.born(index, mqtt: 5, at: noon)) }
        }

        private mutating func note(_ steps: [FleetStep]) {
            for step in steps {
                switch step {
                case .publish(let message, _): sent.append(message)
                case .run(let command): started.append(command)
                case .cancel, .connect, .drop: break
                }
            }
        }

        mutating func forget() { (sent, started) = ([], []) }

        mutating func advance(seconds: Int64) { note(fleet.advance(to: noon + seconds * 1_000)) }

        mutating func receive(
            _ topic: String, _ payload: String, retain: Bool = false, at seconds: Int64 = 1
        ) {
            let message = MQTTMessage(
                topic: "waypost/v1/\(topic)", payload: Array(payload.utf8), retain: retain)
            note(fleet.received(message, at: noon + seconds * 1_000))
        }

        mutating func end(_ command: SimulatedCommand, _ result: CommandResult) {
            note(fleet.ended(command, result, at: noon + 12_000))
        }

        /// What was sent on a topic.
        func json(on topic: String) -> [JSONValue] {
            sent.filter { $0.topic == "waypost/v1/\(topic)" }
                .compactMap { try? JSONValue(parsing: $0.payload) }
        }

        /// The last document on a topic of each agent.
        func documents(_ topic: String) -> [String: JSONValue] {
            sent.reduce(into: [:]) { documents, message in
                let levels = message.topic.split(separator: "/", maxSplits: 3).map(String.init)
                guard levels.last == topic else { return }
                documents[levels[2]] = try? JSONValue(parsing: message.payload)
            }
        }
    }

    private func plan(_ count: Int, _ faults: [SimulatedFault] = [], problems: Double = 1) -> FleetPlan {
        var plan = FleetPlan()
        (plan.count, plan.faults, plan.problems) = (count, faults, problems)
        return plan
    }

    private func map(_ revision: Int, from origin: String, to target: String) -> String {
        #"{"id":"m","type":"map","rev":\#(revision),"by":"ops","entries":[{"routerType":1,"orginPath":"scheme://router/\#(origin)","targetPath":"scheme://router/\#(target)"}]}"#
    }

    @Test
    func `the same seed sends the same messages, however often the clock is read, and another does not`()
        throws
    {
        let plan = plan(200, SimulatedFault.allCases, problems: 0.2)
        var other = plan
        other.seed = 2
        var scenes = try [plan, plan, other].map { try Scene($0) }
        scenes[0].advance(seconds: 90)
        for second in 1...90 { scenes[1].advance(seconds: Int64(second)) }
        scenes[2].advance(seconds: 90)
        #expect(scenes[0].sent.count > 1_500)
        #expect(scenes[0].sent == scenes[1].sent)
        #expect(scenes[0].sent != scenes[2].sent)
    }

    @Test func `versions, groups and problems have the shares that were asked for`() throws {
        var plan = plan(1_000, SimulatedFault.allCases, problems: 0.08)
        plan.versions = [.init(version: "1.0", weight: 1), .init(version: "2.0", weight: 3)]
        plan.groups = ["a", "b", "c", "d"]
        let scene = try Scene(plan)
        #expect(scene.fleet.problems.count == SimulatedFault.allCases.count)
        #expect(scene.fleet.problems.values.allSatisfy { $0 == 10 })
        let versions = scene.documents("state").values.compactMap { $0["version"]?.stringValue }
        #expect(versions.count == 1_000)
        #expect(versions.count { $0 == FleetPlan.oldVersion } == 10)
        #expect((230...250).contains(versions.count { $0 == "1.0" }))
        #expect((730...750).contains(versions.count { $0 == "2.0" }))
        let groups = scene.documents("health").values.compactMap { $0["groups"]?[0]?.stringValue }
        #expect(Set(["a", "b", "c", "d"].map { name in groups.count { $0 == name } }) == [250])
    }

    @Test func `health comes from every agent within each interval, spread over it`() throws {
        var scene = try Scene(plan(300))
        scene.forget()
        scene.advance(seconds: 33)
        #expect(scene.documents("health").count == 300)
        let times = scene.documents("health").values.compactMap { $0["at"]?.intValue }.map { $0 - Self.noon }
        #expect(times.count { $0 < 15_000 } > 50 && times.count { $0 > 15_000 } > 50)
    }

    @Test func `each problem looks as it does in a real agent`() throws {
        for fault in SimulatedFault.allCases {
            var scene = try Scene(plan(8, [fault]))
            scene.advance(seconds: 60)
            let states = scene.documents("state").values
            let health = scene.documents("health").values
            let applied = scene.documents("map/applied").values
            switch fault {
            case .lost: #expect(states.allSatisfy { $0["why"] == "will" })
            case .red:
                #expect(health.allSatisfy { $0["status"] == "red" })
            case .mapRefused:
                #expect(applied.allSatisfy { $0["refused"]?["rev"] == 11 })
                let names = applied.compactMap { $0["refused"]?["name"]?.stringValue }
                #expect(Set(names) == ["CYCLE", "EQUIVOCATION"])
            case .flapping:
                let epochs = states.compactMap { $0["epoch"]?.intValue }
                #expect(epochs.allSatisfy { $0 > Self.noon })
            case .wrongClock:
                let off = health.compactMap { $0["at"]?.intValue }.map { abs($0 - Self.noon) }
                #expect(off.count == 8 && off.allSatisfy { $0 > 40 * 60_000 })
            case .silent:
                scene.forget()
                scene.receive("@all/cmd/ops", #"{"id":"p","type":"ping"}"#, at: 61)
                scene.advance(seconds: 120)
                #expect(scene.sent.isEmpty && states.allSatisfy { $0["state"] == "online" })
            case .notFound:
                scene.advance(seconds: 300)
                let codes = (1...8).flatMap { scene.json(on: "kiosk-\($0)/fail") }
                #expect(codes.count > 5 && codes.allSatisfy { $0["name"] == "NO_ROUTE" }, "\(codes)")
                #expect(codes.contains { $0["nearest"]?.arrayValue?.isEmpty == false })
            case .oldVersion:
                scene.receive("kiosk-1/cmd/ops", #"{"id":"r","type":"resolve","urls":["a://b"]}"#, at: 61)
                #expect(scene.json(on: "kiosk-1/reply/ops").map { $0["name"] } == ["UNKNOWN_TYPE"])
                let routes = scene.documents("routes").values.map(\.text)
                #expect(routes.allSatisfy { !$0.contains("router/orders") && $0.contains("router/demo") })
            }
        }
    }

    @Test func `a map is applied by its group, reported, and in force for resolve, maps and its history`()
        throws
    {
        var scene = try Scene(plan(6))
        scene.forget()
        scene.receive("@lobby/map", map(4, from: "demo", to: "demo1"), retain: true)
        let applied = scene.documents("map/applied")
        #expect(Set(applied.keys) == ["kiosk-1", "kiosk-3", "kiosk-5"])
        #expect(applied.values.allSatisfy { $0["layers"]?[0]?["rev"] == 4 && $0["refused"] == .null })
        #expect(applied.values.allSatisfy { $0["layers"]?[0]?["layer"] == "@lobby" })
        #expect(scene.documents("contract")["kiosk-1"]?["redirects"] == ["scheme://router/demo"])

        scene.receive("@all/cmd/ops", #"{"id":"r","type":"resolve","urls":["scheme://router/demo"]}"#)
        func resolved(_ name: String) -> JSONValue? {
            scene.json(on: "\(name)/reply/ops").last?["result"]?["resolved"]?[0]?["final"]
        }
        #expect(resolved("kiosk-1") == "scheme://router/demo1")
        #expect(resolved("kiosk-2") == "scheme://router/demo")

        scene.receive("@lobby/map", map(5, from: "demo", to: "demo3"), retain: true, at: 5)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"h","type":"maps","history":true}"#, at: 6)
        let history = scene.json(on: "kiosk-1/reply/ops").last?["result"]?["history"]?.arrayValue ?? []
        #expect(history.map { $0["rev"] } == [5, 4])
        #expect(history.last?["until"]?.intValue == Self.noon + 5_000)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"m","type":"maps","layer":"@lobby","rev":4}"#, at: 6)
        let entries = scene.json(on: "kiosk-1/reply/ops").last?["result"]?["entries"]
        #expect(entries?[0]?["targetPath"] == "scheme://router/demo1")
    }

    @Test func `a map that is older, or makes a circle, is refused and the one in force stays`() throws {
        var scene = try Scene(plan(2))
        scene.receive("kiosk-1/map", map(7, from: "demo2", to: "demo1"), retain: true)
        scene.receive("@lobby/map", map(3, from: "demo1", to: "demo2"), retain: true)
        scene.receive("kiosk-1/map", map(6, from: "demo2", to: "demo3"), retain: true)
        let applied = try #require(scene.documents("map/applied")["kiosk-1"])
        #expect(applied["layers"]?.arrayValue?.map { $0["rev"] } == [7])
        let failures = scene.json(on: "kiosk-1/fail").compactMap { $0["name"]?.stringValue }
        #expect(failures == ["CYCLE", "ROLLBACK"])
        #expect(scene.json(on: "kiosk-1/fail").last?["map"]?["rev"] == 7)
    }

    @Test func `a condition is answered by each agent for itself, though they have the map in common`() throws
    {
        var scene = try Scene(plan(40))
        let entry =
            #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1","when":{"share":{"percent":50,"salt":"s"}}}"#
        scene.receive("@all/map", #"{"id":"m","type":"map","rev":1,"entries":[\#(entry)]}"#, retain: true)
        let states = scene.documents("map/applied").values.compactMap {
            $0["conditional"]?[0]?["state"]?.stringValue
        }
        #expect(states.count == 40 && Set(states) == ["yes", "no"], "\(states)")
    }

    @Test func `the log level changes what is published, and health says who asked and until when`() throws {
        var quiet = plan(2)
        (quiet.logRate, quiet.failureRate) = (0, 0)
        var scene = try Scene(quiet)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"l","type":"log","level":"v","for":20000}"#)
        #expect(scene.json(on: "kiosk-1/reply/ops").first?["result"]?["level"] == "v")
        let override = scene.documents("health")["kiosk-1"]?["log"]?["override"]
        #expect(override?["from"] == "ops" && override?["until"]?.intValue == Self.noon + 21_000)
        scene.advance(seconds: 20)
        let details = scene.json(on: "kiosk-1/log/v") + scene.json(on: "kiosk-1/log/d")
        #expect(details.count > 3)
        scene.advance(seconds: 25)
        scene.forget()
        scene.advance(seconds: 120)
        #expect(scene.json(on: "kiosk-1/log/v").isEmpty && scene.json(on: "kiosk-1/log/i").isEmpty)
        #expect(scene.documents("health")["kiosk-1"]?["log"]?["override"] == .null)
    }

    @Test func `lines come at the rate that was asked for, each with the next number of its agent`() throws {
        var plan = plan(10)
        (plan.logRate, plan.failureRate) = (20, 0)
        var scene = try Scene(plan)
        scene.advance(seconds: 60)
        let lines = scene.sent.filter { $0.topic.contains("/log/") }
        #expect((1_000...1_400).contains(lines.count), "\(lines.count)")
        var last: [String: Int64] = [:]
        for message in lines {
            let event = try LogEvent(JSONValue(parsing: message.payload))
            #expect(event.sequence == (last[event.boot] ?? 0) + 1)
            last[event.boot] = event.sequence
        }
        #expect(last.count == 10)
    }

    @Test func `failures and events can be asked for, page by page`() throws {
        var plan = plan(1)
        (plan.logRate, plan.failureRate) = (2, 20)
        var scene = try Scene(plan)
        scene.advance(seconds: 60)
        let failures = scene.json(on: "kiosk-1/fail")
        scene.receive("kiosk-1/cmd/ops", #"{"id":"f","type":"failures","max":2}"#, at: 61)
        let page = try #require(scene.json(on: "kiosk-1/reply/ops").last?["result"])
        #expect(page["failures"]?.arrayValue == Array(failures.suffix(2).reversed()))
        let next = try #require(page["next"]?.intValue)
        scene.receive(
            "kiosk-1/cmd/ops", #"{"id":"g","type":"failures","max":1,"before":\#(next)}"#, at: 61)
        let second = scene.json(on: "kiosk-1/reply/ops").last?["result"]?["failures"]?[0]
        #expect(second == failures.dropLast(2).last)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"e","type":"replay","since":0,"level":"v"}"#, at: 61)
        let events = scene.json(on: "kiosk-1/reply/ops").last?["result"]?["events"]?.arrayValue ?? []
        #expect(events.count > 50)
    }

    @Test func `an agent that was away takes the map that came meanwhile`() throws {
        var scene = try Scene(plan(1, [.flapping]))
        var second: Int64 = 0
        while scene.fleet.agents[0].isOnline, second < 60 {
            second += 1
            scene.advance(seconds: second)
        }
        scene.forget()
        scene.receive("@all/map", map(2, from: "demo", to: "demo1"), retain: true, at: second)
        #expect(scene.sent.isEmpty)
        scene.advance(seconds: second + 9)
        #expect(scene.documents("map/applied")["kiosk-1"]?["layers"]?[0]?["rev"] == 2)
    }

    @Test func `what can't be read is refused as in a real agent`() throws {
        var scene = try Scene(plan(1))
        scene.receive("kiosk-1/cmd/ops", #"{"id":"a","type":"dance"}"#)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"b","type":"ping"}"#, retain: true)
        scene.receive("kiosk-1/cmd/ops", #"{"id":"c","type":"ping","exp":1}"#)
        scene.receive("kiosk-1/cmd/ops", "{")
        let names = scene.json(on: "kiosk-1/reply/ops").compactMap { $0["name"]?.stringValue }
        #expect(names == ["UNKNOWN_TYPE", "RETAINED_COMMAND", "EXPIRED"])
        #expect(scene.json(on: "kiosk-1/fail").last?["name"] == "BAD_JSON")
    }

    @Test func `opens of one lane run one after another, and one that comes twice runs once`() throws {
        var scene = try Scene(plan(1))
        scene.forget()
        for number in [0, 1, 2, 0] {
            scene.receive(
                "@all/cmd/ops", #"{"id":"o\#(number)","type":"open","url":"scheme://router/demo"}"#)
        }
        for number in 0...2 {
            let running = try #require(scene.started.last)
            #expect(scene.started.count == number + 1 && running.turn.context.ref == "o\(number)")
            scene.end(running, .ok(["number": .int(Int64(number))]))
        }
        scene.receive("@all/cmd/ops", #"{"id":"o1","type":"open","url":"scheme://router/demo"}"#)
        #expect(scene.started.count == 3)
        let replies = scene.json(on: "kiosk-1/reply/ops")
        #expect(replies.map { $0["result"]?["number"] } == [0, 1, 2, 1])
        #expect(replies.map { $0["dup"] } == [false, false, false, true])
        scene.receive("@all/cmd/ops", #"{"id":"o1","type":"open","url":"scheme://router/other"}"#)
        #expect(scene.json(on: "kiosk-1/reply/ops").last?["name"] == "ID_REUSED")
    }

    @Test func `an open that takes long is accepted, then late, and the next one of its lane goes on`() throws
    {
        var scene = try Scene(plan(1))
        scene.forget()
        for id in ["a", "b"] {
            scene.receive("@all/cmd/ops", #"{"id":"\#(id)","type":"open","url":"scheme://router/demo"}"#)
        }
        scene.advance(seconds: 2)
        scene.advance(seconds: 12)
        #expect(scene.json(on: "kiosk-1/reply/ops").map { $0["status"] } == ["accepted", "failed"])
        #expect(scene.started.map(\.turn.context.ref) == ["a", "b"])
        scene.end(scene.started[0], .ok())
        #expect(scene.json(on: "kiosk-1/reply/ops").count == 2)
    }

    @Test func `a sender that is too fast is told so, as a real agent does`() throws {
        var scene = try Scene(plan(1))
        scene.forget()
        let burst = AgentLimits().intakeBurst
        for number in 0..<burst + 1 {
            scene.receive("kiosk-1/cmd/ops", #"{"id":"p\#(number)","type":"failures"}"#)
        }
        let names = scene.json(on: "kiosk-1/reply/ops").map { $0["name"] }
        #expect(names.count == burst + 1 && names.dropLast().allSatisfy { $0 == "OK" }, "\(names)")
        #expect(names.last == "BUSY")
    }

    @Test func `a small part of a fleet of ten thousand is its own`() {
        #expect(MemoryLayout<SimulatedAgent>.stride <= 128)
    }
}
