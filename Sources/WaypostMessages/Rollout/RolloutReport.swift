package import Waypost

/// What an agent says of a roll-out, in its `map/applied`.
package struct RolloutReport: Sendable, Hashable {
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
    package var layer: String
    package var id: String
    package var epoch: Int64
    package var sequence: Int64
    package var place: Place
    package var reason: Reason
    /// Opens of URLs that the candidate changes, good and bad, since the process began.
    package var opened: Int64
    /// Those of them that failed.
    package var failed: Int64

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
}

extension RolloutReport {
    package var json: JSONValue {
        [
            "layer": .string(layer), "id": .string(id), "epoch": .int(epoch), "seq": .int(sequence),
            "in": .string(place.rawValue), "why": .string(reason.rawValue), "opened": .int(opened),
            "failed": .int(failed),
        ]
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        let place = try fields.required("in", fields.text("in"))
        let numbers = 0...Fields.largestInteger
        self.init(
            layer: try fields.text("layer") ?? "", id: try fields.required("id", fields.text("id")),
            epoch: try fields.required("epoch", fields.integer("epoch", in: numbers)),
            sequence: try fields.required("seq", fields.integer("seq", in: numbers)),
            place: Place(rawValue: place) ?? .base,
            reason: Reason(rawValue: try fields.required("why", fields.text("why"))),
            opened: try fields.clamped("opened", to: numbers) ?? 0,
            failed: try fields.clamped("failed", to: numbers) ?? 0)
    }
}
