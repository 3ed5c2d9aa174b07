import Threading

/// One open of the past, as diagnosis wants it.
struct OpenRecord: Sendable, Hashable {
    /// When it ended, in milliseconds since 1970.
    var at: Int64
    /// The opening, without its parameters, the values that were returned and similar patterns.
    var opening: Opening

    /// The time of the wall clock, in milliseconds since 1970.
    static var now: Int64 { WallClock.now() }

    /// The record as JSON: `at`, `url`, `requested`, `route`, `hops`, `code`, `name`, `ms`, `ref`.
    var json: JSONValue {
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

/// A ring of the last opens.
struct OpenHistory: Sendable {
    private var ring: [OpenRecord] = []
    private var oldest = 0
    private let length: Int

    init(length: Int) {
        self.length = max(0, length)
    }

    /// Adds a record; the one whose place it takes is left in `record`, to be let go of outside the lock.
    mutating func add(_ record: inout OpenRecord) {
        guard length > 0 else { return }
        if ring.count < length {
            ring.append(record)
        } else {
            swap(&ring[oldest], &record)
            oldest = oldest + 1 == length ? 0 : oldest + 1
        }
    }

    var records: [OpenRecord] { Array(ring[oldest...] + ring[..<oldest]) }
}

extension Router {
    /// The last opens, the oldest first.
    var lastOpens: [OpenRecord] { history.withLock { $0 }.records }
}
