/// A hit: which route, and where its parameters lie in the URL.
///
/// A plain value without references.
public struct RouteMatch: Sendable, Hashable {
    /// How many ranges a match carries; those of further parameters are found again when they are asked for.
    static let inlineCaptures = 8

    // All of it in vectors, so that a match that was just made can be copied without waiting until its parts have been
    // written: index, entry, number of parameters and `PatternShape/key`.
    private let numbers: SIMD4<UInt32>
    /// Starts and lengths of the components that were captured; or, with a shape, the path's ``PathEnds/bits`` and
    /// where the first component begins.
    private var starts = SIMD8<UInt32>()
    private var lengths = SIMD8<UInt32>()

    /// The index that the route was inserted with.
    public var index: UInt32 { numbers[0] }
    /// The table's own record of the route; it means nothing to another table.
    var entry: UInt32 { numbers[1] }
    /// How many placeholders the pattern has.
    public var parameterCount: Int { Int(numbers[2]) }
    private var shape: UInt32 { numbers[3] }

    init(
        entry number: UInt32, reader: UnsafeMutablePointer<TableReader>, pathEnd: Int,
        components: UnsafePointer<PathComponent>
    ) {
        let entry = reader.pointee.entry(number)
        let layout = reader.pointee.layout(entry.pointee.layout).pointee
        numbers = SIMD4(entry.pointee.index, number, layout.count, 0)
        var positions = layout.positions
        for capture in 0..<min(Int(layout.count), Self.inlineCaptures) {
            let component = components[Int(truncatingIfNeeded: positions & 0xff)]
            positions &>>= 8
            starts[capture] = component.start
            lengths[capture] = component.length
        }
        if layout.endsWithRest, layout.count > 0, layout.count <= Self.inlineCaptures {
            let last = Int(layout.count) &- 1
            lengths[last] = UInt32(truncatingIfNeeded: pathEnd) &- starts[last]
        }
    }

    /// The match of a pattern that has a shape: what it captured is found when it is asked for.
    @inline(__always)
    init(
        entry number: UInt32, of reader: TableReader, shape: UInt32, start: Int, ends: SIMD2<UInt64>
    ) {
        let entry = reader.entry(number)
        numbers = SIMD4(entry.pointee.index, number, reader.layout(entry.pointee.layout).pointee.count, shape)
        starts.lowHalf = unsafeBitCast(ends, to: SIMD4<UInt32>.self)
        starts.highHalf[0] = UInt32(truncatingIfNeeded: start)
    }

    /// Where the component lies that a placeholder matched, in the bytes that were matched: percent-encoded still,
    /// and with the literal parts of a partial one.
    ///
    /// A rest runs to the end of the path. Several placeholders of one component have all of it.
    ///
    /// Nil for a parameter that there is not, and for all behind the eighth.
    public func range(ofParameter number: Int) -> Range<Int>? {
        guard number >= 0, number < min(parameterCount, Self.inlineCaptures) else { return nil }
        if shape != 0 { return range(ofPlaceholder: number) }
        let start = Int(starts[number])
        return start..<start + Int(lengths[number])
    }

    private func range(ofPlaceholder number: Int) -> Range<Int>? {
        var ends = LongPathEnds(bits: unsafeBitCast(starts.lowHalf, to: SIMD2<UInt64>.self))
        var start = Int(starts[4])
        var left = shape
        var toSkip = number
        while left > 1 {
            let end = ends.next()
            if left & 1 != 0 {
                if toSkip == 0 { return start..<end }
                toSkip -= 1
            }
            start = end + 1
            left >>= 1
        }
        return nil
    }
}

/// The value of a placeholder.
public struct CapturedParameter: Sendable, Hashable {
    /// The placeholder's name; `**` for a rest without one.
    public var name: String
    /// The decoded text.
    package var text: String
    /// The name of the placeholder's converter.
    package var converter: String?
    /// The text, or what the converter made of it.
    public var value: CapturedValue

    /// A parameter by its parts.
    package init(name: String, text: String, converter: String? = nil, value: CapturedValue? = nil) {
        self.name = name
        self.text = text
        self.converter = converter
        self.value = value ?? .text(text)
    }
}
