import CommandSupport
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// A tool that does one thing and ends: each call of it makes a connection of its own.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct PerCallBackendTests {
    private static let moved = [
        RelocationEntry(.replace(origin: "scheme://router/demo", target: "scheme://router/demo1"))
    ]

    @Test func `commands, lists and maps need nothing that runs`() async throws {
        let site = try await Site.open(["--demo", "--group", "lobby", "--label", "region=eu"])
        let backend = WaypostBackend.Backend(
            perCall: try BackendConfiguration(broker: site.broker.url, name: "tool"))
        try await backend.waitUntilConnected()
        #expect(!backend.isConnected)
        let agent = backend.agent("k1")
        let command = try agent.send(.call("CalculatorService", "add", [2, 40]))
        let reply = try await command.reply()
        #expect(try reply.result(as: Int.self) == 42 && reply.clockAhead == .zero)
        try await eventually("the broker to have the reply") {
            try await agent.inspect(command.id)?.acknowledged != nil
        }

        let known = try await backend.agents()
        #expect(known.map(\.name) == ["k1"] && known[0].groups == ["lobby"])
        #expect(known[0].labels == ["region": "eu"] && known[0].build == nil)

        let plan = try await agent.plan(.map(Self.moved, revision: 1))
        #expect(plan.objections.isEmpty && plan.members == ["k1"])
        var answers: [RelocationAnswer] = []
        try await backend.relocate(plan) { answers.append($0) }
        #expect(answers.map(\.agent) == ["k1"] && answers.allSatisfy(\.isApplied))
    }

    @Test func `a patch for a group is put over its map, and what is sent is what was planned`() async throws
    {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let backend = WaypostBackend.Backend(
            perCall: try BackendConfiguration(broker: site.broker.url, name: "tool"))
        let lobby = backend.group("lobby")
        let first = try await lobby.plan(.map(Self.moved, revision: 7))
        try await backend.relocate(first)
        let more = RelocationEntry(
            .replace(origin: "scheme://router/demo2", target: "scheme://router/demo1"))
        let patched = try await lobby.plan(.patch([more]))
        #expect(patched.relocation.kind == .map && patched.relocation.entries == Self.moved + [more])
        // What was planned before another one came is older now, and its plan did not say so.
        let late = try await lobby.plan(.map(Self.moved, revision: 8))
        try await backend.relocate(patched)
        let error = await #expect(throws: BackendError.self) { try await backend.relocate(late) }
        #expect(error?.kind == .notSent, "\(String(describing: error))")

        let unknown = try await backend.group("nobody").plan(.map(Self.moved, revision: 1))
        #expect(unknown.objections.map(\.kind).contains(.unknownReceiver) && unknown.members.isEmpty)
    }

    @Test func `a broker that is not there is said at once`() async throws {
        let backend = WaypostBackend.Backend(
            perCall: try BackendConfiguration(
                broker: "mqtt://127.0.0.1:\(try FreePort.find())", name: "tool"))
        let start = ContinuousClock.now
        let error = await #expect(throws: BackendError.self) { try await backend.agents() }
        #expect(error?.kind == .noBroker, "\(String(describing: error))")
        #expect(ContinuousClock.now - start < .seconds(8))
    }
}
