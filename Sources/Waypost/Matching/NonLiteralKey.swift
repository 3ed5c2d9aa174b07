internal import CPathScan

/// A step that is no literal, where it lies in a record: nothing for a plain placeholder.
///
/// The bytes of keys are in the order in which routes are tried (<doc:FindingAHandler>, *Which route is tried first*),
/// made total so that it depends on nothing but the patterns: the kind; two bytes each for the length of all literals, and of the one in front, and one byte for the number of
/// placeholders, of which more comes first; the literals, with a NUL, which no pattern has, between those behind the first
/// two. Behind them lie the numbers of the converters plus one, 0 for none, two bytes each.
struct NonLiteralKey {
    enum Kind: UInt8 {
        case partial, typed, placeholder, wildcard, rest
    }

    private let bytes: UnsafeBufferPointer<UInt8>

    init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

    /// The bytes for a pattern's component; `number` gives that of a converter plus one.
    static func bytes(
        of piece: PatternPiece, in text: UnsafeBufferPointer<UInt8>, ignoresCase: Bool,
        number: (String) -> Int
    ) -> [UInt8] {
        let kind: Kind
        switch piece.kind {
        case .placeholder: return []
        case .wildcard: kind = .wildcard
        case .rest: kind = .rest
        case .typed: kind = .typed
        default: kind = .partial
        }
        let holes = kind == .wildcard || kind == .rest ? [] : piece.holes(in: text)
        let literals = zip([piece.start] + holes.map(\.end), holes.map(\.start) + [piece.end]).map {
            let literal = piece.decoded($0, $1, in: text).utf8
            return holes.isEmpty
                ? [] : ignoresCase ? literal.map { RouteScheme.lowercased($0) } : Array(literal)
        }
        var bytes = [kind.rawValue]
        for length in [literals.joined().count, literals[0].count] {
            bytes += [~UInt8(truncatingIfNeeded: length &>> 8), ~UInt8(truncatingIfNeeded: length)]
        }
        bytes += [~UInt8(truncatingIfNeeded: holes.count)] + literals[0]
        bytes += literals.dropFirst().joined(separator: [0])
        for hole in holes {
            let number = hole.converter(in: text).map(number) ?? 0
            bytes += [UInt8(truncatingIfNeeded: number), UInt8(truncatingIfNeeded: number &>> 8)]
        }
        return bytes
    }

    var kind: Kind { bytes.isEmpty ? .placeholder : Kind(rawValue: bytes[0]) ?? .rest }
    /// How many placeholders there are, unless it is a plain one.
    private var holes: Int { bytes.isEmpty ? 0 : Int(~bytes[5]) }
    private var ordered: UnsafeBufferPointer<UInt8> { part(0, bytes.count &- 2 &* holes) }

    /// The bytes from `start` up to `end`.
    private func part(_ start: Int, _ end: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[min(start, end)..<end])
    }

    /// The converter's number of one of the placeholders plus one; 0 without one.
    func converter(_ number: Int) -> Int {
        guard number < holes else { return 0 }
        let place = bytes.count - 2 * (holes - number)
        return Int(bytes[place]) | Int(bytes[place + 1]) &<< 8
    }

    /// Where the literals behind the first begin.
    private var prefixEnd: Int { bytes.isEmpty ? 0 : 6 &+ (Int(~bytes[3]) &<< 8 | Int(~bytes[4])) }
    var prefix: UnsafeBufferPointer<UInt8> { part(6, prefixEnd) }
    private var behindPrefix: UnsafeBufferPointer<UInt8> { part(prefixEnd, bytes.count &- 2 &* holes) }
    var suffix: UnsafeBufferPointer<UInt8> {
        let rest = behindPrefix
        guard holes > 1, let nul = rest.lastIndex(of: 0) else { return rest }
        return UnsafeBufferPointer(rebasing: rest[(nul &+ 1)...])
    }

    /// Whether a component has these literals, and `converts` is true of all that the placeholders take.
    func takes(_ component: UnsafeBufferPointer<UInt8>, _ converts: (Range<Int>, Int) -> Bool) -> Bool {
        let (prefix, suffix) = (prefix, suffix)
        guard component.count > prefix.count &+ suffix.count,
            Self.order(UnsafeBufferPointer(rebasing: component[..<prefix.count]), prefix) == 0,
            Self.order(UnsafeBufferPointer(rebasing: component[(component.count &- suffix.count)...]), suffix)
                == 0
        else { return false }
        return eachHole(of: component) { converts($1, converter($0)) }
    }

    /// Calls `body` with what each placeholder takes of a component that begins and ends with these literals, from left
    /// to right, while it says true; whether it did to the end.
    ///
    /// Each takes at least one byte, and then up to the first place where the literal behind it stands; the last takes
    /// what is left. It never backtracks, so this takes time in proportion to the component's length.
    private func eachHole(
        of component: UnsafeBufferPointer<UInt8>, _ body: (_ number: Int, Range<Int>) -> Bool
    ) -> Bool {
        let end = component.count &- suffix.count
        var start = prefix.count
        var (left, number) = (behindPrefix, 0)
        while number &+ 1 < holes, let nul = left.firstIndex(of: 0) {
            let literal = UnsafeBufferPointer(rebasing: left[..<nul])
            guard let base = component.baseAddress, let wanted = literal.baseAddress, start &+ 1 < end else {
                return false
            }
            let first = start &+ 1
            let found = first &+ waypost_find(base + first, end &- first, wanted, literal.count)
            guard found < end, body(number, start..<found) else { return false }
            start = found &+ literal.count
            left = UnsafeBufferPointer(rebasing: left[(nul &+ 1)...])
            number &+= 1
        }
        return start < end && body(number, start..<end)
    }

    /// What one of the placeholders takes of a component that the pattern took.
    func text(of component: String, _ number: Int, ignoringCase: Bool) -> String {
        guard holes > 0, !behindPrefix.isEmpty || !prefix.isEmpty else { return component }
        var hole = 0..<0
        component.utf8.map { ignoringCase ? RouteScheme.lowercased($0) : $0 }.withUnsafeBufferPointer {
            _ = eachHole(of: $0) {
                hole = $1
                return $0 < number
            }
        }
        return String(decoding: component.utf8.dropFirst(hole.lowerBound).prefix(hole.count), as: UTF8.self)
    }

    /// Whether it comes first; when only converters differ, as these go, and without a converter last.
    func precedes(_ other: NonLiteralKey, _ converters: ConverterList) -> Bool {
        let order = Self.order(ordered, other.ordered)
        if order != 0 { return order < 0 }
        for number in 0..<holes where converter(number) != other.converter(number) {
            let (one, other) = (converter(number), other.converter(number))
            return one != 0 && (other == 0 || converters.precedes(one - 1, other - 1))
        }
        return false
    }

    private static func order(_ one: UnsafeBufferPointer<UInt8>, _ other: UnsafeBufferPointer<UInt8>) -> Int32
    {
        waypost_order(one.baseAddress, one.count, other.baseAddress, other.count)
    }
}
