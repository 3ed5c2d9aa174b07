package import Waypost

/// One entry of the audit of a group's roll-outs: each names the one before by its bytes.
package struct RolloutAudit: Payload, Hashable {
    /// How many entries the broker keeps.
    package static let ring: Int64 = 64

    /// Rises by one with each entry of the group, from 1.
    package var number: Int64 = 0
    /// In milliseconds since 1970.
    package var at: Int64 = 0
    package var id = ""
    package var epoch: Int64 = 0
    package var sequence: Int64 = 0
    package var author = ""
    /// What happened: `start`, `stage`, `pause`, `resume`, `take-back`, `taken-back`, `promote`, `done`, `restore`,
    /// `unconfirmed`, `conflict`, `found`, `unkept`; a newer controller may have other words.
    ///
    /// `found` is written where the controller before ended between the control document and its entry, and `unkept`
    /// where the file of the audit takes nothing.
    package var event = ""
    package var why: String?
    /// The numbers on which it was decided.
    var evidence: JSONValue?
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

    /// Reads an entry as it is kept; nil when it is none.
    package init?(bytes: [UInt8]) {
        guard let json = try? JSONValue(parsing: bytes, limits: .trustedFile), let entry = try? Self(json)
        else {
            return nil
        }
        self = entry
    }

    /// The digest by which the next entry names this one.
    package static func digest(of bytes: [UInt8]) -> String { SHA256.label(SHA256.digest(of: bytes)) }

    /// The place in the ring at which it is retained.
    package var slot: Int64 { number % Self.ring }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        let numbers = 0...RolloutControl.highest
        fields.written("type", "rollout-log")
        fields.required("n", &number, in: 1...RolloutControl.highest)
        fields.optional("at", &at, in: 0...Fields.latestTime, clamps: true)
        fields.required("id", &id)
        fields.optional("epoch", &epoch, in: numbers)
        fields.optional("seq", &sequence, in: numbers)
        fields.optional("by", &author)
        fields.required("event", &event)
        fields.optional("why", &why)
        fields.optional("evidence", &evidence)
        fields.optional("prev", &previous, orNull: true)
    }
}
