/// What an agent says of a roll-out, in its `map/applied`.
package struct RolloutReport: Payload, Hashable {
    /// Which of the two maps is in force.
    package enum Place: String, Sendable, Hashable {
        case base, next
    }

    /// Why it is that one; a newer agent may have other reasons.
    package struct Reason: RawRepresentable, Sendable, Hashable {
        /// The word on the wire.
        package let rawValue: String

        package init(rawValue: String) { self.rawValue = rawValue }

        package static let chosen = Reason(rawValue: "chosen")
        /// It is the group's own map by now, and no candidate any more.
        package static let promoted = Reason(rawValue: "promoted")
        package static let notChosen = Reason(rawValue: "not-chosen")
        package static let excluded = Reason(rawValue: "excluded")
        /// Another map is in force than the base of the roll-out.
        package static let drifted = Reason(rawValue: "drifted")
        /// The agent went back by itself.
        package static let guarded = Reason(rawValue: "guarded")
        /// It heard nothing for too long.
        package static let silent = Reason(rawValue: "silent")
        /// The candidate does not fit.
        package static let refused = Reason(rawValue: "refused")
    }

    /// The layer: `@` and the name of the group.
    package var layer = ""
    package var id = ""
    package var epoch: Int64 = 0
    package var sequence: Int64 = 0
    package var place = Place.base
    package var reason = Reason.notChosen
    /// Opens of URLs that the candidate changes, good and bad, since the process began.
    package var opened: Int64 = 0
    /// Those of them that failed.
    package var failed: Int64 = 0

    package init(
        layer: String, id: String, epoch: Int64, sequence: Int64, place: Place, reason: Reason,
        opened: Int64 = 0, failed: Int64 = 0
    ) {
        self.layer = layer
        self.id = id
        self.epoch = epoch
        self.sequence = sequence
        self.place = place
        self.reason = reason
        self.opened = opened
        self.failed = failed
    }

    package var order: RolloutControl.Order { .init(epoch: epoch, sequence: sequence) }

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        let numbers = 0...Fields.largestInteger
        fields.required("epoch", &epoch, in: numbers)
        fields.optional("failed", &failed, in: numbers, clamps: true)
        fields.required("id", &id)
        // A place that is not known is none of the candidate's.
        fields.word("in", &place)
        fields.optional("layer", &layer)
        fields.optional("opened", &opened, in: numbers, clamps: true)
        fields.required("seq", &sequence, in: numbers)
        fields.word("why", &reason)
    }
}
