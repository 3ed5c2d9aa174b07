package import Waypost

/// One entry of the audit of a group's roll-outs: each names the one before by its bytes.
package struct RolloutAudit: Sendable, Hashable {
    /// How many entries the broker keeps.
    package static let ring: Int64 = 64

    /// Rises by one with each entry of the group, from 1.
    package var number: Int64
    /// In milliseconds since 1970.
    package var at: Int64
    package var id: String
    package var epoch: Int64
    package var sequence: Int64
    package var author: String
    /// What happened: `start`, `stage`, `pause`, `resume`, `take-back`, `taken-back`, `promote`, `done`, `restore`,
    /// `lease`; a newer controller may have other words.
    package var event: String
    package var why: String?
    /// The numbers on which it was decided.
    package var evidence: JSONValue?
    /// SHA-256 of the bytes of the entry before, as `sha256:` and 64 hex digits; nil for the first.
    package var previous: String?

    package init(
        number: Int64, at: Int64, id: String, epoch: Int64, sequence: Int64, author: String, event: String,
        why: String? = nil, evidence: JSONValue? = nil, previous: String?
    ) {
        self.number = number
        self.at = at
        self.id = id
        self.epoch = epoch
        self.sequence = sequence
        self.author = author
        self.event = event
        self.why = why
        self.evidence = evidence
        self.previous = previous
    }

    /// The place in the ring at which it is retained.
    package var slot: Int64 { number % Self.ring }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", "rollout-log")
        json.member("n", number)
        json.member("at", at)
        json.member("id", id)
        json.member("epoch", epoch)
        json.member("seq", sequence)
        json.member("by", author)
        json.member("event", event)
        if let why { json.member("why", why) }
        if let evidence { json.member("evidence", evidence) }
        json.member("prev", previous.map { .string($0) } ?? JSONValue.null)
        json.endObject()
        return json.bytes
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let numbers = 0...Fields.largestInteger
        self.init(
            number: try fields.required("n", fields.integer("n", in: 1...Fields.largestInteger)),
            at: try fields.clamped("at", to: 0...Fields.latestTime) ?? 0,
            id: try fields.required("id", fields.text("id")),
            epoch: try fields.integer("epoch", in: numbers) ?? 0,
            sequence: try fields.integer("seq", in: numbers) ?? 0,
            author: try fields.text("by") ?? "",
            event: try fields.required("event", fields.text("event")), why: try fields.text("why"),
            evidence: fields["evidence"], previous: try fields.text("prev"))
    }
}
