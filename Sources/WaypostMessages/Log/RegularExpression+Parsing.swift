extension RegularExpression {
    /// A part of an expression.
    indirect enum Node {
        case set(ScalarSet)
        case assertion(Assertion)
        case sequence([Node])
        case choice([Node])
        case repeated(Node, Int, Int?)
    }

    /// Takes an expression apart.
    struct Parser {
        /// Deeper groups would fill the stack.
        private static let maximumDepth = 50
        private static let maximumCount = 1_000

        private let scalars: [Unicode.Scalar]
        private var place = 0
        private var depth = 0
        private var ignoresCase = false

        init(_ text: String) { scalars = Array(text.unicodeScalars) }

        private var next: Unicode.Scalar? { place < scalars.count ? scalars[place] : nil }

        private mutating func take() -> Unicode.Scalar? {
            defer { place += 1 }
            return next
        }

        private mutating func take(_ text: String) -> Bool {
            guard scalars[min(place, scalars.count)...].starts(with: text.unicodeScalars) else {
                return false
            }
            place += text.unicodeScalars.count
            return true
        }

        /// The whole of it.
        mutating func expression() throws(Fault) -> Node {
            let node = try alternatives()
            guard next == nil else { throw Fault(detail: "a ) closes no group") }
            return node
        }

        private mutating func alternatives() throws(Fault) -> Node {
            var nodes = [try sequence()]
            while take("|") { nodes.append(try sequence()) }
            return nodes.count == 1 ? nodes[0] : .choice(nodes)
        }

        private mutating func sequence() throws(Fault) -> Node {
            var nodes: [Node] = []
            while let scalar = next, scalar != "|", scalar != ")" { nodes.append(try piece()) }
            return .sequence(nodes)
        }

        /// One atom, and how often.
        private mutating func piece() throws(Fault) -> Node {
            let atom = try atom()
            guard let (least, most) = try count() else { return atom }
            guard !take("+") else { throw Fault(detail: "there are no possessive repetitions") }
            // Whether it takes as much or as little as it can changes nothing of whether it fits.
            _ = take("?")
            if let next, "*+?".unicodeScalars.contains(next) {
                throw Fault(detail: "\(next) repeats nothing")
            }
            if case .assertion = atom { throw Fault(detail: "^, $ and \\b can't be repeated") }
            return .repeated(atom, least, most)
        }

        private mutating func count() throws(Fault) -> (Int, Int?)? {
            if take("*") { return (0, nil) }
            if take("+") { return (1, nil) }
            if take("?") { return (0, 1) }
            let begin = place
            guard take("{"), let least = number() else {
                place = begin
                return nil
            }
            var most: Int? = least
            if take(",") { most = number() }
            guard take("}") else {
                place = begin
                return nil
            }
            guard least <= Self.maximumCount, most.map({ $0 <= Self.maximumCount && $0 >= least }) ?? true
            else {
                throw Fault(detail: "{…} must have one or two numbers up to \(Self.maximumCount) in order")
            }
            return (least, most)
        }

        private mutating func number() -> Int? {
            let begin = place
            while let next, ("0"..."9").contains(next) { place += 1 }
            var text = String.UnicodeScalarView()
            text.append(contentsOf: scalars[begin..<place].prefix(9))
            return Int(String(text))
        }

        private mutating func atom() throws(Fault) -> Node {
            switch take() {
            case "."?: return .set(.any)
            case "^"?: return .assertion(.begin)
            case "$"?: return .assertion(.end)
            case "("?: return try group()
            case "["?: return .set(try characterClass())
            case "\\"?: return try escape()
            case let scalar? where "*+?".unicodeScalars.contains(scalar):
                throw Fault(detail: "\(scalar) repeats nothing")
            case let scalar?: return .set(ScalarSet(scalar, ignoresCase: ignoresCase))
            case nil: throw Fault(detail: "it ends too early")
            }
        }

        private mutating func group() throws(Fault) -> Node {
            let outer = ignoresCase
            if take("?i)") {
                // Up to the end of the group that it stands in.
                ignoresCase = true
                return .sequence([])
            }
            if take("?i:") {
                ignoresCase = true
            } else if take("?<"), let first = next, first != "=", first != "!" {
                while let scalar = take(), scalar != ">" {
                    guard ScalarSet.word.contains(scalar) else {
                        throw Fault(detail: "a group has no such name")
                    }
                }
            } else if !take("?:"), next == "?" || scalars[place - 1] == "<" {
                throw Fault(detail: "of groups with (? there are (?: (?i) and (?<name>")
            }
            depth += 1
            guard depth <= Self.maximumDepth else {
                throw Fault(detail: "it has too many groups in each other")
            }
            let node = try alternatives()
            guard take(")") else { throw Fault(detail: "a ( is not closed") }
            depth -= 1
            ignoresCase = outer
            return node
        }

        // MARK: Characters

        private mutating func escape() throws(Fault) -> Node {
            switch next {
            case "b"?:
                place += 1
                return .assertion(.boundary)
            case "B"?:
                place += 1
                return .assertion(.noBoundary)
            default:
                let ranges = try escaped()
                return .set(ScalarSet(ranges, ignoresCase: ignoresCase))
            }
        }

        /// What stands behind a backslash, as characters.
        private mutating func escaped() throws(Fault) -> [ClosedRange<UInt32>] {
            guard let scalar = take() else { throw Fault(detail: "a backslash stands at the end") }
            switch scalar {
            case "d": return ScalarSet.digitRanges
            case "D": return ScalarSet.others(than: ScalarSet.digitRanges)
            case "w": return ScalarSet.wordRanges
            case "W": return ScalarSet.others(than: ScalarSet.wordRanges)
            case "s": return ScalarSet.spaceRanges
            case "S": return ScalarSet.others(than: ScalarSet.spaceRanges)
            case "t": return [0x09...0x09]
            case "n": return [0x0A...0x0A]
            case "v": return [0x0B...0x0B]
            case "f": return [0x0C...0x0C]
            case "r": return [0x0D...0x0D]
            case "x": return try hexadecimal(2)
            case "u": return try take("{") ? hexadecimal(nil) : hexadecimal(4)
            case "0"..."9", "k": throw Fault(detail: "there are no references back to a group")
            case "a"..."z", "A"..."Z": throw Fault(detail: "there is no \\\(scalar)")
            default: return [scalar.value...scalar.value]
            }
        }

        /// - Parameter count: How many digits; nil for those up to a closing brace.
        private mutating func hexadecimal(_ count: Int?) throws(Fault) -> [ClosedRange<UInt32>] {
            var (value, digits): (UInt32, Int) = (0, 0)
            while digits < count ?? 6, let digit = next.flatMap({ Character($0).hexDigitValue }) {
                value = value << 4 | UInt32(digit)
                digits += 1
                place += 1
            }
            guard count.map({ $0 == digits }) ?? take("}"), digits > 0, Unicode.Scalar(value) != nil else {
                throw Fault(detail: "\\x41, \\u0041 and \\u{41} name a character; this is none")
            }
            return [value...value]
        }

        private mutating func characterClass() throws(Fault) -> ScalarSet {
            let isNegated = take("^")
            var ranges: [ClosedRange<UInt32>] = []
            while let scalar = take() {
                if scalar == "]" {
                    return ScalarSet(ranges, isNegated: isNegated, ignoresCase: ignoresCase)
                }
                let low = scalar == "\\" ? try classEscape() : [scalar.value...scalar.value]
                guard next == "-", place + 1 < scalars.count, scalars[place + 1] != "]" else {
                    ranges += low
                    continue
                }
                place += 1
                guard let end = take() else { break }
                let high = end == "\\" ? try classEscape() : [end.value...end.value]
                guard low.count == 1, high.count == 1, low[0].count == 1, high[0].count == 1,
                    low[0].lowerBound <= high[0].lowerBound
                else { throw Fault(detail: "a range in [ ] is none") }
                ranges.append(low[0].lowerBound...high[0].lowerBound)
            }
            throw Fault(detail: "a [ is not closed")
        }

        private mutating func classEscape() throws(Fault) -> [ClosedRange<UInt32>] {
            // Here it is the backspace.
            take("b") ? [0x08...0x08] : try escaped()
        }
    }
}
