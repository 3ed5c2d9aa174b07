/// What a process of the world runs.
package enum HistoryKind: String, CaseIterable, Codable, Sendable {
    case threads
    case race
    case agent
    case crashes
    /// The same without the durability that the guarantees rest on.
    case weak
    /// Several agents, and backends that send them maps and roll them out.
    case fleet
    /// The same with twenty agents for an hour, and a deed every minute and a half.
    case hour

    package static var names: String { allCases.map(\.rawValue).joined(separator: "|") }

    /// How many starts it has, and what people do in each.
    var size: (lives: Int, deeds: Int) {
        switch self {
        case .threads, .race: (1, 1)
        case .agent: (1, 40)
        case .crashes, .weak: (6, 12)
        case .fleet, .hour: (1, 40)
        }
    }

    /// Whether several agents and those who send them maps are in it.
    var isFleet: Bool { self == .fleet || self == .hour }
}
