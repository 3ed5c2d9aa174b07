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
    private(set) var optional = OptionalParts()
    /// Where in the trimmed text the host of `http` and the like stands, whose literals have no case.
    private(set) var webHost: [Int]?
    /// How many names there are, and whether a piece has several.
    private var named = 0
    private var hasSeveral = false

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
        var stemEnd = -1
        while pathEnd < bytes.count, bytes[pathEnd] != UInt8(ascii: "?"), bytes[pathEnd] != UInt8(ascii: "#")
        {
            if stemEnd < 0, Self.isOptional(bytes, at: pathEnd) { stemEnd = pathEnd }
            pathEnd &+= 1
        }
        if stemEnd < 0 { stemEnd = pathEnd }
        var path = body
        if body > 0 { path = try readAuthority(bytes, from: body, to: stemEnd) }
        try readComponents(bytes, from: path, to: stemEnd)
        if stemEnd < pathEnd { try readOptional(bytes, from: stemEnd, to: pathEnd) }
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

    /// Whether there is a `?`, `#` or `(` among eight bytes.
    @inline(__always)
    private static func hasTail(_ word: UInt64) -> Bool {
        ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "?")))
            | ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "#")))
            | ByteWord.zeros(word ^ ByteWord.repeating(UInt8(ascii: "("))) != 0
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
        if start > 3, RouteScheme.hasWebHost(UnsafeBufferPointer(rebasing: bytes[..<(start &- 3)])),
            let host = pieces.first
        {
            let holes = host.holes(in: bytes).map { Int($0.start)..<Int($0.end) }
            webHost = (Int(host.start)..<Int(host.end)).filter { place in
                !holes.contains { $0.contains(place) }
            }
        }
        return end
    }

    // MARK: Optional parts

    private static func isOptional(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> Bool {
        bytes[index] == UInt8(ascii: "(") && index &+ 1 < bytes.count
            && bytes[index &+ 1] == UInt8(ascii: "/")
    }

    /// Reads `(/a(/b))`, which must end where the path does; parentheses inside of a component are literals.
    private mutating func readOptional(
        _ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int
    ) throws(PatternFault) {
        var open: [Int] = []
        var inside = 0
        var index = start
        var isClosing = false
        while index < end {
            let isOptional = Self.isOptional(bytes, at: index)
            if isClosing || isOptional && inside > 0 {
                guard bytes[index] == UInt8(ascii: ")"), open.popLast() != nil else {
                    throw PatternFault(reason: .malformedOptional, offset: index)
                }
            } else if isOptional {
                try readPart(bytes, from: open.last, to: index)
                guard optional.add(behind: pieces.count) else {
                    throw PatternFault(reason: .tooManyOptionals, offset: index)
                }
                open.append(index)
            } else if bytes[index] == UInt8(ascii: "(") {
                inside &+= 1
            } else if bytes[index] == UInt8(ascii: ")") {
                if inside > 0 {
                    inside &-= 1
                } else {
                    try readPart(bytes, from: open.popLast(), to: index)
                    isClosing = true
                }
            }
            index &+= 1
        }
        if let last = open.last { throw PatternFault(reason: .malformedOptional, offset: last) }
    }

    /// Reads what begins with the parenthesis at `open`; without one, what stands before the first part is there already.
    private mutating func readPart(
        _ bytes: UnsafeBufferPointer<UInt8>, from open: Int?, to end: Int
    ) throws(PatternFault) {
        let before = open == nil ? 0 : pieces.count
        if let open { try readComponents(bytes, from: open &+ 1, to: end) }
        guard pieces.count > before else {
            throw PatternFault(reason: .malformedOptional, offset: open ?? end)
        }
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
        var holes = 0
        var lastEnd = -1
        var index = marks.areNone ? end : start
        while index < end {
            if Placeholder.begins(bytes[index]) {
                if index == lastEnd { throw PatternFault(reason: .adjacentPlaceholders, offset: index) }
                guard holes < RoutePattern.maximumPlaceholders else {
                    throw PatternFault(reason: .tooManyPlaceholders, offset: index)
                }
                let hole = try Placeholder(bytes, from: index, to: end)
                let kind = try kind(of: hole, in: bytes)
                if kind == .rest, index > start || Int(hole.end) < end {
                    throw PatternFault(reason: .misplacedRest, offset: index)
                }
                if holes == 0 {
                    piece.hole = hole
                    piece.kind = index == start && Int(hole.end) == end ? kind : .partial
                } else {
                    piece.kind = .several
                }
                holes &+= 1
                index = Int(hole.end)
                lastEnd = index
            } else {
                if bytes[index] == UInt8(ascii: "%") { piece.isEncoded = true }
                index &+= 1
            }
        }
        if holes == 0, syntax.wildcards, bytes[start] == UInt8(ascii: "*") {
            if end &- start == 1 { piece.kind = .wildcard }
            if end &- start == 2, bytes[start &+ 1] == UInt8(ascii: "*") { piece.kind = .rest }
        }
        if marks.isUnclean || bytes[start] == UInt8(ascii: ".") { try checkText(bytes, of: piece) }
        if piece.isNamed { named &+= max(holes, 1) }
        if holes > 1 { hasSeveral = true }
        if pieces.isEmpty { pieces.reserveCapacity(6) }
        pieces.append(piece)
    }

    private func kind(
        of hole: Placeholder, in bytes: UnsafeBufferPointer<UInt8>
    ) throws(PatternFault) -> PatternPiece.Kind {
        guard hole.converterEnd > 0 else { return .placeholder }
        let name = hole.converter(in: bytes) ?? ""
        if name == "path" { return .rest }
        guard syntax.converterNames.contains(name) || PatternConstraint(name) != nil else {
            throw PatternFault(reason: .unknownConverter(name), offset: Int(hole.converterStart))
        }
        return .typed
    }

    // MARK: Checks

    private func checkText(_ bytes: UnsafeBufferPointer<UInt8>, of piece: PatternPiece) throws(PatternFault) {
        var check = UTF8Check()
        var index = Int(piece.start)
        let end = Int(piece.end)
        var dots = 0
        var length = 0
        let holes = piece.kind == .literal ? [] : piece.holes(in: bytes).map { Int($0.start) }
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
            if !check.isComplete, holes.contains(step.next) {
                throw PatternFault(reason: .invalidUTF8, offset: step.next)
            }
            index = step.next
        }
        if !check.isComplete { throw PatternFault(reason: .invalidUTF8, offset: end) }
        if length <= 2, dots == length { throw PatternFault(reason: .dotComponent, offset: Int(piece.start)) }
    }

    private func checkNames(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) {
        if named < 2 { return }
        if hasSeveral { return try checkManyNames(bytes) }
        // At most 128 names, mostly none to three: comparing each with each is the quickest.
        let pieces = pieces.span
        for index in pieces.indices where pieces[index].isNamed {
            let name = pieces[index].hole.nameBytes(in: bytes)
            for other in 0..<index where pieces[other].isNamed {
                let rival = pieces[other].hole.nameBytes(in: bytes)
                if rival.count == name.count, rival.elementsEqual(name) {
                    throw PatternFault(
                        reason: .repeatedName(pieces[index].hole.name(in: bytes)),
                        offset: Int(pieces[index].hole.nameStart))
                }
            }
        }
    }

    private func checkManyNames(_ bytes: UnsafeBufferPointer<UInt8>) throws(PatternFault) {
        var known: Set<[UInt8]> = []
        for hole in pieces.flatMap({ $0.holes(in: bytes) })
        where !known.insert(Array(hole.nameBytes(in: bytes))).inserted {
            throw PatternFault(reason: .repeatedName(hole.name(in: bytes)), offset: Int(hole.nameStart))
        }
    }
}
