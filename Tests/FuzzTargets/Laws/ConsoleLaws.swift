import MQTTLink
import Waypost
import WaypostBackend
import WaypostMessages

@testable import WaypostConsole

/// What agents publish, through all that the console keeps and shows of it.
///
/// The input is messages as ``OperatorLaws`` has them. Each comes twice, as it does from a broker that was not answered in
/// time.
enum ConsoleLaws: Laws {
    private static let contents = [
        "state", "health", "map/applied", "log/i", "fail", "reply/me", "log/x", "routes", "rollout",
        "rollout/lease", "rollout/log/3", request,
    ]
    /// Not a topic: the query of a page's request, with a number as in `Last-Event-ID` before it.
    private static let request = "request"
    private static let maximumMessages = 8
    static let now: Int64 = 1_795_217_000_000
    private static let query = try? LogView("-tag:none -message~:'(x+)+y' level:V")

    /// All that a console knows, and the one who reads for it.
    struct Console {
        private(set) var state = FleetState(began: now)
        private var inbox = FleetInbox(topics: .standard)

        /// Takes a message twice.
        mutating func see(_ message: MQTTMessage) {
            for time in [now, now + 60_000] {
                for news in inbox.read(message, now: time) { state.take(news, now: time) }
            }
        }
    }

    static func read(_ bytes: [UInt8]) {
        var console = Console()
        for message in messages(bytes) { console.see(message) }
        _ = shown(console.state)
    }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) {
        var console = Console()
        for message in messages(bytes) {
            console.see(message)
            guard message.topic.hasSuffix(request) else { continue }
            for json in answers(message.payload, console.state) { try check(json) }
        }
        try check(console.state)
    }

    /// Without what a page shows of it.
    static func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw) {
        var console = Console()
        for message in messages(bytes) { console.see(message) }
        try checkNumbers(console.state)
    }

    private static func check(_ json: JSONValue) throws(BrokenLaw) {
        let text = json.serialized()
        try BrokenLaw.unless(
            (try? JSONValue(parsing: text, limits: .trustedFile)) != nil, "an answer is JSON")
    }

    private static func messages(_ bytes: [UInt8]) -> [MQTTMessage] {
        bytes.split(separator: 0x1E).prefix(maximumMessages).compactMap { part in
            guard let kind = part.first, let pick = part.dropFirst().first else { return nil }
            let content = contents[Int(kind) % contents.count]
            let who = content.hasPrefix("rollout") ? "@g\(pick % 3)" : "k\(pick % 3)"
            return MQTTMessage(
                topic: "waypost/v1/\(who)/\(content)", payload: Array(part.dropFirst(2)), retain: pick >= 0x80
            )
        }
    }

    /// What a page asks for, of all that the console knows.
    private static func answers(_ query: [UInt8], _ state: FleetState) -> [JSONValue] {
        let text = String(decoding: query, as: UTF8.self)
        let items = QueryItems(query: text)
        var answers: [JSONValue] = []
        if let view = try? FleetView(items) {
            answers.append(view.json(of: state, isComplete: true, asOf: now, now: now))
        }
        for name in ["before", "after", "at"] {
            guard let number = try? items.number(name) else { continue }
            answers.append(state.timelineJSON(of: items["agent"] ?? "k0", before: number, limit: 5, now: now))
        }
        if let view = try? LogView(items["log"], agent: items["agent"]) {
            // The page's last line may be any number.
            let last = text.split(separator: "&").first.flatMap { Int64($0) } ?? 0
            let frame = view.frame(
                of: state.lines, from: last, limit: 64, backlog: 2_000, within: .seconds(1), now: now)
            answers.append(.array(frame.lines.map(\.json)))
        }
        return answers
    }

    /// Shows all that is known.
    static func check(_ state: FleetState) throws(BrokenLaw) {
        for json in shown(state) { try check(json) }
        try checkNumbers(state)
    }

    private static func checkNumbers(_ state: FleetState) throws(BrokenLaw) {
        try BrokenLaw.unless(state.failures.total >= 0, "a sum of counts is none below zero")
        try BrokenLaw.unless(
            state.problems == state.rows.values.count { $0.summary.condition.isTrouble },
            "agents with problems are counted")
    }

    private static func shown(_ state: FleetState) -> [JSONValue] {
        var shown = [
            state.mapsJSON(asOf: now), state.failuresJSON(asOf: now, now: now),
            state.rollouts.json(asOf: now), .array(state.commands.newest(10).map(\.json)),
        ]
        for order in FleetView.Order.allCases {
            var view = FleetView()
            view.order = order
            shown.append(view.json(of: state, isComplete: true, asOf: now, now: now))
        }
        for agent in ["k0", "k1", "k2"] {
            shown.append(state.agentJSON(agent, asOf: now, now: now))
            shown.append(state.timelineJSON(of: agent, before: nil, limit: 100, now: now))
        }
        for start in [0, state.lines.next, .max, .min] {
            let frame = query?.frame(
                of: state.lines, from: start, limit: 64, backlog: 2_000, within: .seconds(1), now: now)
            shown.append(.array(frame?.lines.map(\.json) ?? []))
        }
        return shown
    }
}
