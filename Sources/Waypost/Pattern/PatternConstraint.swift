/// What may stand in place of a converter's name and says which components a placeholder takes: `<int(1..99):page>`,
/// `<in(red|blue):color>`.
enum PatternConstraint: Sendable, Hashable {
    /// A whole number in this range.
    case int(ClosedRange<Int64>)
    /// One of these texts; sorted by their bytes.
    case oneOf([String])

    /// The most texts of one.
    static let maximumTexts = 64

    /// Reads a constraint: `int(1..99)`, `int(1..)`, `int(..99)` or `in(red|blue)`, its texts percent-encoded where they
    /// have one of `|()`, or what no name may have; nil for what is none.
    init?(_ text: String) {
        let bytes = text.utf8
        guard bytes.last == UInt8(ascii: ")"), let open = bytes.firstIndex(of: UInt8(ascii: "(")) else {
            return nil
        }
        let inner = bytes[bytes.index(after: open)...].dropLast()
        switch String(decoding: bytes[..<open], as: UTF8.self) {
        case "int":
            guard let range = Self.range(String(decoding: inner, as: UTF8.self)) else { return nil }
            self = .int(range)
        case "in":
            let parts = inner.split(separator: UInt8(ascii: "|"), omittingEmptySubsequences: false)
            let parentheses = [UInt8(ascii: "("), UInt8(ascii: ")")]
            guard parts.count <= Self.maximumTexts,
                parts.allSatisfy({ !$0.isEmpty && !$0.contains(where: parentheses.contains) })
            else { return nil }
            let texts = Set(parts.map { PercentCoding.decode(String(decoding: $0, as: UTF8.self)[...]) })
            self = .oneOf(texts.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) })
        default: return nil
        }
    }

    private static func range(_ text: String) -> ClosedRange<Int64>? {
        guard let dots = text.firstRange(of: "..") else { return nil }
        let (start, end) = (text[..<dots.lowerBound], text[dots.upperBound...])
        guard !start.isEmpty || !end.isEmpty else { return nil }
        guard let lower = start.isEmpty ? Int64.min : Int64(start),
            let upper = end.isEmpty ? Int64.max : Int64(end), lower <= upper
        else { return nil }
        return lower...upper
    }

    /// The constraint as it is compared and ordered: the same text for what takes the same components.
    var name: String {
        switch self {
        case .int(let range): "int(\(range.lowerBound)..\(range.upperBound))"
        case .oneOf(let texts):
            "in(\(texts.map { PercentCoding.encode($0, for: .component) }.joined(separator: "|")))"
        }
    }

    /// A component that it takes.
    var sample: String {
        switch self {
        case .int(let range): "\(range.lowerBound == .min ? range.upperBound : range.lowerBound)"
        case .oneOf(let texts): texts.first ?? ""
        }
    }

    var converter: RouteConverter {
        RouteConverter { text in
            switch self {
            case .int(let range):
                let number = text.utf8Span.span.withUnsafeBufferPointer { BuiltInConversion.int($0) }
                return number.flatMap { range.contains($0) ? .int($0) : nil }
            case .oneOf(let texts):
                return texts.contains { $0.utf8.elementsEqual(text.utf8) } ? .text(text) : nil
            }
        }
    }
}
