import MQTTLink
import Waypost
import WaypostMessages

@testable import WaypostBackend

/// What comes over the broker while a controller steers a roll-out, through all that it makes of it; and through the keeper
/// of maps.
///
/// The input is messages, apart by the byte 1E: which topic, how it comes, and the payload. `$NEXT` and `$BASE` in it stand
/// for the digests of the two maps. Each comes twice, as it does from a broker that was not answered in time.
enum RolloutLaws: Laws {
    /// Who may write it decides what it may do.
    private enum Source: CaseIterable {
        case control, lease, audit, map, candidate, state, health, applied, failure

        /// Whether an agent may write it of itself.
        var isAgents: Bool {
            switch self {
            case .state, .health, .applied, .failure: true
            case .control, .lease, .audit, .map, .candidate: false
            }
        }
    }

    private static let maximumMessages = 6
    private static let topics = Topics.standard
    private static let group = "lobby"
    private static let began: Int64 = 1_795_217_000_000
    /// The most that a broker with the shipped configuration takes.
    private static let maximumBytes = 1 << 20

    static func read(_ bytes: [UInt8]) { _ = try? check(bytes) }

    static func check(_ bytes: [UInt8]) throws(BrokenLaw) { try check(bytes, reads: true) }

    /// Without what commands read that steer nothing.
    static func checkQuickly(_ bytes: [UInt8]) throws(BrokenLaw) { try check(bytes, reads: false) }

    private static func check(_ bytes: [UInt8], reads: Bool) throws(BrokenLaw) {
        guard var scene = start else { throw BrokenLaw(law: "a roll-out can be begun") }
        let messages = messages(bytes, scene)
        var isAgents = true
        for (source, message, pick) in messages {
            isAgents = isAgents && source.isAgents
            try scene.take(message, isReconnecting: pick & 0x40 != 0)
            if reads { try readAlone(message) }
        }
        try scene.finish(isAgents: isAgents)
    }

    private static func messages(
        _ bytes: [UInt8], _ scene: Scene
    ) -> [(source: Source, message: MQTTMessage, pick: UInt8)] {
        bytes.split(separator: 0x1E).prefix(maximumMessages).compactMap { part in
            guard let kind = part.first, let pick = part.dropFirst().first else { return nil }
            let source = Source.allCases[Int(kind) % Source.allCases.count]
            var payload = Array(part.dropFirst(2))
            if payload.contains(UInt8(ascii: "$")) {
                payload = payload.replacing("$NEXT", with: scene.next.id.digest)
                    .replacing("$BASE", with: scene.base.id.digest)
            }
            return (
                source, MQTTMessage(topic: topic(source, pick), payload: payload, retain: pick >= 0x80), pick
            )
        }
    }

    private static func topic(_ source: Source, _ pick: UInt8) -> String {
        // One member of the group, and one that is none as far as anybody knows.
        let agent = pick % 2 == 0 ? "k3" : "k99"
        return switch source {
        case .control: topics.rollout(of: group)
        case .lease: topics.lease(of: group)
        case .audit: topics.audit(of: group, slot: Int64(pick % 70))
        case .map: topics.map(of: .group(group))
        case .candidate: topics.candidate(of: group)
        case .state: topics.state(of: agent)
        case .health: topics.health(of: agent)
        case .applied: topics.applied(of: agent)
        case .failure: topics.failures(of: agent)
        }
    }

    /// What commands read without a controller.
    private static func readAlone(_ message: MQTTMessage) throws(BrokenLaw) {
        let control = try? RolloutControl(message.payload)
        for history in [
            RolloutHistory([message.payload, message.payload], endingWith: control),
            RolloutHistory(file: message.payload + [0x0A] + message.payload),
        ] {
            try BrokenLaw.unless(
                history.entries.count <= 1 + message.payload.count, "an entry is an entry once")
        }
        var trail = RolloutTrail()
        for _ in 0..<2 { trail.saw(message.payload) }
        if let control {
            let entry = trail.append("stage", of: control, by: "ops", why: nil, evidence: nil, at: began)
            try BrokenLaw.unless(
                RolloutAudit(bytes: entry.encoded()) != nil, "who writes an entry can read it")
        }
        guard let json = message.json, let status = try? RolloutStatus(json) else { return }
        try BrokenLaw.unless((try? RolloutStatus(status.json)) != nil, "a status is read as it was written")
    }

    /// A roll-out in its first stage of a group of twenty.
    private static let start = Scene()

    private struct Scene {
        var director: RolloutDirector
        var keeper: MapKeeper
        let base: RolloutDirector.Document
        let next: RolloutDirector.Document
        private var now = began
        private var chance = FixedChance()
        private let epoch: Int64

        init?() {
            let entries: JSONValue = [
                [
                    "routerType": 1, "orginPath": "scheme://router/demo",
                    "targetPath": "scheme://router/demo1",
                ]
            ]
            let maps = [41, 42].map {
                MapDocument.map(id: "m-\($0)", revision: $0, entries: $0 == 42 ? entries : [])
            }
            guard let base = RolloutDirector.Document(maps[0]), let next = RolloutDirector.Document(maps[1]),
                let wanted = try? WantedMap(file: maps[0], for: "@\(group)", name: "map.json")
            else { return nil }
            (self.base, self.next) = (base, next)
            keeper = MapKeeper([wanted], topics: topics)
            var options = RolloutOptions()
            options.dwells = [.seconds(3_600)]
            options.lease.quiet = 0
            director = RolloutDirector(
                group: group, salt: "r-7", topics: topics, options: options,
                holder: .init(name: "ops", nonce: "n"), wallOffset: 0, at: began)
            (director.foreseen, epoch) = ([], 1)
            director.saw(.json(topics.map(of: .group(group)), maps[0], retain: true), at: now)
            for number in 0..<20 { come("k\(number)") }
            guard (try? director.begin(.start(id: "r-7", next, why: nil), at: now)) != nil,
                (try? drain()) != nil
            else { return nil }
        }

        private mutating func come(_ name: String) {
            let state = AgentState(
                isOnline: true, epoch: 1, boot: "b", reason: .birth, agent: name, version: "1", mqtt: 5)
            director.saw(.json(topics.state(of: name), state.encoded(), retain: true), at: now)
            let health: JSONValue = ["groups": [.string(group)], "status": "green"]
            director.saw(.json(topics.health(of: name), health.serialized(), retain: true), at: now)
        }

        mutating func take(_ message: MQTTMessage, isReconnecting: Bool) throws(BrokenLaw) {
            if isReconnecting { director.disconnected(at: now) }
            for _ in 0..<2 {
                director.saw(message, at: now)
                keeper.saw(message, at: now, using: &chance)
            }
            if isReconnecting { director.reconnected(at: now) }
            now += 1_000
            director.advance(to: now)
            try drain()
            try BrokenLaw.unless(keeper.takeDue(at: now).count <= 1, "a map is kept by one message")
            _ = keeper.takeOvertaken()
        }

        /// Does what the controller wants done; who reads it can.
        private mutating func drain() throws(BrokenLaw) {
            var steps = 0
            while let step = director.nextStep() {
                steps += 1
                try BrokenLaw.unless(steps < 200, "a message has an end of what follows from it")
                switch step {
                case .publish(let message):
                    try check(message)
                    director.saw(message, at: now)
                case .ask: director.resolved([])
                }
                director.done(step, at: now)
            }
        }

        private func check(_ message: MQTTMessage) throws(BrokenLaw) {
            try BrokenLaw.unless(message.payload.count <= maximumBytes, "a broker takes what is published")
            guard !message.payload.isEmpty else { return }
            let isRead =
                switch topics.rollout(message.topic) {
                case (_, .control)?: (try? RolloutControl(message.payload)) != nil
                case (_, .lease)?: message.json.flatMap { try? RolloutLease($0) } != nil
                case (_, .audit)?: RolloutAudit(bytes: message.payload) != nil
                case nil: RolloutDirector.Document(message.payload) != nil
                }
            try BrokenLaw.unless(isRead, "what is published on \(message.topic) can be read")
        }

        mutating func finish(isAgents: Bool) throws(BrokenLaw) {
            guard let status = director.status(at: now) else {
                throw BrokenLaw(law: "a roll-out has a status")
            }
            try BrokenLaw.unless(
                (try? RolloutStatus(status.json)) != nil, "a status is read as it was written")
            let said = status.notices.reduce(0) { $0 + $1.utf8.count }
            try BrokenLaw.unless(said < 50_000, "what is said besides is short")
            guard isAgents, let control = director.control else { return }
            try BrokenLaw.unless(control.epoch == epoch, "what an agent says gives no order")
            try BrokenLaw.unless(
                control.state == .running || control.state == .paused, "one agent stops a roll-out at most")
        }
    }

    /// The same each time.
    private struct FixedChance: RandomNumberGenerator {
        mutating func next() -> UInt64 { 1 }
    }

    /// One of each kind, with every number that is read: for the corpus, and for the extreme numbers.
    static let documents: [[UInt8]] = {
        let map: JSONValue = ["rev": 42, "digest": "$NEXT"]
        let control: JSONValue = [
            "type": "rollout", "id": "r-7", "epoch": 1, "seq": 9, "aud": "@lobby", "at": .int(began),
            "by": "ops",
            "why": "x", "base": ["rev": 41, "digest": "$BASE"], "next": map, "state": "running",
            "salt": "r-7",
            "below": "0x4000000000000000", "include": ["k3"], "spread": 5, "hold": 1_800_000,
            "guard": ["failures": 5, "share": 50, "within": 60_000], "stages": ["5", "100%"], "stage": 1,
            "n": 3,
            "voids": [["epoch": 1, "seq": 1]],
        ]
        let gate: JSONValue = [
            "name": "opens", "verdict": "pass", "found": "1", "limit": "5 %", "breach": "take-back",
        ]
        let status: JSONValue = [
            "id": "r-7", "group": "lobby", "state": "running", "base": 41, "next": 42, "stage": 1,
            "stages": [["name": "5", "agents": 5]], "changed": .int(began), "online": 20, "chosen": 5,
            "onNext": 3,
            "notOnNext": ["silent": 2], "remaining": 5, "gates": [gate], "notices": ["n"],
        ]
        let report: JSONValue = [
            "layer": "@lobby", "id": "r-7", "epoch": 1, "seq": 2, "in": "next", "why": "chosen", "opened": 5,
            "failed": 1,
        ]
        let list: [(Source, UInt8, JSONValue)] = [
            (.control, 0, control),
            (
                .lease, 0,
                [
                    "type": "lease", "holder": "ops2", "epoch": 1, "nonce": "a", "ttl": 15_000,
                    "status": status,
                ]
            ),
            (
                .audit, 3,
                [
                    "type": "rollout-log", "n": 3, "at": .int(began), "id": "r-7", "epoch": 1, "seq": 3,
                    "by": "ops2",
                    "event": "stage", "why": "w", "evidence": ["stage": 1, "gates": [gate]], "prev": .null,
                ]
            ),
            (.map, 0, ["type": "map", "id": "m", "rev": 43, "exp": .int(began + 1), "entries": []]),
            (.candidate, 0, ["type": "map", "id": "m", "rev": 42, "entries": []]),
            (
                .state, 0,
                [
                    "state": "offline", "epoch": 3, "boot": "B", "why": "will", "agent": "k3", "version": "1",
                    "mqtt": 5,
                    "at": .int(began),
                ]
            ),
            (.health, 0, ["status": "red", "groups": ["lobby"], "at": .int(began), "epoch": 1, "uptime": 5]),
            (
                .applied, 0,
                [
                    "layers": [["layer": "@lobby", "rev": 42, "digest": "$NEXT", "at": 1]], "entries": 1,
                    "inactive": [["index": 1, "layer": "@lobby", "reason": "x"]], "omitted": 1, "want": true,
                    "rollout": report, "rollouts": [report],
                ]
            ),
            (
                .failure, 0,
                [
                    "id": "f", "code": 404, "name": "NO_ROUTE", "where": "router",
                    "url": "scheme://router/demo",
                    "detail": "no route", "map": ["layer": "@lobby", "rev": 42], "count": 2,
                    "first": .int(began),
                    "last": .int(began),
                ]
            ),
        ]
        return list.map { source, pick, json in
            let kind = UInt8(Source.allCases.firstIndex(of: source) ?? 0)
            return [kind, pick] + json.serialized()
        }
    }()
}
