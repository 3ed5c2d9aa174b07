internal import CPathScan

/// Reads a URL in one pass over its UTF-8, 64 bytes at a time, and decodes nothing.
///
/// Encoded text takes a second, slower pass that checks what it decodes to.
struct RouteURLParser {
    private let text: UnsafePointer<UInt8>
    private let count: Int
    /// How many bytes may be read.
    private let limit: Int
    private var parts = RouteURLParts()
    private var sawPercentInQuery = false
    private var sawHighByte = false

    /// Parses `bytes`.
    @inline(__always)
    static func parse(_ bytes: UnsafeBufferPointer<UInt8>) throws(RouteURLFault) -> RouteURLParts {
        guard let base = bytes.baseAddress, bytes.count > 0 else {
            throw RouteURLFault(reason: .empty, offset: 0)
        }
        guard bytes.count < Int32.max else { throw RouteURLFault(reason: .tooLong, offset: Int(Int32.max)) }
        if bytes.count >= 16 {
            return try parse(base, count: bytes.count, limit: bytes.count)
        }
        return try parse(short: bytes, base)
    }

    // As many bytes must be there to be read.
    @inline(never)
    private static func parse(
        short bytes: UnsafeBufferPointer<UInt8>, _ base: UnsafePointer<UInt8>
    ) throws(RouteURLFault) -> RouteURLParts {
        let words = SIMD2(
            ByteWord.load(base, at: 0, limit: bytes.count), ByteWord.load(base, at: 8, limit: bytes.count))
        return try withUnsafeBytes(of: words) { (copy) throws(RouteURLFault) in
            guard let base = copy.baseAddress?.assumingMemoryBound(to: UInt8.self) else {
                return RouteURLParts()
            }
            return try parse(base, count: bytes.count, limit: 16)
        }
    }

    @inline(__always)
    private static func parse(
        _ text: UnsafePointer<UInt8>, count: Int, limit: Int
    ) throws(RouteURLFault) -> RouteURLParts {
        var parser = RouteURLParser(text: text, count: count, limit: limit)
        try parser.run()
        return parser.parts
    }

    private init(text: UnsafePointer<UInt8>, count: Int, limit: Int) {
        self.text = text
        self.count = count
        self.limit = limit
    }

    @inline(__always)
    private mutating func run() throws(RouteURLFault) {
        let (start, end) = Whitespace.trimmed(UnsafeBufferPointer(start: text, count: count))
        guard start < end else { throw RouteURLFault(reason: .empty, offset: 0) }
        parts.start = UInt32(truncatingIfNeeded: start)
        parts.end = UInt32(truncatingIfNeeded: end)
        let marks = waypost_scan_url(text, 0, end, limit)
        let body = try readScheme(marks, from: start, to: end)
        let pathEnd = try scan(marks, from: body, to: end)
        parts.pathEnd = UInt32(truncatingIfNeeded: pathEnd)
        parts.pathStart = UInt32(truncatingIfNeeded: body)
        parts.hostStart = parts.pathStart
        parts.hostEnd = parts.pathStart
        if parts.schemeLength > 0, !parts.isWithoutAuthority {
            try readAuthority(marks, from: body, to: pathEnd)
            if SpecialAuthority.mayHave(text[start], length: Int(parts.schemeLength)) {
                try checkSpecialAuthority(from: start, body)
            }
        }
        if sawHighByte { try checkCharacters(from: start, to: end) }
        if parts.isEncoded { try checkComponents() }
        if sawPercentInQuery { try checkQuery() }
    }

    /// Ones for the places from `first` up to `end`, as far as they lie in a window.
    @inline(__always)
    private static func mask(_ window: Int = 0, from first: Int, to end: Int) -> UInt64 {
        let from: UInt64 = first <= window ? .max : .max << UInt64(first &- window)
        return end &- window >= 64 ? from : from & ((1 &<< UInt64(truncatingIfNeeded: end &- window)) &- 1)
    }

    // MARK: Scheme

    @inline(__always)
    private mutating func readScheme(
        _ marks: waypost_marks, from start: Int, to end: Int
    ) throws(RouteURLFault) -> Int {
        // A scheme of up to seven letters, which most are, is seen in one word.
        let colon = (marks.others & Self.mask(from: start, to: end)).trailingZeroBitCount
        if colon > start, colon &- start < 8, colon &+ 2 < end, text[colon] == UInt8(ascii: ":"),
            text[colon &+ 1] == UInt8(ascii: "/"), text[colon &+ 2] == UInt8(ascii: "/"),
            ByteWord.areLetters(ByteWord.load(text, at: start, limit: end), count: colon &- start)
        {
            parts.schemeLength = UInt32(truncatingIfNeeded: colon &- start)
            return colon &+ 3
        }
        return try readUncommonScheme(from: start, to: end)
    }

    @inline(never)
    private mutating func readUncommonScheme(from start: Int, to end: Int) throws(RouteURLFault) -> Int {
        var colon = start
        while colon < end, !Self.endsScheme(text[colon]) { colon &+= 1 }
        guard colon < end, text[colon] == UInt8(ascii: ":") else { return start }
        let hasAuthority =
            colon &+ 2 < end && text[colon &+ 1] == UInt8(ascii: "/")
            && text[colon &+ 2] == UInt8(ascii: "/")
        // Browsers need no slashes to find a host behind `https:`.
        if !hasAuthority, RouteScheme.hasWebHost(bytes(start, colon)) {
            throw RouteURLFault(reason: .ambiguousHost, offset: colon)
        }
        var index = start
        while index < colon, RouteScheme.allows(text[index], first: index == start) { index &+= 1 }
        if index < colon || colon == start {
            // `1:2` and `中:文` are no schemes and harm no one; with `//` they were meant as one.
            guard hasAuthority else { return start }
            throw RouteURLFault(reason: .invalidScheme, offset: index)
        }
        parts.schemeLength = UInt32(truncatingIfNeeded: colon &- start)
        parts.isWithoutAuthority = !hasAuthority
        return colon &+ (hasAuthority ? 3 : 1)
    }

    private static func endsScheme(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "?")
            || byte == UInt8(ascii: "#")
    }

    // MARK: Path, query, fragment

    @inline(__always)
    private mutating func scan(_ marks: waypost_marks, from start: Int, to end: Int) throws(RouteURLFault)
        -> Int
    {
        parts.queryStart = parts.end
        parts.queryEnd = parts.end
        var pathEnd = end
        var found = start < 64 ? marks.others & Self.mask(from: start, to: end) : 0
        while found != 0 {
            try read(found.trailingZeroBitCount, from: start, to: end, &pathEnd)
            found &= found &- 1
        }
        if end > 64 { try scanMore(from: start, to: end, &pathEnd) }
        return pathEnd
    }

    @inline(never)
    private mutating func scanMore(from start: Int, to end: Int, _ pathEnd: inout Int) throws(RouteURLFault) {
        for window in stride(from: 64, to: end, by: 64) where window &+ 64 > start {
            var found =
                waypost_scan_url(text, window, end, limit).others & Self.mask(window, from: start, to: end)
            while found != 0 {
                try read(window &+ found.trailingZeroBitCount, from: start, to: end, &pathEnd)
                found &= found &- 1
            }
        }
    }

    // One of the bytes that matter.
    @inline(__always)
    private mutating func read(
        _ position: Int, from start: Int, to end: Int, _ pathEnd: inout Int
    ) throws(RouteURLFault) {
        let isInPath = pathEnd == end
        switch text[position] {
        case UInt8(ascii: "."):
            if isInPath, position == start || text[position &- 1] == UInt8(ascii: "/") {
                try checkDots(at: position, to: end)
            }
        case UInt8(ascii: "%"):
            if isInPath { parts.isEncoded = true } else { sawPercentInQuery = true }
        case UInt8(ascii: "?") where isInPath:
            pathEnd = position
            parts.queryStart = UInt32(truncatingIfNeeded: position &+ 1)
        case UInt8(ascii: "#") where parts.fragmentStart == .max:
            if isInPath { pathEnd = position }
            parts.fragmentStart = UInt32(truncatingIfNeeded: position &+ 1)
            parts.queryEnd = UInt32(truncatingIfNeeded: position)
            if parts.queryStart > parts.queryEnd { parts.queryStart = parts.queryEnd }
        case UInt8(ascii: "\\"): throw RouteURLFault(reason: .backslash, offset: position)
        case 0..<0x20, 0x7f: throw RouteURLFault(reason: .controlCharacter, offset: position)
        case 0x80...: sawHighByte = true
        default: break
        }
    }

    // A component of one or two dots that ends here, at a slash, or where the path ends.
    @inline(never)
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

    @inline(__always)
    private mutating func readAuthority(
        _ marks: waypost_marks, from start: Int, to end: Int
    ) throws(RouteURLFault) {
        // Most have neither user nor port, and so are over where the first slash is.
        let slash = min((marks.slashes & Self.mask(from: start, to: end)).trailingZeroBitCount, end)
        if slash < 64, marks.others & Self.mask(from: start, to: slash) == 0 {
            parts.hostEnd = UInt32(truncatingIfNeeded: slash)
            parts.pathStart = parts.hostEnd
        } else {
            try readUncommonAuthority(from: start, to: end)
        }
    }

    @inline(never)
    private mutating func readUncommonAuthority(from start: Int, to end: Int) throws(RouteURLFault) {
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

    @inline(never)
    private mutating func checkSpecialAuthority(from start: Int, _ body: Int) throws(RouteURLFault) {
        let scheme = bytes(start, start &+ Int(parts.schemeLength))
        guard RouteScheme.hasWebHost(scheme) else { return }
        let host = Int(parts.hostStart) &- body..<Int(parts.hostEnd) &- body
        if var fault = SpecialAuthority.fault(bytes(body, Int(parts.pathStart)), host: host, of: scheme) {
            fault.offset += body
            throw fault
        }
        parts.hasCapitalsInHost = bytes(Int(parts.hostStart), Int(parts.hostEnd)).contains {
            RouteScheme.lowercased($0) != $0
        }
    }

    private func bytes(_ start: Int, _ end: Int) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(start: text + start, count: end &- start)
    }

    // MARK: The slow pass, for text that is not plain ASCII

    @inline(never)
    private func checkCharacters(from start: Int, to end: Int) throws(RouteURLFault) {
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

    @inline(never)
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
        let bytes = bytes(start, end)
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
    @inline(never)
    private func checkQuery() throws(RouteURLFault) {
        let start = Int(min(parts.queryStart, parts.queryEnd))
        let bytes = bytes(start, Int(parts.end))
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
