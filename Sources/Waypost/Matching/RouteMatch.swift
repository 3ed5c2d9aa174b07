/// A hit: which route, and where its parameters lie in the URL.
///
/// A plain value without references.
package struct RouteMatch: Sendable, Hashable {
    /// How many ranges a match carries; those of further parameters are found again when they are asked for.
    static let inlineCaptures = 8

    // All of it in vectors, so that a match that was just made can be copied without waiting until its parts have been
    // written: index, reference and number of parameters; and then the captured components, start and length in turn.
    private let numbers: SIMD4<UInt32>
    private var captures = SIMD16<UInt32>()

    /// The index that the route was inserted with.
    package var index: UInt32 { numbers[0] }
    /// The table's own record of the route; it means nothing to another table.
    var record: UInt32 { numbers[1] }
    /// How many placeholders the pattern has.
    package var parameterCount: Int { Int(numbers[2]) }

    @inline(__always)
    init(
        _ record: RouteRecordPointer, pathEnd: UInt32, components: UnsafePointer<PathComponent>
    ) {
        let header = record.header
        let count = Int(header.pointee.captureCount)
        numbers = SIMD4(header.pointee.index, header.pointee.own, UInt32(truncatingIfNeeded: count), 0)
        if count == 0 { return }
        withUnsafeMutableBytes(of: &captures) { captures in
            for number in 0..<min(count, Self.inlineCaptures) {
                let component = components + Int(record.capture(number).position)
                captures.storeBytes(
                    of: SIMD2(component.pointee.start, component.pointee.length),
                    toByteOffset: number &* 8, as: SIMD2<UInt32>.self)
            }
        }
        if header.pointee.endsWithRest, count <= Self.inlineCaptures {
            let last = 2 &* (count &- 1)
            captures[last &+ 1] = pathEnd &- captures[last]
        }
    }

    /// Where the component lies that a placeholder matched, in the bytes that were matched: percent-encoded still,
    /// and with the literal parts of a partial one.
    ///
    /// A rest runs to the end of the path. Several placeholders of one component have all of it.
    ///
    /// Nil for a parameter that there is not, and for all behind the eighth.
    package func range(ofParameter number: Int) -> Range<Int>? {
        guard number >= 0, number < min(parameterCount, Self.inlineCaptures) else { return nil }
        let start = Int(captures[2 * number])
        return start..<start + Int(captures[2 * number + 1])
    }
}
