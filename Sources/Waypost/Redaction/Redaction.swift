/// Masks what must never be seen, in every text that leaves the process: the values of secret keys, and the user
/// info of URLs.
///
/// A key stands before `=` or `:`, in a URL, in JSON or in a sentence. What is percent-encoded, such as a URL in the
/// query of another one, is decoded for the search, ``maximumDepth`` times.
package struct Redaction: Sendable, Hashable {
    /// A key is secret when it ends with one of these; case, `-` and `_` do not count.
    static let standardKeys = ["password", "token", "secret", "authorization", "cookie", "apikey"]
    /// How often a text is decoded: a URL in a URL in a URL in a URL.
    static let maximumDepth = 3

    private static let mask = Array("***".utf8)

    private static let endings = standardKeys.map { Array($0.utf8) }
    private static let authorization = Array("authorization".utf8)
    private static let cookie = Array("cookie".utf8)
    /// Programs find a host behind these without slashes too.
    private static let webSchemes = ["http", "https", "ws", "wss", "ftp"].map { Array($0.utf8) }

    private let keys: [[UInt8]]

    /// - Parameter further: keys beside the standard ones; these count as a whole.
    package init(further: [String] = []) {
        keys = further.map { $0.utf8.filter { !Self.isSeparator($0) }.map(RouteScheme.lowercased) }
    }

    /// The text with everything secret replaced by `***`.
    package func masked(_ text: String) -> String {
        var bytes = Array(text.utf8)
        var isMasked = false
        // Without a value that hid it, another key may come to light.
        for _ in 1...Self.maximumDepth + 1 {
            let masked = masked(bytes)
            guard masked != bytes else { break }
            bytes = masked
            isMasked = true
        }
        return isMasked ? String(decoding: bytes, as: UTF8.self) : text
    }

    private func masked(_ bytes: [UInt8]) -> [UInt8] {
        var secrets: [Range<Int>] = []
        forEachSecret(in: bytes) { secrets.append($0) }
        if bytes.contains(UInt8(ascii: "%")) {
            var layer = DecodedBytes(bytes)
            for _ in 1...Self.maximumDepth {
                guard layer.decode() else { break }
                forEachSecret(in: layer.values) {
                    secrets.append(layer.starts[$0.lowerBound]..<layer.starts[$0.upperBound])
                }
            }
        }
        guard !secrets.isEmpty else { return bytes }
        var result: [UInt8] = []
        var position = 0
        for secret in secrets.sorted(by: { $0.lowerBound < $1.lowerBound }) where secret.upperBound > position
        {
            if secret.lowerBound >= position { result += bytes[position..<secret.lowerBound] + Self.mask }
            position = secret.upperBound
        }
        return result + bytes[position...]
    }

    /// The value with its texts masked, and all values of secret keys.
    package func masked(_ json: JSONValue) -> JSONValue {
        switch json {
        case .string(let text): .string(masked(text))
        case .array(let elements): .array(elements.map(masked))
        case .object(let members): .object(masked(members))
        default: json
        }
    }

    /// The same for the members of an object.
    package func masked(_ members: [String: JSONValue]) -> [String: JSONValue] {
        Dictionary(uniqueKeysWithValues: members.map { ($0, hides($0) ? "***" : masked($1)) })
    }

    /// Whether `key` names a value that must not be seen.
    package func hides(_ key: String) -> Bool { isSecret(Array(key.utf8)[...]) }

    private func isSecret(_ key: ArraySlice<UInt8>) -> Bool {
        Self.endings.contains { Self.start(of: $0, endingIn: key) != nil } || Self.isOne(key, of: keys)
    }

    private static func isOne(_ key: ArraySlice<UInt8>, of names: [[UInt8]]) -> Bool {
        names.contains { start(of: $0, endingIn: key).map { key[..<$0].allSatisfy(isSeparator) } ?? false }
    }

    /// Where the ending begins in the key, when it has it; case, `-` and `_` do not count.
    private static func start(of ending: [UInt8], endingIn key: ArraySlice<UInt8>) -> Int? {
        guard key.count >= ending.count else { return nil }
        var index = key.endIndex
        for wanted in ending.reversed() {
            repeat {
                guard index > key.startIndex else { return nil }
                index -= 1
            } while isSeparator(key[index])
            guard RouteScheme.lowercased(key[index]) == wanted else { return nil }
        }
        return index
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    // MARK: Search

    private func forEachSecret(in bytes: [UInt8], _ body: (Range<Int>) -> Void) {
        var index = 0
        // Up to here, user info was looked for.
        var searched = 0
        while index < bytes.count {
            defer { index += 1 }
            guard bytes[index] == UInt8(ascii: "=") || bytes[index] == UInt8(ascii: ":") else { continue }
            let authority = bytes[(index + 1)...].firstIndex { !Self.isSlash($0) } ?? bytes.count
            let slashes = bytes[index] == UInt8(ascii: ":") ? authority - index - 1 : 0
            let key = slashes < 2 ? key(in: bytes, before: index) : nil
            if let key, isSecret(key) {
                let value = value(in: bytes, from: index + 1, of: key)
                if !value.isEmpty { body(value) }
                index = max(index, value.upperBound - 1)
            } else if authority >= searched,
                slashes > 0 || key.map({ Self.isOne($0, of: Self.webSchemes) }) == true
            {
                searched = bytes[authority...].firstIndex(where: Self.endsAuthority) ?? bytes.count
                if let at = bytes[authority..<searched].lastIndex(of: UInt8(ascii: "@")), at > authority {
                    body(authority..<at)
                }
            }
        }
    }

    /// The key that ends before `end`; quotes, backslashes and brackets may stand around it.
    private func key(in bytes: [UInt8], before end: Int) -> ArraySlice<UInt8>? {
        let last = bytes[..<end].lastIndex { !Self.isAroundKey($0) } ?? -1
        let start = (bytes[..<(last + 1)].lastIndex { !Self.isInKey($0) } ?? -1) + 1
        return start <= last ? bytes[start...last] : nil
    }

    /// The value from `start` on: in quotes up to the closing one, otherwise up to what ends it.
    private func value(in bytes: [UInt8], from start: Int, of key: ArraySlice<UInt8>) -> Range<Int> {
        let isHeader = bytes[start - 1] == UInt8(ascii: ":")
        var start = start
        while start < bytes.count, bytes[start] == 0x20 || bytes[start] == UInt8(ascii: "\\") { start += 1 }
        guard start < bytes.count else { return start..<start }
        let quote = bytes[start]
        if quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
            // In JSON within JSON the quotes are escaped, otherwise an escaped one belongs to the value.
            let isEscaped = bytes[start - 1] == UInt8(ascii: "\\")
            let end = bytes.indices[(start + 1)...].first {
                bytes[$0] == quote && (isEscaped || bytes[$0 - 1] != UInt8(ascii: "\\"))
            }
            // Without a closing quote, all that follows.
            let isWhole = end.map { !isEscaped || bytes[$0 - 1] != UInt8(ascii: "\\") } ?? true
            return start + 1..<max(start + 1, (end ?? bytes.count) - (isWhole ? 0 : 1))
        }
        var end = endOfValue(in: bytes, from: start)
        // A header has words in its value: `Authorization: Bearer x`, `Cookie: a=b; c=d`.
        let isAuthorization = Self.start(of: Self.authorization, endingIn: key) != nil
        if isAuthorization || Self.start(of: Self.cookie, endingIn: key) != nil {
            while end < bytes.count, bytes[end] == 0x20,
                isHeader || (isAuthorization && bytes[start..<end].allSatisfy(Self.isLetter))
            {
                end = endOfValue(in: bytes, from: end + 1)
            }
        }
        return start..<end
    }

    private func endOfValue(in bytes: [UInt8], from start: Int) -> Int {
        bytes[start...].firstIndex(where: Self.endsValue) ?? bytes.count
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- UInt8(ascii: "a") < 26 }

    private static func isInKey(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."),
            0x80...:
            true
        default: false
        }
    }

    private static func isAroundKey(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x20, UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "\\"), UInt8(ascii: "]"): true
        default: false
        }
    }

    private static func endsValue(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "&"), UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "'"), 0...0x20: true
        default: false
        }
    }

    private static func isSlash(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "/") || byte == UInt8(ascii: "\\")
    }

    private static func endsAuthority(_ byte: UInt8) -> Bool {
        isSlash(byte) || byte == UInt8(ascii: "?") || endsValue(byte)
    }
}

/// Bytes, and for each the place in the text from which it was decoded.
private struct DecodedBytes {
    private(set) var values: [UInt8]
    /// One more than there are bytes: the last is the end of the text.
    private(set) var starts: [Int]

    init(_ bytes: [UInt8]) {
        values = bytes
        starts = Array(0...bytes.count)
    }

    /// Takes percent-encoding off once; false when there is none.
    mutating func decode() -> Bool {
        guard values.contains(UInt8(ascii: "%")) else { return false }
        var (decoded, places): ([UInt8], [Int]) = ([], [])
        decoded.reserveCapacity(values.count)
        places.reserveCapacity(starts.count)
        var index = 0
        values.withUnsafeBufferPointer { bytes in
            while index < bytes.count {
                places.append(starts[index])
                let step = PercentCoding.next(bytes, at: index)
                decoded.append(step.byte)
                index = step.next
            }
        }
        places.append(starts[values.count])
        defer { (values, starts) = (decoded, places) }
        return decoded.count < values.count
    }
}
