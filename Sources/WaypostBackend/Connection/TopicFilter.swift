/// A filter of MQTT, ready to be compared with topics.
struct TopicFilter: Sendable, Hashable {
    private let levels: [Substring]

    init(_ filter: String) {
        levels = filter.split(separator: "/", omittingEmptySubsequences: false)
    }

    /// Whether messages on a topic come to this filter (MQTT 5.0, 4.7).
    func matches(_ topic: [Substring]) -> Bool {
        if let first = topic.first, first.hasPrefix("$"), levels.first != first { return false }
        for (index, level) in levels.enumerated() {
            if level == "#" { return true }
            guard index < topic.count, level == "+" || level == topic[index] else { return false }
        }
        return levels.count == topic.count
    }

    static func levels(of topic: String) -> [Substring] {
        topic.split(separator: "/", omittingEmptySubsequences: false)
    }
}
