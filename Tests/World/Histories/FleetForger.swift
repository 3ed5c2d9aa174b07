import Waypost
import WaypostFleet
import WaypostMessages

/// Somebody who may publish, and does not have the key that agents trust.
struct FleetForger {
    /// What is published in the place of what people sent.
    enum Kind { case map, candidate, groups }

    /// What is in all that it publishes.
    static let word = "stolen"
    private let client: WorldClient
    private let stranger: Signer?
    private var number: Int64 = 0

    init(at broker: MemoryBroker) {
        (client, stranger) = (WorldClient("thief", at: broker, []), Signer("release", 9))
    }

    /// A document that must not be followed: without a signature, or with that of another key.
    mutating func document(_ kind: Kind, for agent: String, over revision: Int64) -> [UInt8] {
        number += 1
        let isGroups = kind == .groups
        let what =
            isGroups
            ? #""type":"groups","aud":"\#(agent)","add":["\#(Self.word)"]"#
            : #""type":"map","aud":"@\#(FleetTruth.group)","entries":[{"routerType":1,"orginPath":"shop://where/fleet","targetPath":"shop://at/\#(Self.word)"}]"#
        let text = #"{"rev":\#(revision + 1 + number % 3),\#(what)}"#
        let isSigned = number.isMultiple(of: 2)
        return Array((isSigned ? stranger?.sign(text, as: isGroups ? .groups : .map) ?? text : text).utf8)
    }

    func publish(_ payload: [UInt8], on topic: String) {
        client.take(until: 0) { _ in }
        client.publish(String(decoding: payload, as: UTF8.self), on: topic, as: "\(number)", retain: true)
    }
}
