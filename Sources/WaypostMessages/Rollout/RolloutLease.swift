package import Waypost

/// Who steers a roll-out now: of two leases the larger one holds, whichever comes first.
package struct RolloutLease: Sendable, Hashable {
    /// How long a lease holds that is not renewed, in milliseconds.
    package static let timeToLive: Int64 = 15_000

    package var holder: String
    package var epoch: Int64
    /// Chosen anew by each controller.
    package var nonce: String
    package var timeToLive: Int64
    /// What its holder sees of the roll-out, for those who watch; nil from one who does not say it.
    package var status: JSONValue?

    package init(
        holder: String, epoch: Int64, nonce: String, timeToLive: Int64 = timeToLive, status: JSONValue? = nil
    ) {
        self.holder = holder
        self.epoch = epoch
        self.nonce = nonce
        self.timeToLive = timeToLive
        self.status = status
    }

    /// Whether this one holds when both are there.
    package func wins(over other: RolloutLease) -> Bool {
        (epoch, nonce) > (other.epoch, other.nonce)
    }

    /// Whether both are of one controller.
    package func isSame(as other: RolloutLease) -> Bool { (epoch, nonce) == (other.epoch, other.nonce) }

    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("type", "lease")
        json.member("holder", holder)
        json.member("epoch", epoch)
        json.member("nonce", nonce)
        json.member("ttl", timeToLive)
        if let status { json.member("status", status) }
        json.endObject()
        return json.bytes
    }

    /// - Throws: ``Failure`` naming the field that is not as the protocol has it.
    package init(_ json: JSONValue) throws(Failure) {
        let fields = Fields(of: json)
        self.init(
            holder: try fields.required("holder", fields.text("holder")),
            epoch: try fields.required("epoch", fields.integer("epoch", in: 0...Fields.largestInteger)),
            nonce: try fields.required("nonce", fields.text("nonce")),
            timeToLive: try fields.clamped("ttl", to: 1_000...600_000) ?? Self.timeToLive,
            status: fields["status"])
    }
}
