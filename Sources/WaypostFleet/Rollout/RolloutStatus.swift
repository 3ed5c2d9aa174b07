package import Waypost
package import WaypostMessages

/// How far a roll-out is, and what its gates say.
public struct RolloutStatus: Sendable, Hashable {
    /// One stage.
    public struct Stage: Sendable, Hashable {
        /// `5` or `10%`.
        public package(set) var name: String
        /// How many agents it chose; nil before it began, 0 for one that was left out because it adds none.
        public package(set) var agents: Int?

        package init(name: String, agents: Int? = nil) { (self.name, self.agents) = (name, agents) }
    }

    /// So many agents are named at most.
    static let maximumNamed = 10

    /// What a gate says.
    public enum Verdict: String, Sendable, Hashable {
        /// There is evidence, and it is good.
        case pass
        /// There is evidence, and it is bad.
        case breach
        /// There is too little to say.
        case inconclusive
    }

    /// What a breach does.
    public enum Consequence: String, Sendable, Hashable {
        /// The stage stays as it is until it is decided on.
        case pause
        /// All agents go back to the map before.
        case takeBack = "take-back"
    }

    /// One gate with its number.
    public struct Gate: Sendable, Hashable {
        /// `candidate`, `resolve`, `not-found`, `failures`, `opens`, `lost`, `guard`, `reports`, `health`.
        public package(set) var name: String
        /// What it says.
        public package(set) var verdict: Verdict
        /// What was found, for people: `2 of 50 agents`.
        public package(set) var found: String
        /// What would be a breach, for people.
        public package(set) var limit: String
        /// What a breach does.
        public package(set) var consequence: Consequence

        package init(
            name: String, verdict: Verdict, found: String, limit: String, consequence: Consequence
        ) {
            self.name = name
            self.verdict = verdict
            self.found = found
            self.limit = limit
            self.consequence = consequence
        }
    }

    /// The roll-out's id.
    public package(set) var id: String
    /// The group, without its `@`.
    public package(set) var group: String
    /// `running`, `paused`, `taking-back`, `taken-back`, `promoting`, `done`; a newer controller may have more.
    ///
    /// `forgotten` when only agents know of it any more.
    public package(set) var state: String
    /// The revision in force before; nil when the group had no map.
    public package(set) var base: Int64?
    /// The revision that is rolled out.
    public package(set) var next: Int64?
    /// The stages in their order.
    public package(set) var stages: [Stage] = []
    /// The place of the stage that runs.
    public package(set) var stage = 0
    /// Who changed it last, and why.
    public package(set) var author: String?
    /// See ``author``.
    public package(set) var why: String?
    /// When it was changed last, in milliseconds since 1970 by the controller's clock.
    public package(set) var changed: Int64 = 0
    /// Who steers it; nil when no controller does.
    public package(set) var holder: String?
    /// Agents of the group that are online.
    public package(set) var online = 0
    /// Those of them that are chosen.
    public package(set) var chosen = 0
    /// Those of them that say that the new map is in force.
    public package(set) var onNext = 0
    /// Agents that are chosen and say that it is not, by reason.
    public package(set) var notOnNext: [String: Int] = [:]
    /// The names of these agents, by reason; empty when they are more than ten.
    public package(set) var missing: [String: [String]] = [:]
    /// How long the stage lasts at least from now on, or once it is `done` how long a breach still takes the map back, in
    /// milliseconds; nil when neither is so.
    public package(set) var remaining: Int64?
    /// Why verdicts and times stand still; nil when they do not.
    public package(set) var standstill: String?
    /// The gates of the stage.
    public package(set) var gates: [Gate] = []
    /// What should be known besides, each a sentence: an agent that claims what nobody sent, a document that somebody
    /// emptied and that was put back.
    public package(set) var notices: [String] = []
    /// Why the file of the audit lacks entries; nil when it has all, where none is kept, and for who only watches.
    public package(set) var unkept: String?

    /// A status without numbers.
    package init(id: String, group: String, state: String) {
        (self.id, self.group, self.state) = (id, group, state)
    }

    /// Whether nothing more will happen: it is not while a controller still watches the map that is `done`.
    public var isOver: Bool { (state == "done" && remaining == nil) || state == "taken-back" }
}

extension RolloutStatus {
    /// As `waypost rollout status --json` prints it.
    package var json: JSONValue {
        [
            "id": .string(id), "group": .string(group), "state": .string(state), "base": .init(base),
            "next": .init(next), "stage": .int(Int64(stage)),
            "stages": .array(
                stages.map { ["name": .string($0.name), "agents": .init($0.agents.map(Int64.init))] }),
            "by": .init(author), "why": .init(why), "changed": .int(changed), "holder": .init(holder),
            "online": .int(Int64(online)), "chosen": .int(Int64(chosen)), "onNext": .int(Int64(onNext)),
            "notOnNext": .object(notOnNext.mapValues { .int(Int64($0)) }),
            "missing": .object(missing.mapValues { .array($0.map(JSONValue.string)) }),
            "remaining": .init(remaining),
            "standstill": .init(standstill), "gates": .array(gates.map(\.json)),
            "notices": .array(notices.map(JSONValue.string)),
        ]
    }

    /// - Throws: ``Failure`` naming the field that is missing.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            id: try fields.required("id", fields.text("id")),
            group: try fields.required("group", fields.text("group")),
            state: try fields.required("state", fields.text("state")))
        base = try fields.integer("base")
        next = try fields.integer("next")
        stage = Int(clamping: try fields.clamped("stage", to: 0...1_000) ?? 0)
        stages = (fields["stages"]?.arrayValue ?? []).prefix(RolloutStage.maximumStages).map {
            Stage(
                name: $0["name"]?.stringValue ?? "?",
                agents: $0["agents"]?.boundedInt.map { Int(clamping: $0) }
            )
        }
        author = try fields.text("by")
        why = try fields.text("why")
        changed = try fields.clamped("changed", to: 0...Fields.latestTime) ?? 0
        holder = try fields.text("holder")
        func count(_ name: String) throws(Failure) -> Int {
            Int(clamping: try fields.clamped(name, to: 0...Fields.largestInteger) ?? 0)
        }
        online = try count("online")
        chosen = try count("chosen")
        onNext = try count("onNext")
        notOnNext = (fields["notOnNext"]?.objectValue ?? [:]).compactMapValues {
            $0.boundedInt.map { Int(clamping: $0) }
        }
        missing = (fields["missing"]?.objectValue ?? [:]).compactMapValues {
            $0.arrayValue?.prefix(Self.maximumNamed).compactMap(\.stringValue)
        }
        remaining = try fields.clamped("remaining", to: 0...Fields.latestTime)
        standstill = try fields.text("standstill")
        gates = (fields["gates"]?.arrayValue ?? []).prefix(100).compactMap(Gate.init)
        notices = (fields["notices"]?.arrayValue ?? []).prefix(100).compactMap(\.stringValue)
    }
}

extension RolloutStatus.Gate {
    package var json: JSONValue {
        [
            "name": .string(name), "verdict": .string(verdict.rawValue), "found": .string(found),
            "limit": .string(limit), "breach": .string(consequence.rawValue),
        ]
    }

    fileprivate init?(_ json: JSONValue) {
        guard let name = json["name"]?.stringValue else { return nil }
        // A newer controller may have more words: its gates are shown, and nothing good is read into them.
        self.init(
            name: name,
            verdict: json["verdict"]?.stringValue.flatMap(RolloutStatus.Verdict.init) ?? .inconclusive,
            found: json["found"]?.stringValue ?? "", limit: json["limit"]?.stringValue ?? "",
            consequence: json["breach"]?.stringValue.flatMap(RolloutStatus.Consequence.init) ?? .pause)
    }
}

extension RolloutStatus {
    /// What a control document alone says.
    package init(_ control: RolloutControl, group: String) {
        self.init(id: control.id, group: group, state: control.state.rawValue)
        base = control.base?.revision
        next = control.next.revision
        stages = control.stages.map { Stage(name: $0.description) }
        stage = control.stage
        author = control.author
        why = control.why
        changed = control.at
    }

    /// What the controller says, as long as it speaks of the same document; else what the document alone says.
    package init(_ control: RolloutControl, _ lease: RolloutLease?, of group: String) {
        let plain = RolloutStatus(control, group: group)
        self = plain
        guard let lease, let said = lease.rolloutStatus, said.id == control.id else { return }
        self = said
        (state, stage, author, why, changed) = (
            plain.state, plain.stage, plain.author, plain.why, plain.changed
        )
        holder = lease.holder
    }
}

extension RolloutLease {
    /// What its holder says of the roll-out; nil when it says nothing that can be read.
    package var rolloutStatus: RolloutStatus? { status.flatMap { try? RolloutStatus($0) } }
}

/// As `waypost rollout status --json` prints it.
extension RolloutStatus: Encodable {
    /// Writes it as `waypost rollout status --json` does.
    public func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

/// How a roll-out ended, or why its controller did.
public enum RolloutOutcome: Sendable, Hashable {
    /// The map is in force in the whole group.
    case done
    /// The group is back on the map before.
    case takenBack(why: String)
    /// A gate or a person stopped it, or agents did not say in time that they did what was asked of them; the reason
    /// names them. Somebody decides.
    case paused(why: String)
    /// Another controller steers it now.
    case superseded(by: String)
}
