/// The bytes that the broker has not acknowledged yet, in all and of each line.
struct OutboxTraffic: Sendable {
    /// Whether a message may be handed to the link.
    enum Admission: Sendable {
        case now
        /// Not before some of its own line have arrived; others may go.
        case behindItsOwn
        /// Not before some of all have arrived.
        case later
    }

    private let maximum: Int
    private let share: Int
    private var bytes = 0
    private var ofLine: [OutboxItem.Line: Int] = [:]

    /// - Parameters:
    ///   - maximum: beyond so many bytes in all nothing more is sent.
    ///   - share: what one line may have of it.
    init(maximum: Int, share: Int) {
        self.maximum = maximum
        self.share = share
    }

    /// Of what is larger than its space, one at a time is sent.
    func admission(of item: OutboxItem) -> Admission {
        if let own = ofLine[item.line], own + item.bytes > share { return .behindItsOwn }
        return bytes == 0 || bytes + item.bytes <= maximum ? .now : .later
    }

    /// Whether the lines have together what is in flight.
    private var isConsistent: Bool { bytes >= 0 && (bytes == 0) == ofLine.isEmpty }

    mutating func sent(_ item: OutboxItem) {
        defer { assert(isConsistent) }
        bytes += item.bytes
        ofLine[item.line, default: 0] += item.bytes
    }

    mutating func ended(_ item: OutboxItem) {
        defer { assert(isConsistent) }
        bytes -= item.bytes
        guard let place = ofLine.index(forKey: item.line) else { return }
        ofLine.values[place] -= item.bytes
        if ofLine.values[place] <= 0 { ofLine.remove(at: place) }
    }
}
