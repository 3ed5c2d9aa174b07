package import Waypost

/// A message of the broker, as far as it tells something of the fleet.
package struct SeenMessage: Sendable {
    package let topic: String
    package let payload: [UInt8]
    /// Whether the broker had kept it: it says nothing of when.
    package let isRetained: Bool

    package init(topic: String, payload: [UInt8], isRetained: Bool) {
        (self.topic, self.payload, self.isRetained) = (topic, payload, isRetained)
    }

    /// The payload as JSON; nil when it is none.
    package var json: JSONValue? { try? JSONValue(parsing: payload, limits: .shown) }
}
