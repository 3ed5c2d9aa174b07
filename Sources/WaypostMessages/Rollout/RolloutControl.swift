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
    package struct MapID: Sendable, Hashable {
        package var revision: Int64?
        /// SHA-256 of the document's bytes, as `sha256:` and 64 hex digits.
        package var digest: String

        package init(revision: Int64?, digest: String) {
            (self.revision, self.digest) = (revision, digest)
        }
    }

    /// When an agent goes back to the base by itself.
    package struct Guard: Sendable, Hashable {
        /// How many failures of URLs that the candidate changes are too many.
        package var failures: Int
        /// The part of these opens that must have failed, in per cent.
        package var share: Int
        /// The time within which they count together, in milliseconds.
        package var within: Int64

        package init(failures: Int = 5, share: Int = 50, within: Int64 = 60_000) {
            (self.failures, self.share, self.within) = (failures, share, within)
        }
    }

    /// What an agent does that has heard nothing for ``hold``.
    package enum Silence: String, Sendable, Hashable {
        case keep, revert
    }

    /// The most bytes of a document.
    package static let maximumBytes = 8_192
    /// The most agents that are named.
    package static let maximumNames = 100
    /// A day: nothing is delayed or held longer, in milliseconds.
    private static let longest: Int64 = 86_400_000

    package var id: String
    /// Rises with each controller; with ``sequence`` it says which of two documents is the newer.
    package var epoch: Int64
    package var sequence: Int64
    /// The group, with its `@`.
    package var audience: String
    /// In milliseconds since 1970, for people.
    package var at: Int64
    /// Who steers, and why it was changed, for people.
    package var author: String?
    package var why: String?
    /// The map in force of the layer; nil when the group has none.
    package var base: MapID?
    package var next: MapID
    package var state: State
    package var salt: String
    /// Agents whose number is below are chosen.
    package var below: UInt64
    package var include: [String]
    package var exclude: [String]
    /// Over how many milliseconds reports are spread.
    package var spread: Int64
    /// For how long an agent does what it was told last, in milliseconds; nil for ever.
    package var hold: Int64?
    package var silent: Silence
    /// Nil when agents do not go back by themselves.
    package var limit: Guard?
    package var stages: [RolloutStage]
    /// The place of the stage in ``stages``.
    package var stage: Int

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
        include = []
        exclude = []
        spread = 0
        silent = .keep
        limit = Guard()
        self.stages = stages
        stage = 0
    }

    /// Which of two documents is the newer one.
    package var order: Order { Order(epoch: epoch, sequence: sequence) }

    /// The place of a document among all of its group.
    package struct Order: Sendable, Hashable, Comparable {
        package var epoch: Int64
        package var sequence: Int64

        package init(epoch: Int64, sequence: Int64) { (self.epoch, self.sequence) = (epoch, sequence) }

        package static func < (one: Order, other: Order) -> Bool {
            (one.epoch, one.sequence) < (other.epoch, other.sequence)
        }
    }

    /// Whether it chooses an agent, whatever its state.
    package func chooses(_ agent: String) -> Bool {
        !exclude.contains(agent)
            && (include.contains(agent) || RolloutHash.value(salt: salt, agent: agent) < below)
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
        let numbers = 0...Fields.largestInteger
        self.init(
            id: try fields.required("id", fields.name("id")),
            epoch: try fields.required("epoch", fields.integer("epoch", in: numbers)),
            sequence: try fields.required("seq", fields.integer("seq", in: numbers)),
            audience: try fields.required("aud", fields.text("aud")),
            at: try fields.clamped("at", to: 0...Fields.latestTime) ?? 0,
            base: try fields.mapID("base"), next: try fields.required("next", fields.mapID("next")),
            state: State(rawValue: try fields.required("state", fields.text("state"))), stages: [])
        author = try fields.text("by")
        why = try fields.text("why")
        salt = try fields.text("salt") ?? id
        let text = try fields.required("below", fields.text("below"))
        guard let number = RolloutHash.value(text) else {
            throw Failure(.badField, "below must be 0x and 16 hex digits; found \(text.quoted)")
        }
        below = number
        include = try fields.names("include")
        exclude = try fields.names("exclude")
        spread = try fields.integer("spread", in: 0...Self.longest) ?? 0
        hold = try fields.integer("hold", in: 1...Self.longest)
        let silence = try fields.text("silent") ?? Silence.keep.rawValue
        guard let silent = Silence(rawValue: silence) else {
            throw Failure(.badField, "silent must be keep or revert; found \(silence.quoted)")
        }
        self.silent = silent
        limit = try fields["guard"].map { (json) throws(Failure) in try Guard(json) }
        stages = (fields["stages"]?.arrayValue ?? []).prefix(RolloutStage.maximumStages)
            .compactMap { $0.stringValue.flatMap(RolloutStage.init) }
        stage = Int(clamping: try fields.integer("stage", in: 0...1_000) ?? 0)
    }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", "rollout")
        json.member("id", id)
        json.member("epoch", epoch)
        json.member("seq", sequence)
        json.member("aud", audience)
        json.member("at", at)
        if let author { json.member("by", author) }
        if let why { json.member("why", why) }
        json.member("base", base?.json ?? .null)
        json.member("next", next.json)
        json.member("state", state.rawValue)
        json.member("salt", salt)
        json.member("below", RolloutHash.text(below))
        json.member("include", .array(include.map(JSONValue.string)))
        json.member("exclude", .array(exclude.map(JSONValue.string)))
        json.member("spread", spread)
        if let hold { json.member("hold", hold) }
        json.member("silent", silent.rawValue)
        if let limit {
            json.member(
                "guard",
                [
                    "failures": .int(Int64(limit.failures)), "share": .int(Int64(limit.share)),
                    "within": .int(limit.within),
                ])
        }
        json.member("stages", .array(stages.map { .string($0.description) }))
        json.member("stage", stage)
        json.endObject()
        return json.bytes
    }
}

extension RolloutControl.Guard {
    fileprivate init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        do throws(Failure) {
            self.init(
                failures: Int(clamping: try fields.integer("failures", in: 1...1_000_000) ?? 5),
                share: Int(clamping: try fields.integer("share", in: 0...100) ?? 50),
                within: try fields.integer("within", in: 1_000...86_400_000) ?? 60_000)
        } catch {
            throw Failure(error.code, "guard.\(error.detail)")
        }
    }
}

extension RolloutControl.MapID {
    package var json: JSONValue { ["rev": .init(revision), "digest": .string(digest)] }
}

extension Fields {
    fileprivate func name(_ field: String) throws(Failure) -> String? {
        guard let text = try text(field) else { return nil }
        guard Name.isValid(text) else {
            throw Failure(.badField, "\(field) must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        return text
    }

    fileprivate func names(_ field: String) throws(Failure) -> [String] {
        guard let value = self[field] else { return [] }
        guard let list = value.arrayValue, list.count <= RolloutControl.maximumNames,
            case let names = list.compactMap(\.stringValue), names.count == list.count,
            names.allSatisfy({ Name.isValid($0) })
        else {
            throw Failure(
                .badField, "\(field) must be an array of at most \(RolloutControl.maximumNames) agents")
        }
        return names
    }

    fileprivate func mapID(_ field: String) throws(Failure) -> RolloutControl.MapID? {
        guard let json = self[field] else { return nil }
        let fields = Fields(of: json)
        do throws(Failure) {
            return RolloutControl.MapID(
                revision: try fields.integer("rev", in: 0...Fields.largestInteger),
                digest: try fields.required("digest", fields.text("digest")))
        } catch {
            throw Failure(error.code, "\(field).\(error.detail)")
        }
    }
}
