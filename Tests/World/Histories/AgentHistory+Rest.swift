import Threading
import Waypost
import WaypostAgent

/// When nothing fails any more.
extension AgentHistory {
    /// Nothing fails any more: each command gets its result, and each newest map comes in force.
    func comeToRest(_ agent: Agent, _ sender: WorldClient) throws {
        setClock(off: 0)
        program.withLock(\.self)?.app.ring()
        for round in 1...90 where !people.withLock(\.isAtRest) {
            sendMapsAgain(to: sender)
            for command in people.withLock(\.locally.open) { ask(agent, command.id, command.payload) }
            try take(from: sender, for: .seconds(10)) { $0.isAtRest }
            // What no broker has any more, and what a refused answer was of, nobody but its sender can bring back.
            if round.isMultiple(of: 3) {
                people.withLock { if !life.traits.broker.persists || $0.wasRefused { $0.brokerForgot() } }
            }
            sendAgain(to: sender)
        }
        // Whatever has come to its end is not done again.
        for command in people.withLock(\.locally.known) { ask(agent, command.id, command.payload) }
        try take(from: sender, for: .seconds(20)) { _ in answers.withLock { $0.allSatisfy { $0.times > 0 } } }
        let (open, waiting) = people.withLock { ($0.open, $0.waiting.map(\.layer)) }
        guard open.isEmpty else { throw Breach.noResult(open) }
        guard waiting.isEmpty else { throw Breach.noMap(waiting) }
        if let document = people.withLock(\.groups.waiting) { throw Breach.noGroups(document) }
        let reports = people.withLock(\.reports)
        guard reports.isEmpty else { throw Breach.noReport(reports) }
        if let local = people.withLock(\.locally.open.first) { throw Breach.noResult([local.id]) }
    }

    /// A command for each group reaches the agent where it is in that; what reaches it elsewhere, a handler sees.
    func reachGroups(_ deeds: inout Deeds, _ sender: WorldClient) throws {
        var missing: [String] = []
        for _ in 0..<6 {
            let sent = people.withLock { people in
                SentGroups.names.map {
                    (name: $0, id: "c\(people.next)", deed: deeds.ofGroup($0, to: &people))
                }
            }
            for (_, _, deed) in sent {
                guard case .letter(let topic, let payload, _) = deed else { continue }
                publish(payload, on: topic, as: "", sender)
            }
            let isAnswered = { (people: People, id: String) in people.commands[id]?.result != nil }
            let due = people.withLock { people in sent.filter { people.groups.groups.contains($0.name) } }
            try take(from: sender, for: .seconds(10)) { people in due.allSatisfy { isAnswered(people, $0.id) }
            }
            missing = people.withLock { people in due.filter { !isAnswered(people, $0.id) }.map { $0.name } }
            if missing.isEmpty { break }
        }
        guard missing.isEmpty else { throw Breach.unreached(missing) }
        try take(from: sender, for: .seconds(2)) { _ in false }
        let filters = broker.kept.filters(of: "k1")
        let isIn = people.withLock(\.groups.groups)
        let wrong = SentGroups.names.filter {
            filters.contains("waypost/v1/@\($0)/cmd/+") != isIn.contains($0)
        }
        guard wrong.isEmpty else { throw Breach.subscribed(filters) }
    }

    /// What the broker must have of an agent that came to rest.
    func checkRetained() throws {
        let missing = ["state", "health", "map/applied", "routes", "contract"].filter {
            broker.kept.retained["waypost/v1/k1/\($0)"] == nil
        }
        guard missing.isEmpty else { throw Breach.notRetained(missing) }
    }

    /// What an agent that came to rest and stopped may not keep.
    func checkRemains() throws {
        let remains = WorldStore.remains(in: "state")
        guard remains.isEmpty else { throw Breach.leftOver(remains) }
    }
}
