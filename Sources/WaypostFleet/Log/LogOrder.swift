import WaypostMessages

/// The order in which things happened: by number within one start of an agent, one start of an agent after the other,
/// and by the clock only between agents.
package enum LogOrder {
    /// The lines of one agent; its starts are in the order of their first lines here.
    package static func ofOneAgent(_ lines: [AgentEvent]) -> [AgentEvent] {
        var starts: [String: Int] = [:]
        for line in lines where starts[line.event.boot] == nil { starts[line.event.boot] = starts.count }
        func place(_ line: AgentEvent) -> (Int, Int64) {
            (starts[line.event.boot] ?? 0, line.event.sequence)
        }
        return lines.sorted { place($0) < place($1) }
    }

    /// The lines of several agents, of each of them in order.
    ///
    /// - Parameter error: how far the clock of an agent is ahead, in milliseconds.
    package static func merged(
        _ agents: [[AgentEvent]], clockError error: (_ agent: String) -> Int64 = { _ in 0 }
    ) -> [AgentEvent] {
        var all: [(time: Int64, line: AgentEvent)] = []
        for lines in agents {
            // A clock that was put back does not bring a line before those that it follows.
            var time = Int64.min
            let error = lines.first.map { error($0.agent) } ?? 0
            for line in lines {
                time = max(time, line.event.time.subtracting(clamping: error))
                all.append((time, line))
            }
        }
        // Stable: lines of one agent stay as they are, also those of one time.
        return all.enumerated().sorted { left, right in
            (left.element.time, left.element.line.agent, left.offset)
                < (right.element.time, right.element.line.agent, right.offset)
        }.map(\.element.line)
    }
}
