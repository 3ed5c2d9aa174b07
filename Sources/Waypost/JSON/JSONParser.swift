/// One pass over the bytes, no look back; a string is validated while it is copied.
///
/// Written over a raw buffer because a command is parsed before its PUBACK leaves, and the buffer's own checks
/// are off in release builds: every read here stands behind a comparison with `end`.
struct JSONParser {
    private let bytes: UnsafeBufferPointer<UInt8>
    private let end: Int
    private let limits: JSONLimits
    private let deepest: Int
    private var at = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        end = bytes.count
        self.limits = limits
        // The descent is recursive, so the stack is protected whatever the configuration says.
        deepest = min(limits.maximumDepth, 512)
    }

    mutating func document() throws(JSONError) -> JSONValue {
        try begin()
        let value = try value(depth: 0)
        try finish()
        return value
    }

    /// The members of the object that the text is, in their order; nil when it is no object.
    mutating func members() throws(JSONError) -> [(key: String, value: JSONValue)]? {
        try begin()
        guard bytes[at] == UInt8(ascii: "{") else { return nil }
        var members: [(key: String, value: JSONValue)] = []
        members.reserveCapacity(8)
        var keys: Set<String> = []
        try eachMember(depth: 1) { key, value in
            // To compare with each is quicker than a hash, as long as there are few.
            if members.count < 16 {
                guard !members.contains(where: { $0.key == key }) else { return false }
            } else {
                if keys.isEmpty { keys = Set(members.lazy.map(\.key)) }
                guard keys.insert(key).inserted else { return false }
            }
            members.append((key, value))
            return true
        }
        try finish()
        return members
    }

    private mutating func begin() throws(JSONError) {
        guard end <= limits.maximumBytes else {
            throw JSONError(.tooLong(limit: limits.maximumBytes), at: limits.maximumBytes)
        }
        if end >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF {
            throw JSONError(.byteOrderMark, at: 0)
        }
        skipSpace()
        guard at < end else { throw JSONError(.empty, at: at) }
    }

    private mutating func finish() throws(JSONError) {
        skipSpace()
        guard at == end else { throw expected("the end of the text") }
    }

    private mutating func value(depth: Int) throws(JSONError) -> JSONValue {
        guard at < end else { throw expected("a value") }
        switch bytes[at] {
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return .bool(try word("true", true))
        case UInt8(ascii: "f"): return .bool(try word("false", false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return try number()
        default: throw expected("a value")
        }
    }

    private mutating func object(depth: Int) throws(JSONError) -> [String: JSONValue] {
        var members: [String: JSONValue] = [:]
        try eachMember(depth: depth) { key, value in
            // Space for six at once: growing from one would move a small object three times.
            if members.isEmpty { members.reserveCapacity(6) }
            return members.updateValue(value, forKey: key) == nil
        }
        return members
    }

    /// Calls `isNew` with each member of an object; it is false for a key that came before.
    ///
    /// Keys that differ only in Unicode normalisation count as equal: a reader after us may take either.
    private mutating func eachMember(
        depth: Int, _ isNew: (String, JSONValue) -> Bool
    ) throws(JSONError) {
        guard depth <= deepest else { throw JSONError(.tooDeep(limit: deepest), at: at) }
        at += 1
        skipSpace()
        if take(UInt8(ascii: "}")) { return }
        var count = 0
        while true {
            let start = at
            guard at < end, bytes[at] == UInt8(ascii: "\"") else { throw expected("a key in quotes") }
            let key = try string()
            skipSpace()
            guard take(UInt8(ascii: ":")) else { throw expected("\":\"") }
            skipSpace()
            guard count < limits.maximumKeys else {
                throw JSONError(.tooManyKeys(limit: limits.maximumKeys), at: start)
            }
            count += 1
            let value: JSONValue
            do throws(JSONError) {
                value = try self.value(depth: depth)
            } catch {
                throw error.inside(key)
            }
            guard isNew(key, value) else { throw JSONError(.duplicateKey(key), at: start) }
            skipSpace()
            if take(UInt8(ascii: ",")) {
                skipSpace()
            } else if take(UInt8(ascii: "}")) {
                return
            } else {
                throw expected("\",\" or \"}\"")
            }
        }
    }

    private mutating func array(depth: Int) throws(JSONError) -> [JSONValue] {
        guard depth <= deepest else { throw JSONError(.tooDeep(limit: deepest), at: at) }
        at += 1
        skipSpace()
        var elements: [JSONValue] = []
        if take(UInt8(ascii: "]")) { return elements }
        elements.reserveCapacity(2)
        while true {
            do throws(JSONError) {
                elements.append(try value(depth: depth))
            } catch {
                throw error.inside("[\(elements.count)]")
            }
            skipSpace()
            if take(UInt8(ascii: ",")) {
                skipSpace()
            } else if take(UInt8(ascii: "]")) {
                return elements
            } else {
                throw expected("\",\" or \"]\"")
            }
        }
    }

    private mutating func word<T>(_ text: StaticString, _ value: T) throws(JSONError) -> T {
        let count = text.utf8CodeUnitCount
        guard end - at >= count else { throw expected("a value") }
        let start = text.utf8Start
        for place in 0..<count where bytes[at + place] != start[place] { throw expected("a value") }
        at += count
        return value
    }

    private mutating func skipSpace() {
        while at < end {
            switch bytes[at] {
            case 0x20, 0x0A, 0x0D, 0x09: at += 1
            default: return
            }
        }
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard at < end, bytes[at] == byte else { return false }
        at += 1
        return true
    }

    private func expected(_ what: String) -> JSONError {
        JSONError(.syntax(what), at: at)
    }
}

// MARK: Strings

extension JSONParser {
    private mutating func string() throws(JSONError) -> String {
        let start = at
        let first = at + 1
        var place = first
        var bits: UInt8 = 0
        // A pointer is read in place, where generic code is not specialized too.
        while place < end, let byte = bytes.baseAddress?[place] {
            if byte == UInt8(ascii: "\"") {
                at = place + 1
                return try validated(
                    UnsafeBufferPointer(rebasing: bytes[first..<place]), isASCII: bits < 0x80, from: start)
            }
            if byte == UInt8(ascii: "\\") || byte < 0x20 { break }
            bits |= byte
            place += 1
        }
        at = place
        return try stringWithEscapes(from: start, first: first)
    }

    /// Goes on at what is no part of the text as it stands.
    private mutating func stringWithEscapes(from start: Int, first: Int) throws(JSONError) -> String {
        var copy = Array(bytes[first..<at])
        while at < end {
            let byte = bytes[at]
            switch byte {
            case UInt8(ascii: "\""):
                let text = try copy.withUnsafeBufferPointer { (buffer) throws(JSONError) in
                    try validated(buffer, isASCII: false, from: start)
                }
                at += 1
                return text
            case UInt8(ascii: "\\"): try escape(into: &copy)
            case 0..<0x20: throw expected("no control character in a string")
            default:
                copy.append(byte)
                at += 1
            }
        }
        throw expected("the closing quote")
    }

    private func validated(
        _ buffer: UnsafeBufferPointer<UInt8>, isASCII: Bool, from start: Int
    ) throws(JSONError) -> String {
        guard buffer.count <= limits.maximumStringBytes else {
            throw JSONError(.stringTooLong(limit: limits.maximumStringBytes), at: start)
        }
        // ASCII is valid as it is.
        if isASCII { return String(copying: UTF8Span(unchecked: buffer.span, isKnownASCII: true)) }
        guard let utf8 = try? UTF8Span(validating: buffer.span) else {
            throw JSONError(.notUTF8, at: start)
        }
        let text = String(copying: utf8)
        // No mark has a smaller first byte.
        if !utf8.isKnownASCII, buffer.contains(where: { $0 >= 0xCC }), CombiningMarks.areTooMany(in: text) {
            throw JSONError(.tooManyMarks(limit: CombiningMarks.limit), at: start)
        }
        return text
    }

    private mutating func escape(into copy: inout [UInt8]) throws(JSONError) {
        let start = at
        guard at + 1 < end else { throw expected("an escape") }
        at += 2
        switch bytes[at - 1] {
        case UInt8(ascii: "\""): copy.append(0x22)
        case UInt8(ascii: "\\"): copy.append(0x5C)
        case UInt8(ascii: "/"): copy.append(0x2F)
        case UInt8(ascii: "b"): copy.append(0x08)
        case UInt8(ascii: "f"): copy.append(0x0C)
        case UInt8(ascii: "n"): copy.append(0x0A)
        case UInt8(ascii: "r"): copy.append(0x0D)
        case UInt8(ascii: "t"): copy.append(0x09)
        case UInt8(ascii: "u"): copy.append(contentsOf: String(try escapedScalar(from: start)).utf8)
        default:
            at = start
            throw expected("a known escape")
        }
    }

    /// The scalar of `\uXXXX`, or of a pair of them; `at` stands behind the first `u`.
    private mutating func escapedScalar(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let high = try fourHexDigits()
        if let scalar = Unicode.Scalar(high) { return scalar }
        guard high < 0xDC00, at + 1 < end, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u")
        else {
            throw JSONError(.loneSurrogate, at: start)
        }
        at += 2
        let low = try fourHexDigits()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x1_0000 + (high - 0xD800) << 10 + (low - 0xDC00))
        else { throw JSONError(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt32 {
        guard end - at >= 4 else { throw expected("four hex digits") }
        var number: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = PercentCoding.value(ofDigit: bytes[at]) else {
                throw expected("four hex digits")
            }
            number = number << 4 | UInt32(digit)
            at += 1
        }
        return number
    }
}

// MARK: Numbers

extension JSONParser {
    private mutating func number() throws(JSONError) -> JSONValue {
        let start = at
        let negative = take(UInt8(ascii: "-"))
        var magnitude: UInt64 = 0
        var fits = true
        let firstDigit = at
        while at < end, case let digit = bytes[at] &- 0x30, digit < 10 {
            let (product, over) = magnitude.multipliedReportingOverflow(by: 10)
            let (sum, carry) = product.addingReportingOverflow(UInt64(digit))
            if over || carry { fits = false }
            magnitude = sum
            at += 1
        }
        guard at > firstDigit else { throw expected("a digit") }
        guard at == firstDigit + 1 || bytes[firstDigit] != 0x30 else {
            at = firstDigit
            throw expected("no leading zero")
        }
        var integral = true
        if take(UInt8(ascii: ".")) {
            integral = false
            try digits()
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            integral = false
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            try digits()
        }
        if integral {
            if fits, !negative, let number = Int64(exactly: magnitude) { return .int(number) }
            if fits, negative, magnitude <= UInt64(Int64.max) { return .int(-Int64(magnitude)) }
            if fits, negative, magnitude == UInt64(Int64.max) + 1 { return .int(.min) }
            // Most are identifiers: the nearest double would be that of something else.
            guard limits.roundsNumbers else { throw JSONError(.integerOutOfRange(""), at: start) }
        }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<at]), as: UTF8.self)
        guard let number = Double(text), number.isFinite, !number.isZero || Self.isZero(text) else {
            guard limits.roundsNumbers else { throw JSONError(.numberOutOfRange(""), at: start) }
            let number = Double(text) ?? 0
            return .double(max(-.greatestFiniteMagnitude, min(number, .greatestFiniteMagnitude)))
        }
        return .double(number)
    }

    /// Whether the digits before an exponent are zeros.
    private static func isZero(_ text: String) -> Bool {
        !text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }.contains { (0x31...0x39).contains($0) }
    }

    private mutating func digits() throws(JSONError) {
        let start = at
        while at < end, bytes[at] &- 0x30 < 10 { at += 1 }
        guard at > start else { throw expected("a digit") }
    }
}

extension JSONError {
    /// The same in a member or an element, with its place named.
    fileprivate func inside(_ name: String) -> JSONError {
        func path(_ place: String) -> String {
            name + (place.isEmpty || place.hasPrefix("[") ? "" : ".") + place
        }
        return switch reason {
        case .integerOutOfRange(let place): JSONError(.integerOutOfRange(path(place)), at: offset)
        case .numberOutOfRange(let place): JSONError(.numberOutOfRange(path(place)), at: offset)
        default: self
        }
    }
}
