import FoundationEssentials

/// What a history may be without, so that a small one shows what a large one found.
package enum HistoryPart: String, Codable, CaseIterable, Sendable {
    /// The network between the agent and its broker fails.
    case cut
    /// The broker refuses what the agent publishes, until it does not.
    case refusal
    /// The broker ends, killed or not, and starts again; in some histories it has forgotten all.
    case broker
    /// The disk fails to sync, until it does not.
    case sync
    /// The disk is full, until it is not.
    case full
    /// Somebody sets the clock on the wall.
    case clock
    /// A machine loses its power, and starts again.
    case power
    /// People send maps.
    case maps
    /// People roll maps out.
    case rollouts
    /// A backend comes to its end, and starts again.
    case backend
    /// Somebody who may not sends commands, maps and documents of groups.
    case forged
    /// People send commands that wait for their time, and cancel some.
    case scheduled
    /// People write which groups an agent is in, and send commands to them.
    case groups
    /// Programs of the agent's own machine send it commands, and its own one asks what maps decide.
    case locally
    /// One member of a group says what is not so.
    case lies
    /// Newer certificates come beside the one in use.
    case certificates

    /// What goes wrong by itself, each with each state that it may hit, in histories of a kind.
    package static func meetings(in kind: HistoryKind) -> [String] {
        let isFleet = kind.isFleet
        let parts: [Self] = [.cut, .broker, .sync, .full, .power, .clock] + [isFleet ? .backend : .refusal]
        let states = isFleet ? ["rolling"] : ["starting", "renewing", "busy", "scheduled"]
        return parts.flatMap { part in
            (states + ["mapping", "grouping", "idle"]).map { "\(part) × \($0)" }
        }
    }
}

/// A history: the same plan is the same one, to the last step.
package struct HistoryPlan: Sendable, Equatable {
    /// Why a line or a command is no plan.
    package struct Fault: Error, CustomStringConvertible { package var description: String }

    package var kind: HistoryKind
    package var seed: UInt64
    /// How often the agent starts.
    package var lives: Int
    /// What people do in one life.
    package var deeds: Int
    package var without: Set<HistoryPart> = []

    package init(_ kind: HistoryKind, seed: UInt64) {
        (self.kind, self.seed) = (kind, seed)
        (lives, deeds) = kind.size
    }

    /// The words after the program's name.
    ///
    /// - Throws: ``Fault``
    package init(_ words: [String]) throws {
        guard words.count >= 2, let kind = HistoryKind(rawValue: words[0]) else {
            throw Fault(description: "a history is \(HistoryKind.names) and a seed")
        }
        guard let seed = UInt64(words[1]) else {
            throw Fault(description: "a seed is a whole number, not '\(words[1])'")
        }
        self.init(kind, seed: seed)
        var rest = words.dropFirst(2)
        while let word = rest.popFirst() {
            let value = rest.popFirst() ?? ""
            switch word {
            case "--lives": lives = try Self.count(value, word)
            case "--deeds": deeds = try Self.count(value, word)
            case "--without": without = try Self.parts(value)
            default: throw Fault(description: "there is no option \(word)")
            }
        }
    }

    private static func count(_ text: String, _ option: String) throws -> Int {
        guard let number = Int(text), (1...1_000).contains(number) else {
            throw Fault(description: "\(option) is 1 to 1000, not '\(text)'")
        }
        return number
    }

    private static func parts(_ text: String) throws -> Set<HistoryPart> {
        try Set(
            text.split(separator: ",", omittingEmptySubsequences: false).map { word in
                guard let part = HistoryPart(rawValue: String(word)) else {
                    let names = HistoryPart.allCases.map(\.rawValue).joined(separator: ",")
                    throw Fault(description: "a history may be without \(names), not '\(word)'")
                }
                return part
            })
    }

    /// What differs from the usual size.
    package var options: [String] {
        var words: [String] = []
        if lives != kind.size.lives { words += ["--lives", "\(lives)"] }
        if deeds != kind.size.deeds { words += ["--deeds", "\(deeds)"] }
        let parts = without.map(\.rawValue).sorted().joined(separator: ",")
        if !parts.isEmpty { words += ["--without", parts] }
        return words
    }
}

/// A line of `Seeds.jsonl`: a history that broke a law once, and why.
package struct KnownSeed: Decodable, Sendable {
    private let kind: HistoryKind
    private let seed: UInt64
    private let options: [String]?
    package let cause: String

    /// Those of a file.
    ///
    /// - Throws: ``HistoryPlan/Fault`` with the number of the line that is none.
    package static func read(_ path: String) throws -> [HistoryPlan] {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            throw HistoryPlan.Fault(description: "\(path) can't be read")
        }
        return try zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false)).compactMap {
            number, line in
            guard !line.isEmpty else { return nil }
            do {
                let known = try JSONDecoder().decode(KnownSeed.self, from: Data(line.utf8))
                return try HistoryPlan([known.kind.rawValue, "\(known.seed)"] + (known.options ?? []))
            } catch {
                throw HistoryPlan.Fault(description: "\(path), line \(number) is no seed: \(error)")
            }
        }
    }
}
