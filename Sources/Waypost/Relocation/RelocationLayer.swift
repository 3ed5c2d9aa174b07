/// The entries of one source: built in, a group's map, the agent's map, patches.
public struct RelocationLayer: Sendable, Hashable {
    /// The name under which it is reported: `agent`, `@all`, `patch`.
    public var name: String
    /// Its entries; a later one wins.
    public var entries: [RelocationEntry]

    /// A layer.
    public init(name: String, entries: [RelocationEntry]) {
        self.name = name
        self.entries = entries
    }

    /// The most entries of a layer that grows by patches.
    static let maximumPatched = 2000

    /// Adds the entries of a patch, in order: a later entry takes the place of an earlier one about the same path.
    package mutating func patch(_ newer: [RelocationEntry]) {
        let subjects = Set(newer.map(\.subject))
        entries = entries.filter { !subjects.contains($0.subject) } + newer
    }
}

extension RelocationEntry {
    /// One list that does what two layers do of which the second lies over the first.
    ///
    /// An entry without a condition hides those below about the same path; one with a condition is tried before them.
    package static func merged(
        _ lower: [RelocationEntry], under upper: [RelocationEntry]
    ) -> [RelocationEntry] {
        let hidden = Set(upper.filter { $0.when == nil }.map(\.subject))
        return upper + lower.filter { !hidden.contains($0.subject) }
    }

    /// What the entry is about: two entries about the same thing do not add up, the later one counts.
    package var subject: String {
        switch kind {
        case .replace(let origin, _), .reset(let origin, _): "redirect \(origin)"
        case .add(let path, _), .delete(let path): "path \(path)"
        }
    }
}

/// What a relocation map does in this build.
public struct RelocationReport: Sendable, Hashable {
    /// An entry that is in force but does nothing in this build.
    public struct Inactive: Sendable, Hashable {
        /// The layer that holds it.
        public var layer: String
        /// Its place in the layer, from 0.
        public var index: Int
        /// Why it does nothing, as a sentence.
        public var reason: String
    }

    /// An entry with a condition.
    package struct Conditional: Sendable, Hashable {
        /// Whether it applies.
        package enum State: String, Sendable, Hashable, CaseIterable {
            /// It applies in this client.
            case yes
            /// It does not.
            case no
            /// Each open decides: by the time, or by a parameter.
            case depends
        }

        /// The layer that holds it.
        package var layer: String
        /// Its place in the layer, from 0.
        package var index: Int
        /// Whether it applies.
        package var state: State
        /// The condition in words, and what does not hold.
        package var reason: String
    }

    /// How many entries all layers have.
    public var entries: Int
    /// The entries that do nothing, by layer and place.
    public var inactive: [Inactive]
    /// The entries that have a condition, by layer and place.
    package var conditional: [Conditional] = []
}
