/// The same as ``RoutePatternError`` without the text.
struct PatternFault: Error {
    var reason: RoutePatternError.Reason
    var offset: Int
}

/// What there is in a component beside plain text: bits for eight bytes at a time, or for all there were.
struct PatternMarks {
    /// `:` and `<`, which begin a placeholder.
    private var holes: UInt64 = 0
    /// `%` and what is below it, DEL, and what is no ASCII.
    private var unclean: UInt64 = 0

    init() {}

    @inline(__always)
    init(_ word: UInt64, _ inside: UInt64) {
        func find(_ byte: UInt8) -> UInt64 { ByteWord.zeros(word ^ ByteWord.repeating(byte)) }
        holes = (find(UInt8(ascii: ":")) | find(UInt8(ascii: "<"))) & ByteWord.highs & inside
        unclean = (word | ByteWord.find(below: 0x26, in: word) | find(0x7f)) & ByteWord.highs & inside
    }

    @inline(__always) var areNone: Bool { holes | unclean == 0 }
    @inline(__always) var isUnclean: Bool { unclean != 0 }

    @inline(__always)
    mutating func add(_ other: PatternMarks, _ bits: UInt64) {
        holes |= other.holes & bits
        unclean |= other.unclean & bits
    }

    @inline(__always)
    mutating func remove(_ bits: UInt64) {
        holes &= ~bits
        unclean &= ~bits
    }
}

/// Reads the bytes of a pattern into pieces.
struct PatternReader {
    private let syntax: PatternSyntax
    private(set) var start = 0
    private(set) var end = 0
    private(set) var scheme: String?
    private(set) var isFallback = false
    private(set) var pieces: [PatternPiece] = []
    /// Where in the trimmed text the host of `http` and the like stands, whose literals have no case.
    private(set) var webHost: [Int]?
    /// How many pieces have a name.
    private var named = 0

    init(syntax: PatternSyntax) {
        self.syntax = syntax
    }

    /// Reads all of `bytes`, which are UTF-8.
    ///
    /// Offsets in errors count from their start, those in pieces from `start`.
    mutating func read(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) {
        guard bytes.count <= RoutePattern.maximumBytes else {
            throw PatternFault(reason: .tooLong, offset: RoutePattern.maximumBytes)
        }
        (start, end) = Whitespace.trimmed(bytes)
        guard start < end else { throw PatternFault(reason: .empty, offset: 0) }
        let trimmed = UnsafeBufferPointer(rebasing: bytes[start..<end])
        do throws(PatternFault) {
            try readTrimmed(trimmed)
        } catch {
            throw PatternFault(reason: error.reason, offset: error.offset + start)
        }
    }

    private mutating func readTrimmed(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) {
        let body = try readScheme(bytes)
        var pathEnd = body
        if let text = bytes.baseAddress {
            while pathEnd &+ 8 <= bytes.count, !Self.hasTail(ByteWord.load(text + pathEnd)) { pathEnd &+= 8 }
        }
        while pathEnd < bytes.count, bytes[pathEnd] != UInt8(ascii: "?"), bytes[pathEnd] != UInt8(ascii: "#")
        {
            pathEnd &+= 1
        }
        var path = body
        if body > 0 { path = try readAuthority(bytes, from: body, to: pathEnd) }
        try readComponents(bytes, from: path, to: pathEnd)
        for tail in pathEnd..<bytes.count where bytes[tail] < 0x20 || bytes[tail] == 0x7f {
            throw PatternFault(reason: .controlCharacter, offset: tail)
        }
        if scheme == "" {
            // `://` is the fallback of all; with components it would be a scheme that nothing has.
            if !pieces.isEmpty { throw PatternFault(reason: .invalidScheme, offset: 0) }
            scheme = nil
            isFallback = true
        } else {
            isFallback = scheme != nil && pieces.isEmpty
        }
        try checkNames(bytes)
    }

    /// Whether there is a `?` or `#` among eight bytes.
    @inline(__always)
    private static func hasTail(_ word: UInt64) -> Bool {
        ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "?")))
            | ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "#"))) != 0
    }

    // MARK: Scheme and authority

    private mutating func readScheme(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) -> Int {
        var colon = 0
        while colon < bytes.count, bytes[colon] != UInt8(ascii: ":") {
            switch bytes[colon] {
            case UInt8(ascii: "/"), UInt8(ascii: "?"), UInt8(ascii: "#"): return 0
            default: colon &+= 1
            }
        }
        guard colon &+ 2 < bytes.count, bytes[colon &+ 1] == UInt8(ascii: "/"),
            bytes[colon &+ 2] == UInt8(ascii: "/")
        else { return 0 }
        for index in 0..<colon where !RouteScheme.allows(bytes[index], first: index == 0) {
            throw PatternFault(reason: .invalidScheme, offset: index)
        }
        scheme = String(decoding: bytes[..<colon].lazy.map { RouteScheme.lowercased($0) }, as: UTF8.self)
        return colon &+ 3
    }

    // User info and a port made of digits take no part, as in a URL. What else follows a colon is a placeholder.
    private mutating func readAuthority(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to pathEnd: Int
    ) throws(PatternFault) -> Int {
        var end = start
        var hostStart = start
        while end < pathEnd, bytes[end] != UInt8(ascii: "/") {
            if bytes[end] == UInt8(ascii: "@") { hostStart = end &+ 1 }
            end &+= 1
        }
        var hostEnd = end
        while hostEnd > hostStart, bytes[hostEnd &- 1] &- UInt8(ascii: "0") < 10 { hostEnd &-= 1 }
        if hostEnd &- 1 > hostStart, hostEnd < end, bytes[hostEnd &- 1] == UInt8(ascii: ":") {
            hostEnd &-= 1
        } else {
            hostEnd = end
        }
        try readComponents(bytes, from: hostStart, to: hostEnd)
        if let scheme, RouteScheme.hasWebHost(scheme), let host = pieces.first {
            let hole = Int(host.holeStart)..<Int(host.holeEnd)
            webHost = (Int(host.start)..<Int(host.end)).filter { !hole.contains($0) }
        }
        return end
    }

    // MARK: Components

    /// Reads what lies between slashes, eight bytes at a time.
    private mutating func readComponents(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
    ) throws(PatternFault) {
        guard let text = bytes.baseAddress else { return }
        var start = start
        var index = start
        var marks = PatternMarks()
        while index < end {
            let word = ByteWord.load(text, at: index, limit: bytes.count)
            let inside = ByteWord.mask(min(end &- index, 8))
            var slashes = ByteWord.find(UInt8(ascii: "/"), in: word) & inside
            var found = PatternMarks(word, inside)
            while slashes != 0 {
                let before = (slashes & (0 &- slashes)) &- 1
                let slash = index &+ slashes.trailingZeroBitCount &>> 3
                marks.add(found, before)
                if slash > start { try readComponent(bytes, from: start, to: slash, marks) }
                start = slash &+ 1
                marks = PatternMarks()
                found.remove(before)
                slashes &= slashes &- 1
            }
            marks.add(found, .max)
            index &+= 8
        }
        if end > start { try readComponent(bytes, from: start, to: end, marks) }
    }

    private mutating func readComponent(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int, _ marks: PatternMarks
    ) throws(PatternFault) {
        guard pieces.count < RoutePattern.maximumComponents else {
            throw PatternFault(reason: .tooManyComponents, offset: start)
        }
        if let last = pieces.last, last.kind == .rest {
            throw PatternFault(reason: .misplacedRest, offset: Int(last.start))
        }
        var piece = PatternPiece(
            kind: .literal, start: UInt16(truncatingIfNeeded: start), end: UInt16(truncatingIfNeeded: end))
        var isHole = false
        var index = marks.areNone ? end : start
        while index < end {
            switch bytes[index] {
            case UInt8(ascii: ":"), UInt8(ascii: "<"):
                if isHole { throw PatternFault(reason: .severalPlaceholders, offset: index) }
                isHole = true
                let next = try readPlaceholder(bytes, from: index, to: end, into: &piece)
                piece.holeStart = UInt16(truncatingIfNeeded: index)
                piece.holeEnd = UInt16(truncatingIfNeeded: next)
                index = next
            case UInt8(ascii: "%"):
                piece.isEncoded = true
                index &+= 1
            default: index &+= 1
            }
        }
        if isHole {
            let isWhole = piece.holeStart == piece.start && piece.holeEnd == piece.end
            if piece.kind == .rest {
                if !isWhole { throw PatternFault(reason: .misplacedRest, offset: Int(piece.holeStart)) }
            } else if !isWhole {
                piece.kind = .partial
            }
        } else if syntax.wildcards, bytes[start] == UInt8(ascii: "*") {
            if end &- start == 1 { piece.kind = .wildcard }
            if end &- start == 2, bytes[start &+ 1] == UInt8(ascii: "*") { piece.kind = .rest }
        }
        if marks.isUnclean || bytes[start] == UInt8(ascii: ".") { try checkText(bytes, of: piece) }
        if piece.isNamed { named &+= 1 }
        if pieces.isEmpty { pieces.reserveCapacity(6) }
        pieces.append(piece)
    }

    private func readPlaceholder(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int, into piece: inout PatternPiece
    ) throws(PatternFault) -> Int {
        var nameStart = start &+ 1
        var nameEnd = nameStart
        piece.kind = .placeholder
        var next: Int
        if bytes[start] == UInt8(ascii: ":") {
            while nameEnd < end, Self.isName(bytes[nameEnd]) { nameEnd &+= 1 }
            next = nameEnd
        } else {
            var colon = -1
            while nameEnd < end, bytes[nameEnd] != UInt8(ascii: ">") {
                if bytes[nameEnd] == UInt8(ascii: "<") || (bytes[nameEnd] == UInt8(ascii: ":") && colon >= 0)
                {
                    throw PatternFault(reason: .malformedPlaceholder, offset: nameEnd)
                }
                if bytes[nameEnd] == UInt8(ascii: ":") { colon = nameEnd }
                nameEnd &+= 1
            }
            guard nameEnd < end else { throw PatternFault(reason: .malformedPlaceholder, offset: start) }
            next = nameEnd &+ 1
            if colon >= 0 {
                try readConverter(bytes, from: nameStart, to: colon, into: &piece)
                nameStart = colon &+ 1
            }
        }
        guard nameEnd > nameStart else { throw PatternFault(reason: .missingName, offset: start) }
        piece.nameStart = UInt16(truncatingIfNeeded: nameStart)
        piece.nameEnd = UInt16(truncatingIfNeeded: nameEnd)
        return next
    }

    private func readConverter(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int, into piece: inout PatternPiece
    ) throws(PatternFault) {
        let name = String(decoding: bytes[start..<end], as: UTF8.self)
        if name == "path" {
            piece.kind = .rest
            return
        }
        guard syntax.converterNames.contains(name) || PatternConstraint(name) != nil else {
            throw PatternFault(reason: .unknownConverter(name), offset: start)
        }
        piece.kind = .typed
        piece.converterStart = UInt16(truncatingIfNeeded: start)
        piece.converterEnd = UInt16(truncatingIfNeeded: end)
    }

    private static func isName(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "_")
            || byte == UInt8(ascii: "-") || byte >= 0x80
    }

    // MARK: Checks

    private func checkText(_ bytes: UnsafeBufferPointer<UInt8>, of piece: PatternPiece) throws(PatternFault) {
        var check = UTF8Check()
        var index = Int(piece.start)
        let end = Int(piece.end)
        var dots = 0
        var length = 0
        while index < end {
            let step =
                piece.isEncoded
                ? PercentCoding.next(bytes, at: index) : (byte: bytes[index], next: index &+ 1)
            switch check.read(step.byte) {
            case .fine: break
            case .control: throw PatternFault(reason: .controlCharacter, offset: index)
            case .invalid: throw PatternFault(reason: .invalidUTF8, offset: index)
            }
            if step.byte == UInt8(ascii: ".") { dots &+= 1 }
            length &+= 1
            // An encoded character must not begin in a literal part and end in a placeholder.
            if !check.isComplete, step.next == Int(piece.holeStart), piece.holeEnd > 0 {
                throw PatternFault(reason: .invalidUTF8, offset: step.next)
            }
            index = step.next
        }
        if !check.isComplete { throw PatternFault(reason: .invalidUTF8, offset: end) }
        if length <= 2, dots == length { throw PatternFault(reason: .dotComponent, offset: Int(piece.start)) }
    }

    private func checkNames(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) {
        // At most 128 names, mostly none to three: comparing each with each is the quickest.
        if named < 2 { return }
        let pieces = pieces.span
        for index in pieces.indices where pieces[index].isNamed {
            let name = pieces[index].nameBytes(in: bytes)
            for other in 0..<index where pieces[other].isNamed {
                let rival = pieces[other].nameBytes(in: bytes)
                if rival.count == name.count, rival.elementsEqual(name) {
                    throw PatternFault(
                        reason: .repeatedName(pieces[index].name(in: bytes)),
                        offset: Int(pieces[index].nameStart))
                }
            }
        }
    }
}
