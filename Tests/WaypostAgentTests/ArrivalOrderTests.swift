import Foundation
import MQTTLink
import TestSupport
import Testing
import Waypost
import WaypostFleet

@testable import WaypostAgent
@testable import WaypostMessages

/// What comes on different topics is taken in the order in which it came, in one batch as one by one.
@Suite(.timeLimit(.minutes(60))) struct `Order across kinds` {
    private static let group = "waypost/v1/@fleet"

    private struct Arrival {
        var topic: String
        var payload: String
    }

    private static func entry(_ origin: String, _ target: String) -> String {
        #"{"routerType":1,"orginPath":"a://\#(origin)","targetPath":"a://\#(target)"}"#
    }

    private static func map(_ revision: Int64, _ origin: String, _ target: String) -> String {
        #"{"id":"m","type":"map","rev":\#(revision),"entries":[\#(entry(origin, target))]}"#
    }

    private static func control(_ sequence: Int64, _ state: RolloutControl.State = .running) -> String {
        func id(_ revision: Int64, _ map: String) -> RolloutControl.MapID {
            .init(revision: revision, digest: SHA256.label(SHA256.digest(of: Array(map.utf8))))
        }
        var control = RolloutControl(
            id: "r-7", epoch: 1, sequence: sequence, audience: "@fleet", at: 0, base: id(41, base),
            next: id(42, next), below: state == .running ? .max : 0)
        control.state = state
        return String(decoding: control.encoded(), as: UTF8.self)
    }

    private static let base = map(41, "x", "b")
    private static let next = map(42, "x", "c")

    private static let documents = [
        Arrival(topic: "\(group)/map", payload: base),
        Arrival(topic: "\(group)/rollout", payload: control(1)),
        Arrival(topic: "\(group)/map/next", payload: next),
        Arrival(topic: "waypost/v1/k1/map", payload: map(5, "y", "b")),
        Arrival(topic: "waypost/v1/k1/map/patch", payload: "[\(entry("z", "b"))]"),
        Arrival(topic: "\(group)/rollout", payload: control(2, .takingBack)),
        Arrival(topic: "waypost/v1/@all/map", payload: map(7, "w", "b")),
    ]

    private static func command(_ number: Int) -> Arrival {
        Arrival(topic: "waypost/v1/k1/cmd/me", payload: #"{"id":"c\#(number)","type":"maps"}"#)
    }

    private func agent() async throws -> AgentHarness {
        let router = Router()
        for name in ["b", "c"] { try router.register("a://\(name)") { _ in .opened() } }
        return try await AgentHarness(router: router) { $0.limits.mapRate = 0 }
    }

    /// What each command of these was answered, by the layers and their revisions.
    private func answers(_ batches: [[Arrival]]) async throws -> [[String]] {
        let agent = try await agent()
        for batch in batches {
            agent.link.deliver(
                batch.map { MQTTMessage(topic: $0.topic, payload: Array($0.payload.utf8), qos: .atLeastOnce) }
            )
        }
        var answers: [[String]] = []
        for number in 0..<batches.joined().count(where: { $0.topic.hasSuffix("/cmd/me") }) {
            let reply = try await agent.reply(to: "c\(number)")
            let layers = try #require(reply.result["layers"]?.arrayValue)
            answers.append(
                layers.map { layer in
                    "\(layer["layer"]?.stringValue ?? "") \(layer["rev"]?.intValue.map(String.init) ?? "-")"
                })
        }
        try await agent.close()
        return answers
    }

    @Test func `a command sees the maps that came before it, and none that came after it`() async throws {
        var batch = [Self.command(0)]
        for (number, document) in Self.documents.enumerated() {
            batch += [document, Self.command(number + 1)]
        }
        let answers = try await answers([batch])
        let fleet = answers.map { $0.first { $0.hasPrefix("@fleet ") }?.suffix(2) ?? "no" }
        #expect(fleet == ["no", "41", "41", "42", "42", "42", "41", "41"])
        // Each document adds its layer for the commands behind it, and for these only.
        #expect(answers.map(\.count) == [0, 1, 1, 1, 2, 3, 3, 4], "\(answers)")
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `one batch of all kinds leads to what its messages lead to one by one`(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        var commands = 0
        let arrivals = (Self.documents + Self.documents).shuffled(using: &generator).flatMap {
            document -> [Arrival] in
            defer { commands += 1 }
            return [document, Self.command(commands)]
        }
        let together = try await answers([arrivals])
        #expect(together.count == commands)
        #expect(try await answers(arrivals.map { [$0] }) == together)
    }
}
