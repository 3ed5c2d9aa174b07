package import Waypost

/// The control document of a roll-out: which of a group's two maps is in force at which agent.
package struct RolloutControl: Sendable, Hashable {
    /// How far the roll-out is; a newer controller may know more, and then the base is in force.
    package struct State: RawRepresentable, Sendable, Hashable {
        /// The word on the wire.
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let running = State(rawValue: "running")
        package static let paused = State(rawValue: "paused")
        package static let takingBack = State(rawValue: "taking-back")
        package static let takenBack = State(rawValue: "taken-back")
        package static let promoting = State(rawValue: "promoting")
        package static let done = State(rawValue: "done")

        /// Whether the candidate is in force at the agents that are chosen.
        package var hasCandidate: Bool { self == .running || self == .paused || self == .promoting }
        /// Whether nothing more will happen.
        package var isOver: Bool { self == .takenBack || self == .done }
    }

    /// A map by its revision and its bytes.
    package struct MapID: Payload, Hashable {
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
        package var digest = ""

        package init(revision: Int64?, digest: String) {
            (self.revision, self.digest) = (revision, digest)
        }

        package init() {}

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("digest", &digest)
            fields.optional("rev", &revision, orNull: true, in: 0...Fields.largestInteger)
        }
    }

    /// When an agent goes back to the base by itself.
    package struct Guard: Payload, Hashable {
        /// How many failures of URLs that the candidate changes are too many.
        package var failures = 5
        /// The part of these opens that must have failed, in per cent.
        package var share = 50
        /// The time within which they count together, in milliseconds.
        package var within: Int64 = 60_000

        package init() {}

        package init(failures: Int, share: Int, within: Int64) {
            (self.failures, self.share, self.within) = (failures, share, within)
        }

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.optional("failures", &failures, in: 1...1_000_000)
            fields.optional("share", &share, in: 0...100)
            fields.optional("within", &within, in: 1_000...longest)
        }
    }

    /// What an agent does that has heard nothing for ``hold``.
    package enum Silence: String, Sendable, Hashable {
        case keep, revert
    }

    /// The most bytes of a document.
    static let maximumBytes = 8_192
    /// The most agents that are named.
    static let maximumNames = 100
    /// The largest epoch, sequence and number of an entry: so far below the largest integer that no one comes there by
    /// ones, and that the next one is still readable.
    package static let highest: Int64 = 1_000_000_000_000
    /// By how much the epoch may rise from one document to the next: more is not a controller that came after another.
    package static let longestJump: Int64 = 100_000
    /// The most bytes of what is said to people in a document.
    package static let maximumWhy = 1_000
    /// The most orders that a document voids.
    static let maximumVoided = 8
    /// A day: nothing is delayed or held longer, in milliseconds.
    package static let longest: Int64 = 86_400_000

    package var id = ""
    /// Rises with each controller; with ``sequence`` it says which of two documents is the newer.
    package var epoch: Int64 = 0
    package var sequence: Int64 = 0
    /// The group, with its `@`.
    package var audience = ""
    /// In milliseconds since 1970, for people.
    package var at: Int64 = 0
    /// Who steers, and why it was changed, for people.
    package var author: String?
    package var why: String?
    /// The map in force of the layer; nil when the group has none.
    package var base: MapID?
    package var next = MapID()
    package var state = State.running
    package var salt = ""
    /// Agents whose number is below are chosen.
    package var below: UInt64 = 0
    package var include: [String] = []
    package var exclude: [String] = []
    /// Over how many milliseconds reports are spread.
    package var spread: Int64 = 0
    /// For how long an agent does what it was told last, in milliseconds; nil for ever.
    package var hold: Int64?
    package var silent = Silence.keep
    /// Nil when agents do not go back by themselves.
    package var limit: Guard?
    package var stages: [RolloutStage] = []
    /// The place of the stage in ``stages``.
    package var stage = 0
    /// The number of the audit's entry that tells of this document; nil of an older controller.
    package var entry: Int64?
    /// Orders that count no more: an agent whose newest document has one of them takes this one, although it is lower.
    package var voids: [Order] = []

    package init(
        id: String, epoch: Int64, sequence: Int64, audience: String, at: Int64, base: MapID?, next: MapID,
        state: State = .running, below: UInt64 = 0, stages: [RolloutStage] = RolloutStage.standard
    ) {
        self.id = id
        self.epoch = epoch
        self.sequence = sequence
        self.audience = audience
        self.at = at
        self.base = base
        self.next = next
        self.state = state
        salt = id
        self.below = below
        limit = Guard()
        self.stages = stages
    }

    /// Which of two documents is the newer one.
    package var order: Order { Order(epoch: epoch, sequence: sequence) }

    /// The place of a document among all of its group.
    package struct Order: Payload, Hashable, Comparable {
        package var epoch: Int64 = 0
        package var sequence: Int64 = 0

        package init() {}

        package init(epoch: Int64, sequence: Int64) { (self.epoch, self.sequence) = (epoch, sequence) }

        package static func < (one: Order, other: Order) -> Bool {
            (one.epoch, one.sequence) < (other.epoch, other.sequence)
        }

        package mutating func describe(_ fields: inout PayloadFields) {
            fields.required("epoch", &epoch, in: 0...Fields.largestInteger)
            fields.required("seq", &sequence, in: 0...Fields.largestInteger)
        }
    }

    /// Whether it chooses an agent, whatever its state.
    package func chooses(_ agent: String) -> Bool {
        chooses(agent, RolloutHash.value(salt: salt, agent: agent))
    }

    /// The same by the agent's number, where that was found before.
    package func chooses(_ agent: String, _ number: UInt64) -> Bool {
        !exclude.contains(agent) && (number < below || include.contains(agent))
    }

    /// How long an agent waits with its reports, in milliseconds.
    package func delay(of agent: String) -> Int64 {
        guard spread > 0 else { return 0 }
        return Int64(RolloutHash.value(salt: salt, agent: agent) % UInt64(spread))
    }
}

extension RolloutControl {
    /// Reads a document from its bytes.
    ///
    /// - Throws: ``Failure``: 413 when it is too long, 400 when it is no JSON, 422 naming the field.
    package init(_ bytes: [UInt8]) throws(Failure) {
        guard bytes.count <= Self.maximumBytes else {
            throw Failure(
                .tooLarge,
                "a control document has at most \(Self.maximumBytes) bytes; found \(bytes.count)")
        }
        let json: JSONValue
        do {
            json = try JSONValue(parsing: bytes, limits: .protocolDefaults)
        } catch {
            throw error.rejection
        }
        try self.init(json)
    }

    /// - Throws: ``Failure`` 422 naming the field.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        guard fields.other == nil, try fields.text("type") == "rollout" else {
            throw Failure(.badField, "type must be rollout on this topic")
        }
        try fields.checkVersion()
        try self.init(fields)
    }
}

extension RolloutControl: Payload {
    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        let numbers = 0...Self.highest
        fields.written("type", "rollout")
        fields.required("id", &id)
        if !Name.isValid(id) { fields.refuse("id must be 1 to 64 characters of A-Z a-z 0-9 _ -") }
        fields.required("epoch", &epoch, in: numbers)
        fields.required("seq", &sequence, in: numbers)
        fields.required("aud", &audience)
        fields.optional("at", &at, in: 0...Fields.latestTime, clamps: true)
        fields.optional("by", &author)
        fields.optional("why", &why)
        fields.optional("base", &base, orNull: true)
        fields.required("next", &next)
        fields.word("state", &state)
        if fields.isReading { salt = id }
        fields.optional("salt", &salt)
        var number = RolloutHash.text(below)
        fields.required("below", &number)
        if let value = RolloutHash.value(number) {
            below = value
        } else {
            fields.refuse("below must be 0x and 16 hex digits; found \(number.quoted)")
        }
        fields.agents("include", &include)
        fields.agents("exclude", &exclude)
        fields.optional("spread", &spread, in: 0...Self.longest)
        fields.optional("hold", &hold, in: 1...Self.longest)
        var word = silent.rawValue
        fields.optional("silent", &word)
        if let known = Silence(rawValue: word) {
            silent = known
        } else {
            fields.refuse("silent must be keep or revert; found \(word.quoted)")
        }
        fields.optional("guard", &limit)
        var texts = stages.map(\.description)
        fields.optional("stages", &texts)
        if texts.count > RolloutStage.maximumStages {
            fields.refuse("stages has at most \(RolloutStage.maximumStages)")
        }
        stages = texts.prefix(RolloutStage.maximumStages).compactMap(RolloutStage.init)
        fields.optional("stage", &stage, in: 0...1_000)
        fields.optional("n", &entry, in: 1...Self.highest)
        fields.list("voids", &voids, whenEmpty: false)
        if voids.count > Self.maximumVoided {
            fields.refuse("voids has at most \(Self.maximumVoided) orders")
        }
    }
}

extension PayloadFields {
    fileprivate mutating func agents(_ name: StaticString, _ names: inout [String]) {
        optional(name, &names)
        guard let found = self[name] else { return }
        guard found.arrayValue?.count == names.count, names.count <= RolloutControl.maximumNames,
            names.allSatisfy({ Name.isValid($0) })
        else { return refuse("\(name) must be an array of at most \(RolloutControl.maximumNames) agents") }
    }
}
