/// A hit: which route, and where its parameters lie in the URL.
///
/// A plain value without references.
public struct RouteMatch: Sendable, Hashable {
    /// How many ranges a match carries; those of further parameters are found again when they are asked for.
    static let inlineCaptures = 8

    /// The index that the route was inserted with.
    public let index: UInt32
    /// The table's own record of the route; it means nothing to another table.
    let entry: UInt32
    /// How many placeholders the pattern has.
    public let parameterCount: Int
    private var starts = SIMD8<UInt32>()
    private var lengths = SIMD8<UInt32>()

    @inline(__always)
    init(
        entry number: UInt32, reader: UnsafeMutablePointer<TableReader>, pathEnd: Int,
        span: (_ position: Int) -> (start: UInt32, length: UInt32)
    ) {
        let entry = reader.pointee.entry(number)
        let layout = reader.pointee.layout(entry.pointee.layout)
        index = entry.pointee.index
        self.entry = number
        parameterCount = Int(layout.count)
        var positions = layout.positions
        for capture in 0..<min(Int(layout.count), Self.inlineCaptures) {
            let span = span(Int(truncatingIfNeeded: positions & 0xff))
            positions &>>= 8
            starts[capture] = span.start
            lengths[capture] = span.length
        }
        if layout.endsWithRest, layout.count > 0, layout.count <= Self.inlineCaptures {
            let last = Int(layout.count) &- 1
            lengths[last] = UInt32(truncatingIfNeeded: pathEnd) &- starts[last]
        }
    }

    /// Where the component lies that a placeholder matched, in the bytes that were matched: percent-encoded still,
    /// and with the literal parts of a partial one.
    ///
    /// A rest runs to the end of the path.
    ///
    /// Nil for a parameter that there is not, and for all behind the eighth.
    public func range(ofParameter number: Int) -> Range<Int>? {
        guard number >= 0, number < min(parameterCount, Self.inlineCaptures) else { return nil }
        let start = Int(starts[number])
        return start..<start + Int(lengths[number])
    }
}

/// What a placeholder gave.
public struct CapturedParameter: Sendable, Hashable {
    /// The placeholder's name; `**` for a rest without one.
    public var name: String
    /// The decoded text.
    public var text: String
    /// The name of the placeholder's converter.
    public var converter: String?
    /// The text, or what the converter made of it.
    public var value: CapturedValue

    /// A parameter by its parts.
    public init(name: String, text: String, converter: String? = nil, value: CapturedValue? = nil) {
        self.name = name
        self.text = text
        self.converter = converter
        self.value = value ?? .text(text)
    }
}
