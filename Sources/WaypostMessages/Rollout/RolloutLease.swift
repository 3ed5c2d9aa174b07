package import Waypost

/// Who steers a roll-out now: of two leases the larger one holds, whichever comes first.
package struct RolloutLease: Payload, Hashable {
    /// How long a lease holds that is not renewed, in milliseconds.
    package static let timeToLive: Int64 = 15_000

    package var holder = ""
    package var epoch: Int64 = 0
    /// Chosen anew by each controller.
    package var nonce = ""
    package var timeToLive = timeToLive
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

    package init() {}

    package mutating func describe(_ fields: inout PayloadFields) {
        fields.written("type", "lease")
        fields.required("holder", &holder)
        fields.required("epoch", &epoch, in: 0...RolloutControl.highest)
        fields.required("nonce", &nonce)
        fields.optional("ttl", &timeToLive, in: 1_000...600_000, clamps: true)
        fields.optional("status", &status)
    }
}
