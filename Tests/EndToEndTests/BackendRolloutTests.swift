import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// A Swift backend steers roll-outs with the library alone, at a real broker and with simulated agents.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct BackendRolloutTests {
    private func with(
        _ scene: SimulatedGroup, _ body: (GroupClient, RolloutOptions) async throws -> Void
    ) async throws {
        let configuration = try BackendConfiguration(broker: scene.broker.url, name: "shop")
        var options = RolloutOptions()
        try options.setStages(["5", "50%", "100%"])
        (options.dwells, options.tail, options.spread) = ([.seconds(60)], .zero, .milliseconds(100))
        try await WaypostBackend.Backend.with(configuration) { try await body($0.group("lobby"), options) }
    }

    private func map(_ file: String) throws -> Relocation {
        try Relocation(document: Array(Data(contentsOf: URL(fileURLWithPath: file))))
    }

    /// An error of what runs beside a wait is shown at once, and not only what was waited for in vain.
    private static func saying<Value: Sendable>(
        _ what: String, _ body: @Sendable () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch {
            Issue.record("\(what): \(error)")
            throw error
        }
    }

    @Test func `one is planned, paused, resumed, and its history is whole`() async throws {
        let scene = try await SimulatedGroup()
        let map = try map(scene.next)
        try await with(scene) { group, options in
            let plan = try await group.planRollout(map, id: "r-7", options)
            #expect(plan.isClear && plan.base == 41 && plan.next == 42 && plan.known == 60, "\(plan.faults)")
            #expect(plan.stages.map(\.name) == ["5", "50%", "100%"])
            #expect(plan.stages.first?.agents == 5 && plan.stages.last?.agents == 60)
            #expect(try await group.rolloutStatus() == nil)

            let seen = EventLog<RolloutStatus>()
            let following = Task {
                try await Self.saying("the statuses ended") {
                    for try await status in group.rolloutStatuses() {
                        seen.append(status)
                        if status.isOver { return }
                    }
                }
            }
            async let first = Self.saying("the roll-out ended") { [options] in
                try await group.rollOut(map, id: "r-7", options, because: "the new shop")
            }
            try await seen.wait(for: "the first stage") { $0.last?.onNext == 5 }
            let paused = try await group.pauseRollout(because: "lunch")
            #expect(paused == .paused(why: "lunch"))
            #expect(try await first == .superseded(by: "shop"))
            let status = try #require(try await group.rolloutStatus())
            #expect(status.state == "paused" && status.why == "lunch" && status.id == "r-7")

            var quick = options
            quick.dwells = [.milliseconds(200)]
            let observed = EventLog<RolloutStatus>()
            let outcome = try await group.resumeRollout(quick) { observed.append($0) }
            #expect(outcome == .done)
            #expect(observed.events.last?.state == "done")
            try await following.value
            #expect(seen.events.contains { $0.state == "paused" } && seen.events.last?.isOver == true)

            let history = try await group.rolloutHistory()
            #expect(history.faults == [])
            #expect(
                history.entries.map(\.event) == [
                    "start", "stage", "pause", "resume", "stage", "stage", "promote", "done",
                ])
            #expect(history.entries.first?.why == "the new shop")
        }
        try await eventually("all to have the map") { try await scene.revisions() == [42: 60] }
    }

    /// A reader that shares a connection gets what others on it wait for: it took a late reply for an entry.
    @Test func `what comes on other topics while a history is read is no entry`() async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        let other = try await TestSupport.Backend(broker: broker.url)
        try await other.publish("no entry", to: "waypost/v1/kiosk-1/reply/shop", retain: true)
        await other.disconnect()
        let configuration = try BackendConfiguration(broker: broker.url, name: "shop")
        try await WaypostBackend.Backend.with(configuration) { backend in
            let history = try await backend.group("lobby").rolloutHistory()
            #expect(history.faults == [] && history.entries == [])
        }
    }

    @Test func `one is taken back, and what must not begin says why`() async throws {
        let scene = try await SimulatedGroup(20)
        let (base, next) = (try map(scene.base), try map(scene.next))
        try await with(scene) { group, options in
            let seen = EventLog<RolloutStatus>()
            async let rolling = group.rollOut(next, id: "r-8", options) { seen.append($0) }
            try await seen.wait(for: "the first stage") { $0.last?.onNext == 5 }
            let back = try await group.takeRolloutBack(because: "the wrong shop")
            #expect(back == .takenBack(why: "the wrong shop"))
            _ = try await rolling
            #expect(try await group.rolloutStatus()?.state == "taken-back")

            for (map, id, kind) in [(base, "r-9", BackendError.Kind.notSent), (next, "r 9", .invalid)] {
                let error = await #expect(throws: BackendError.self) {
                    try await group.rollOut(map, id: id, options)
                }
                #expect(error?.kind == kind, "\(String(describing: error))")
            }
            let error = await #expect(throws: BackendError.self) { try await group.resumeRollout(options) }
            #expect(error?.kind == .notSent, "\(String(describing: error))")
        }
        try await eventually("all to be back") { try await scene.revisions() == [41: 20] }
    }
}
