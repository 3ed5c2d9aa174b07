import Threading

/// One open of the past, as diagnosis wants it.
public struct OpenRecord: Sendable, Hashable {
    /// When it ended, in milliseconds since 1970.
    public var at: Int64
    /// The opening, without its parameters, the values that were returned and similar patterns.
    public var opening: Opening

    /// The time of the wall clock, in milliseconds since 1970.
    static var now: Int64 { RelocationContext.systemTime() }

    /// The record as JSON: `at`, `url`, `requested`, `route`, `hops`, `code`, `name`, `ms`, `ref`.
    package var json: JSONValue {
        let code = opening.code
        var members: [String: JSONValue] = [
            "at": .int(at), "url": .string(opening.url), "requested": .string(opening.requested),
            "route": opening.route.map { .string($0) } ?? .null,
            "hops": .array(opening.hops.map { .string($0) }), "code": .int(Int64(code.number)),
            "name": .string(code.name), "ms": .int(opening.duration.milliseconds),
        ]
        if let ref = opening.ref { members["ref"] = .string(ref) }
        return .object(members)
    }
}

extension OpenRecord {
    /// What callers, screens and former routes hold must not live on here.
    fileprivate mutating func forgetValues() {
        opening.value = nil
        opening.native = nil
        opening.given = nil
        opening.nearestRoutes = nil
        if case .served = opening.outcome { opening.outcome = .served(.null) }
    }
}

/// A ring of the last opens.
struct OpenHistory: Sendable {
    private var ring: [OpenRecord] = []
    private var oldest = 0
    private let length: Int

    init(length: Int) {
        self.length = max(0, length)
    }

    mutating func add(_ opening: Opening) {
        guard length > 0 else { return }
        if ring.count < length {
            ring.append(OpenRecord(at: OpenRecord.now, opening: opening))
            ring[ring.count - 1].forgetValues()
        } else {
            ring[oldest] = OpenRecord(at: OpenRecord.now, opening: opening)
            ring[oldest].forgetValues()
            oldest = oldest + 1 == length ? 0 : oldest + 1
        }
    }

    var records: [OpenRecord] { Array(ring[oldest...] + ring[..<oldest]) }
}

extension Router {
    /// The last opens, the oldest first.
    public var lastOpens: [OpenRecord] { history.withLock { $0 }.records }
}
