import FoundationEssentials
import Glibc
import WaypostAgent

/// What a process of the world runs.
package enum HistoryKind: String, CaseIterable, Sendable {
    case threads
    case race
    case agent
    case crashes
    /// The same without the durability that the guarantees rest on.
    case weak

    package static var names: String { allCases.map(\.rawValue).joined(separator: "|") }

    /// How a process of a history ended.
    package enum Ending {
        case over(text: String, isGood: Bool)
        /// It goes on in another process, with the state in this folder.
        case goesOn(in: String)
    }

    /// Runs it in a process that has run none yet.
    ///
    /// - Parameter folder: what an earlier process of this history has left; nil for the first.
    package func run(seed: UInt64, in folder: String? = nil, showsNotes: Bool = false) -> Ending {
        switch self {
        case .threads:
            let scheduler = SeededScheduler(seed: seed, showsNotes: showsNotes)
            let found = Found()
            let ending = scheduler.run {
                if !ThreadsHistory(scheduler).run() { found.text = "numbers are missing" }
            }
            return over(seed, scheduler, ending, found.text)
        case .race:
            let scheduler = SeededScheduler(seed: seed, showsNotes: showsNotes)
            let found = Found()
            let ending = scheduler.run {
                if !RaceHistory().run() { found.text = "one was not counted" }
            }
            return over(seed, scheduler, ending, found.text)
        case .agent: return live(seed, in: folder, .full, lives: 1, commands: 30, showsNotes)
        case .crashes: return live(seed, in: folder, .full, lives: 6, commands: 8, showsNotes)
        case .weak: return live(seed, in: folder, .off, lives: 6, commands: 8, showsNotes)
        }
    }

    /// One start of an agent, of which all but the last may come to their end anywhere.
    private func live(
        _ seed: UInt64, in folder: String?, _ durability: Durability, lives: Int, commands: Int,
        _ showsNotes: Bool
    ) -> Ending {
        let life: Life
        do {
            life = try folder.map(Life.read) ?? Life.first()
        } catch {
            return .over(text: "no folder: \(error)", isGood: false)
        }
        var draws = Draws(seed: seed, stream: UInt64(10 + life.number))
        let isLast = life.number + 1 >= lives
        // A quarter each: at a step, at something that the disk does, at a stop; the last one always there.
        let place = isLast ? 3 : Int.random(in: 0...3, using: &draws)
        let scheduler = SeededScheduler(
            seed: draws.next(), after: (life.now, life.digest),
            crash: place < 2 ? UInt64.random(in: 1...4_000, using: &draws) : .max, showsNotes: showsNotes)
        let disk = WorldDisk(folder: life.folder + "/state", seed: draws.next())
        if place == 2 {
            disk.crashes(scheduler)
            disk.die(after: Int.random(in: 1...200, using: &draws))
        }
        let history = AgentHistory(scheduler, disk, life.people, life.broker)
        let found = Found()
        let ending = scheduler.run {
            do {
                try history.run(
                    in: "state", durability, commands: isLast && lives > 1 ? 2 : commands, isLast: isLast)
            } catch {
                found.text = "\(error)"
            }
        }
        guard !isLast, found.text.isEmpty, ending == .done || ending == .crashed else {
            life.remove()
            return over(seed, scheduler, ending, found.text)
        }
        // What was not synced goes with the power.
        disk.die()
        do {
            try life.next(after: scheduler, history, downtime: Int64.random(in: 0...90_000, using: &draws))
            return .goesOn(in: life.folder)
        } catch {
            return .over(text: "\(error)", isGood: false)
        }
    }

    private func over(
        _ seed: UInt64, _ scheduler: SeededScheduler, _ ending: SeededScheduler.Ending?, _ found: String
    ) -> Ending {
        let summary = scheduler.summary
        let text =
            "\(self) \(seed) \(String(summary.digest, radix: 16)) \(summary.steps) steps, "
            + "\(summary.switches) switches, \(summary.milliseconds) ms"
        guard ending == .done else {
            let end = ending.map { "\($0)" } ?? "a thread waits outside of the world"
            let lines = [text + ": " + end] + scheduler.threads
            return .over(text: lines.joined(separator: "\n"), isGood: false)
        }
        return .over(text: found.isEmpty ? text : "\(text): \(found)", isGood: found.isEmpty)
    }

    /// What a history has found, `Sendable` for it is read behind the end; a lock of ours would be a part of the history.
    private final class Found: @unchecked Sendable { var text = "" }
}

/// What goes from one start of an agent to the next: its folder, and all that knows of it.
struct Life: Codable {
    private(set) var folder: String
    private(set) var number = 0
    private(set) var now: UInt64 = 1_000_000_000
    private(set) var digest = Digest()
    private(set) var people = People()
    private(set) var broker = BrokerModel.Kept()

    private static let name = "life.json"

    /// The first one, in a folder of its own, in which the process is from then on.
    static func first() throws -> Life {
        let path = FileManager.default.temporaryDirectory.path + "/waypost-world-XXXXXX"
        var template = Array(path.utf8CString)
        guard mkdtemp(&template) != nil, let real = realpath(template, nil), chdir(real) == 0 else {
            throw CocoaError(.fileNoSuchFile)
        }
        defer { free(real) }
        return Life(folder: String(cString: real))
    }

    /// The one that another process has left.
    static func read(_ folder: String) throws -> Life {
        guard chdir(folder) == 0 else { throw CocoaError(.fileNoSuchFile) }
        return try JSONDecoder().decode(Life.self, from: Data(contentsOf: URL(filePath: "\(folder)/\(name)")))
    }

    func remove() { try? FileManager.default.removeItem(atPath: folder) }

    /// Leaves the next one for another process.
    func next(after scheduler: SeededScheduler, _ history: AgentHistory, downtime: Int64) throws {
        var next = self
        next.number += 1
        next.now = scheduler.now.now + UInt64(downtime) * 1_000_000
        next.digest = scheduler.now.digest
        (next.people, next.broker) = history.rest
        try JSONEncoder().encode(next).write(to: URL(filePath: "\(folder)/\(Self.name)"), options: .atomic)
    }
}
