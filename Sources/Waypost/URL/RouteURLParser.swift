/// Reads a URL in one pass over its UTF-8, eight bytes at a time, and decodes nothing.
///
/// Encoded text takes a second, slower pass that checks what it decodes to.
struct RouteURLParser {
    private let text: UnsafePointer<UInt8>
    private let count: Int
    private var parts = RouteURLParts()
    private var sawPercentInQuery = false
    private var sawHighByte = false

    /// Parses `bytes`.
    ///
    /// With `trusted` they are known to be UTF-8, as those of a `String` are.
    static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, trusted: Bool
    ) throws(RouteURLFault) -> RouteURLParts {
        guard let base = bytes.baseAddress, bytes.count > 0 else {
            throw RouteURLFault(reason: .empty, offset: 0)
        }
        guard bytes.count < Int32.max else { throw RouteURLFault(reason: .tooLong, offset: Int(Int32.max)) }
        var parser = RouteURLParser(text: base, count: bytes.count)
        try parser.run(trusted: trusted)
        return parser.parts
    }

    private init(text: UnsafePointer<UInt8>, count: Int) {
        self.text = text
        self.count = count
    }

    private mutating func run(trusted: Bool) throws(RouteURLFault) {
        let (start, end) = Whitespace.trimmed(UnsafeBufferPointer(start: text, count: count))
        guard start < end else { throw RouteURLFault(reason: .empty, offset: 0) }
        parts.start = UInt32(truncatingIfNeeded: start)
        parts.end = UInt32(truncatingIfNeeded: end)
        let body = try readScheme(from: start, to: end)
        let pathEnd = try scan(from: body, to: end)
        parts.pathEnd = UInt32(truncatingIfNeeded: pathEnd)
        parts.pathStart = UInt32(truncatingIfNeeded: body)
        parts.hostStart = parts.pathStart
        parts.hostEnd = parts.pathStart
        if parts.schemeLength > 0 { try readAuthority(from: body, to: pathEnd) }
        if sawHighByte { try checkCharacters(from: start, to: end, trusted: trusted) }
        if parts.isEncoded { try checkComponents() }
        if sawPercentInQuery { try checkQuery() }
    }

    // MARK: Scheme

    private mutating func readScheme(from start: Int, to end: Int) throws(RouteURLFault) -> Int {
        // A scheme of up to seven letters, which most are, is found in one word.
        let word = ByteWord.load(text, at: start, limit: end)
        let colons = ByteWord.find(UInt8(ascii: ":"), in: word)
        var colon = start
        if colons != 0 {
            colon = start &+ colons.trailingZeroBitCount &>> 3
        } else {
            while colon < end, !Self.endsScheme(text[colon]) { colon &+= 1 }
        }
        guard colon &+ 2 < end, text[colon] == UInt8(ascii: ":"), text[colon &+ 1] == UInt8(ascii: "/"),
            text[colon &+ 2] == UInt8(ascii: "/")
        else { return start }
        var index = start
        if colon &- start < 8, colon > start, ByteWord.areLetters(word, count: colon &- start) {
            index = colon
        } else {
            while index < colon, RouteScheme.allows(text[index], first: index == start) { index &+= 1 }
        }
        if index < colon || colon == start {
            // `a/b://c` has no scheme: the colon belongs to its second component.
            var before = start
            while before < colon, !Self.endsScheme(text[before]) { before &+= 1 }
            if before < colon { return start }
            throw RouteURLFault(reason: .invalidScheme, offset: index)
        }
        parts.schemeLength = UInt32(truncatingIfNeeded: colon &- start)
        return colon &+ 3
    }

    private static func endsScheme(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
            || byte == UInt8(ascii: "#")
    }

    // MARK: Path, query, fragment

    private mutating func scan(from start: Int, to end: Int) throws(RouteURLFault) -> Int {
        parts.queryStart = parts.end
        parts.queryEnd = parts.end
        if start < end, text[start] == UInt8(ascii: ".") { try checkDots(at: start, to: end) }
        var high: UInt64 = 0
        var index = start
        var pathEnd = end
        scanning: while index < end {
            let word = ByteWord.load(text, at: index, limit: end)
            high |= word
            // A slash before a dot is found in two words, one of which is a byte ahead.
            let pairs =
                (word ^ ByteWord.repeating(UInt8(ascii: "/")))
                | (ByteWord.load(text, at: index &+ 1, limit: end) ^ ByteWord.repeating(UInt8(ascii: ".")))
            var found = Self.special(word) | ByteWord.zeros(pairs)
            while found != 0 {
                let position = index &+ found.trailingZeroBitCount &>> 3
                if position >= end { break }
                found &= found &- 1
                switch text[position] {
                case UInt8(ascii: "/"):
                    if position &+ 1 < end, text[position &+ 1] == UInt8(ascii: ".") {
                        try checkDots(at: position &+ 1, to: end)
                    }
                case UInt8(ascii: "%"): parts.isEncoded = true
                case UInt8(ascii: "?"), UInt8(ascii: "#"):
                    pathEnd = position
                    break scanning
                case 0..<0x20, 0x7f: throw RouteURLFault(reason: .controlCharacter, offset: position)
                default: break
                }
            }
            index &+= 8
        }
        if pathEnd < end { high |= try scanQuery(from: pathEnd, to: end) }
        sawHighByte = high & ByteWord.highs != 0
        return pathEnd
    }

    /// Marks every byte that could matter, and some others: what is below `&`, `?` and DEL.
    @inline(__always)
    private static func special(_ word: UInt64) -> UInt64 {
        ByteWord.find(below: 0x26, in: word)
            | ByteWord.zeros((word ^ ByteWord.repeating(0x3f)) & ByteWord.repeating(0xbf))
    }

    // From the `?` or `#` that ends the path.
    private mutating func scanQuery(from start: Int, to end: Int) throws(RouteURLFault) -> UInt64 {
        var high: UInt64 = 0
        var index = start
        if text[start] == UInt8(ascii: "?") {
            parts.queryStart = UInt32(truncatingIfNeeded: start &+ 1)
            index = start &+ 1
        }
        while index < end {
            let word = ByteWord.load(text, at: index, limit: end)
            high |= word
            var found = Self.special(word)
            while found != 0 {
                let position = index &+ found.trailingZeroBitCount &>> 3
                if position >= end { break }
                found &= found &- 1
                switch text[position] {
                case UInt8(ascii: "%"): sawPercentInQuery = true
                case UInt8(ascii: "#") where parts.fragmentStart == .max:
                    parts.fragmentStart = UInt32(truncatingIfNeeded: position &+ 1)
                    parts.queryEnd = UInt32(truncatingIfNeeded: position)
                    if parts.queryStart > parts.queryEnd { parts.queryStart = parts.queryEnd }
                case 0..<0x20, 0x7f: throw RouteURLFault(reason: .controlCharacter, offset: position)
                default: break
                }
            }
            index &+= 8
        }
        return high
    }

    // A component of one or two dots that ends here, at a slash, or where the path ends.
    private func checkDots(at position: Int, to end: Int) throws(RouteURLFault) {
        var index = position &+ 1
        if index < end, text[index] == UInt8(ascii: ".") { index &+= 1 }
        if index >= end || text[index] == UInt8(ascii: "/") || text[index] == UInt8(ascii: "?")
            || text[index] == UInt8(ascii: "#")
        {
            throw RouteURLFault(reason: .dotComponent, offset: position)
        }
    }

    // MARK: Authority

    private mutating func readAuthority(from start: Int, to end: Int) throws(RouteURLFault) {
        // Most have neither user nor port, and so are over where the first slash is.
        var quick = start
        while true {
            var word = ByteWord.load(text, at: quick, limit: end)
            let slashes = ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "/")))
            if slashes != 0 { word &= (slashes ^ (slashes &- 1)) &>> 8 }
            let others =
                ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: ":")))
                | ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "@")))
            if others != 0 { break }
            quick = slashes != 0 ? quick &+ slashes.trailingZeroBitCount &>> 3 : min(quick &+ 8, end)
            if slashes != 0 || quick == end {
                parts.hostEnd = UInt32(truncatingIfNeeded: quick)
                parts.pathStart = parts.hostEnd
                return
            }
        }
        var index = start
        var colon = -1
        while index < end, text[index] != UInt8(ascii: "/") {
            switch text[index] {
            case UInt8(ascii: "@"):
                parts.hostStart = UInt32(truncatingIfNeeded: index &+ 1)
                colon = -1
            case UInt8(ascii: ":"): colon = index
            case UInt8(ascii: "]"): colon = -1  // the colons of an IPv6 address
            default: break
            }
            index &+= 1
        }
        var hostEnd = index
        if colon >= 0 {
            var digit = colon &+ 1
            while digit < index {
                guard text[digit] &- UInt8(ascii: "0") < 10 else {
                    throw RouteURLFault(reason: .invalidPort, offset: digit)
                }
                digit &+= 1
            }
            hostEnd = colon
        }
        parts.hostEnd = UInt32(truncatingIfNeeded: hostEnd)
        parts.pathStart = UInt32(truncatingIfNeeded: index)
        // `user@..` shows its dots only now.
        let host = Int(parts.hostStart)
        if host < hostEnd, hostEnd &- host <= 2, text[host] == UInt8(ascii: "."),
            text[hostEnd &- 1] == UInt8(ascii: ".")
        {
            throw RouteURLFault(reason: .dotComponent, offset: host)
        }
    }

    // MARK: The slow pass, for text that is not plain ASCII

    private func checkCharacters(from start: Int, to end: Int, trusted: Bool) throws(RouteURLFault) {
        var check = UTF8Check()
        var index = start
        while index < end {
            switch check.read(text[index]) {
            case .fine: break
            case .invalid: throw RouteURLFault(reason: .invalidUTF8, offset: index)
            case .control: throw RouteURLFault(reason: .controlCharacter, offset: index &- 1)
            }
            index &+= 1
        }
        if !check.isComplete { throw RouteURLFault(reason: .invalidUTF8, offset: end) }
    }

    private func checkComponents() throws(RouteURLFault) {
        try checkComponent(from: Int(parts.hostStart), to: Int(parts.hostEnd))
        var start = Int(parts.pathStart)
        let end = Int(parts.pathEnd)
        while start < end {
            var next = start
            while next < end, text[next] != UInt8(ascii: "/") { next &+= 1 }
            try checkComponent(from: start, to: next)
            start = next &+ 1
        }
    }

    private func checkComponent(from start: Int, to end: Int) throws(RouteURLFault) {
        guard start < end else { return }
        let bytes = UnsafeBufferPointer(start: text + start, count: end &- start)
        var check = UTF8Check()
        var index = 0
        var dots = 0
        var length = 0
        while index < bytes.count {
            let step = PercentCoding.next(bytes, at: index)
            switch check.read(step.byte) {
            case .fine: break
            case .invalid: throw RouteURLFault(reason: .invalidUTF8, offset: start &+ index)
            case .control: throw RouteURLFault(reason: .controlCharacter, offset: start &+ index)
            }
            if step.byte == UInt8(ascii: ".") { dots &+= 1 }
            length &+= 1
            index = step.next
        }
        if !check.isComplete { throw RouteURLFault(reason: .invalidUTF8, offset: end) }
        if length <= 2, dots == length { throw RouteURLFault(reason: .dotComponent, offset: start) }
    }

    // Values are texts: a line break is fine once it is encoded, NUL is not.
    private func checkQuery() throws(RouteURLFault) {
        let start = Int(min(parts.queryStart, parts.queryEnd))
        let bytes = UnsafeBufferPointer(start: text + start, count: Int(parts.end) &- start)
        var check = UTF8Check()
        var index = 0
        while index < bytes.count {
            let step = PercentCoding.next(bytes, at: index)
            // A character may not reach from a key into its value.
            let isDelimiter =
                step.next == index &+ 1 && (step.byte == 0x26 || step.byte == 0x3d || step.byte == 0x23)
            if check.read(step.byte) == .invalid || (isDelimiter && !check.isComplete) {
                throw RouteURLFault(reason: .invalidUTF8, offset: start &+ index)
            }
            if step.byte == 0 { throw RouteURLFault(reason: .controlCharacter, offset: start &+ index) }
            index = step.next
        }
        if !check.isComplete { throw RouteURLFault(reason: .invalidUTF8, offset: Int(parts.end)) }
    }
}
