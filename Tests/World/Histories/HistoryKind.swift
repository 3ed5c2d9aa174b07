import FoundationEssentials
import Glibc
import Synchronization

/// What a process of the world runs.
package enum HistoryKind: String, CaseIterable, Sendable {
    case threads
    case race
    case agent

    package static var names: String { allCases.map(\.rawValue).joined(separator: "|") }

    /// Runs it in a process that has run none yet.
    package func run(seed: UInt64, showsNotes: Bool) -> (text: String, isGood: Bool) {
        let scheduler = SeededScheduler(seed: seed, showsNotes: showsNotes)
        // Only read behind the end; a lock of ours would be a part of the history.
        let breach = Mutex("")
        let ending = scheduler.run {
            let text = run(scheduler)
            breach.withLock { $0 = text }
        }
        let (summary, found) = (scheduler.summary, breach.withLock { $0 })
        let text =
            "\(self) \(seed) \(String(summary.digest, radix: 16)) \(summary.steps) steps, "
            + "\(summary.switches) switches, \(summary.milliseconds) ms"
        guard ending == .done else {
            let end = ending.map { "\($0)" } ?? "a thread waits outside of the world"
            return (([text + ": " + end] + scheduler.threads).joined(separator: "\n"), false)
        }
        return (found.isEmpty ? text : "\(text): \(found)", found.isEmpty)
    }

    /// On the first thread of the world; what did not hold.
    private func run(_ scheduler: SeededScheduler) -> String {
        switch self {
        case .threads: return ThreadsHistory(scheduler).run() ? "" : "numbers are missing"
        case .race: return RaceHistory().run() ? "" : "one was not counted"
        case .agent:
            var folder = Array("/tmp/waypost-world-XXXXXX".utf8CString)
            guard mkdtemp(&folder) != nil, chdir(&folder) == 0 else { return "no folder: errno \(errno)" }
            defer {
                let path = String(decoding: folder.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
                try? FileManager.default.removeItem(atPath: path)
            }
            do {
                try AgentHistory(scheduler).run(in: "state")
                return ""
            } catch {
                return "\(error)"
            }
        }
    }
}
