import WaypostMessages

/// Puts the lines of a moment in the order in which they happened.
///
/// An agent publishes what gathered level by level, each level on a topic of its own; only the numbers of its events
/// say what came first.
package struct ReorderWindow: Sendable {
    /// How long a line waits for those before it.
    package static let length = Duration.milliseconds(300)
    /// So many lines do not wait any longer.
    private static let maximumLines = 1_000
    /// Nor do lines of so many bytes.
    private static let maximumBytes = 4 << 20

    private var lines: [AgentEvent] = []
    private var bytes = 0

    package init() {}

    package var isEmpty: Bool { lines.isEmpty }
    package var isFull: Bool { lines.count >= Self.maximumLines || bytes >= Self.maximumBytes }

    /// Whether what is counted is there.
    private var isConsistent: Bool { bytes >= 0 && (!lines.isEmpty || bytes == 0) }

    package mutating func add(_ line: AgentEvent) {
        defer { assert(isConsistent) }
        lines.append(line)
        bytes += line.source.count
    }

    /// All lines, those of each agent in order; a line without a number keeps its place.
    package mutating func take() -> [AgentEvent] {
        defer { assert(isConsistent) }
        var ordered = lines
        let places = Dictionary(grouping: lines.indices.filter { lines[$0].event.sequence > 0 }) {
            lines[$0].agent
        }
        for indices in places.values where indices.count > 1 {
            for (place, line) in zip(indices, LogOrder.ofOneAgent(indices.map { lines[$0] })) {
                ordered[place] = line
            }
        }
        lines = []
        bytes = 0
        return ordered
    }
}
