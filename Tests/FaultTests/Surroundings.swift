import Foundation
import TestSupport

/// What goes wrong around an agent for a while, besides kills.
enum Trouble: CaseIterable {
    case none
    case frozenAgent
    case frozenBroker
    case fullDisk
    case clockStep

    static func drawn(_ random: inout SeededGenerator) -> Trouble {
        allCases.randomElement(using: &random) ?? .none
    }

    /// An agent that is frozen or on a full disk is also killed like that.
    var isOverBeforeTheKill: Bool { self != .frozenAgent && self != .fullDisk }
}

/// The disk and the clock of an agent, and its broker, all of which fail when asked to.
final class Surroundings: Sendable {
    /// The agent's state directory; on a disk of its own where that is possible.
    let directory: String
    private let clockFile: String
    private let disk: SmallDisk?
    private let broker: TestBroker

    init(broker: TestBroker) throws {
        self.broker = broker
        disk = SmallDisk.isPossible ? try SmallDisk(kibibytes: 512 * 1024) : nil
        let place = disk?.path ?? NSTemporaryDirectory() + "waypost-soak-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        directory = place + "/state"
        clockFile = NSTemporaryDirectory() + "waypost-clock-\(UUID().uuidString)"
        try Self.offset(0).write(to: URL(fileURLWithPath: clockFile))
    }

    /// For the agent's process.
    var environment: [String: String] { ["WAYPOST_CLOCK_OFFSET": clockFile] }

    /// Lets something go wrong for up to a second, and ends it.
    func make(_ trouble: Trouble, for agent: AgentProcess) async throws {
        // Both moments are drawn by lot: nothing is waited for.
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...500)))
        let length = Duration.milliseconds(Int.random(in: 50...1000))
        switch trouble {
        case .none: break
        case .frozenAgent:
            try await agent.freeze()
            try await Task.sleep(for: length)
            agent.thaw()
        case .frozenBroker:
            broker.pause()
            try await Task.sleep(for: length)
            broker.resume()
        case .fullDisk:
            try disk?.fill()
            try await Task.sleep(for: length)
            disk?.makeRoom()
        case .clockStep:
            // Hours, so that a step is one whatever the agent forgives.
            try setClock(Int64.random(in: 1...3) * 3_600_000 * (Bool.random() ? 1 : -1))
            try await Task.sleep(for: length)
            try setClock(0)
        }
    }

    func end() {
        disk?.end()
        try? FileManager.default.removeItem(atPath: clockFile)
    }

    /// In place: the agent has the file mapped.
    private func setClock(_ milliseconds: Int64) throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: clockFile))
        try file.write(contentsOf: Self.offset(milliseconds))
        try file.close()
    }

    private static func offset(_ milliseconds: Int64) -> Data {
        withUnsafeBytes(of: milliseconds) { Data($0) }
    }
}
