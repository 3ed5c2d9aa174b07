/// Some SUBSCRIBEs in flight, and the answers so far.
struct SubscribeRound: Sendable {
    private(set) var results: [SubscriptionResult?]
    private let subscriptions: [Subscription]
    private var places: [Int32: Int] = [:]

    init(_ subscriptions: [Subscription]) {
        self.subscriptions = subscriptions
        results = Array(repeating: nil, count: subscriptions.count)
    }

    var isAnswered: Bool { !results.contains { $0 == nil } }
    var answers: [SubscriptionResult] { results.compactMap(\.self) }

    /// The SUBSCRIBE for the filter at that place went out under an id.
    mutating func sent(_ place: Int, id: Int32) { places[id] = place }

    mutating func settle(_ place: Int, _ answer: SubscriptionResult.Answer) {
        defer { assert(results.count == subscriptions.count) }
        results[place] = SubscriptionResult(subscription: subscriptions[place], answer: answer)
    }

    /// A SUBACK came; whether it was for one of these.
    mutating func acknowledged(id: Int32, code: UInt8) -> Bool {
        guard let place = places.removeValue(forKey: id) else { return false }
        let wanted = subscriptions[place].qos
        settle(place, Self.answer(code, wanted: wanted))
        return true
    }

    static func answer(_ code: UInt8, wanted: QoS) -> SubscriptionResult.Answer {
        // A granted 2 was not asked for, and level 2 is not safe with this library.
        guard code < 0x80, let granted = QoS(rawValue: code) else {
            return .refused(ReasonCode(rawValue: code))
        }
        return granted.rawValue < wanted.rawValue ? .lowered(to: granted) : .granted
    }
}
