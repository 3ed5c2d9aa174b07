/// What the placeholders of a pattern capture: which component, under which name, converted how.
struct CaptureLayout: Sendable, Hashable {
    struct Capture: Sendable, Hashable {
        var name: String
        var position: Int
        /// Literal bytes around the placeholder, in the decoded component.
        var prefix = 0
        var suffix = 0
        /// The converter's number plus one; 0 without one.
        var converter = 0
        var isRest = false
    }

    var captures: [Capture] = []

    var record: TableLayout {
        var positions: UInt64 = 0
        for (index, capture) in captures.prefix(8).enumerated() {
            positions |= UInt64(UInt8(truncatingIfNeeded: capture.position)) << UInt64(index * 8)
        }
        return TableLayout(
            count: UInt32(captures.count), endsWithRest: captures.last?.isRest ?? false, positions: positions)
    }
}
