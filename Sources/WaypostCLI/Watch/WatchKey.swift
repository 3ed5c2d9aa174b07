/// A key of the terminal, as `watch` knows them.
enum WatchKey: Sendable, Equatable {
    case scalar(Unicode.Scalar)
    case up, down, pageUp, pageDown, home, end
    case enter, escape, tab, backTab, backspace
}

/// Reads keys out of what a terminal sends, as xterm and those like it do.
struct WatchKeyReader {
    /// No key is longer; what is, is thrown away.
    private static let longest = 32
    private static let escape: UInt8 = 0x1B

    private var rest: [UInt8] = []

    /// Whether more has to come before it is known which key it is.
    var isInside: Bool { !rest.isEmpty }

    /// The keys in `bytes`.
    ///
    /// - Parameter isAll: nothing follows for a while, so that a lone Escape is the key of that name.
    mutating func keys(_ bytes: [UInt8], isAll: Bool = false) -> [WatchKey] {
        rest += bytes
        var keys: [WatchKey] = []
        while let first = rest.first {
            let length: Int
            if first == Self.escape {
                guard let (key, count) = Self.sequence(rest, isAll: isAll) else { break }
                if let key { keys.append(key) }
                length = count
            } else if first < 0x20 || first == 0x7F {
                if let key = Self.control(first) { keys.append(key) }
                length = 1
            } else {
                length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
                guard rest.count >= length || isAll else { break }
                let text = String(decoding: rest.prefix(length), as: UTF8.self)
                if let scalar = text.unicodeScalars.first { keys.append(.scalar(scalar)) }
            }
            rest.removeFirst(min(length, rest.count))
        }
        if rest.count > Self.longest { rest = [] }
        return keys
    }

    private static func control(_ byte: UInt8) -> WatchKey? {
        switch byte {
        case 0x0A, 0x0D: .enter
        case 0x09: .tab
        case 0x08, 0x7F: .backspace
        default: nil
        }
    }

    /// The key that an escape sequence means, if it is one that is known, and its length; nil when more has to come.
    private static func sequence(_ bytes: [UInt8], isAll: Bool) -> (key: WatchKey?, length: Int)? {
        guard bytes.count > 1 else { return isAll ? (.escape, 1) : nil }
        switch bytes[1] {
        case UInt8(ascii: "O"):
            guard bytes.count > 2 else { return isAll ? (.escape, 1) : nil }
            return (named(bytes[2]), 3)
        case UInt8(ascii: "["):
            guard let end = bytes.indices.dropFirst(2).first(where: { (0x40...0x7E).contains(bytes[$0]) })
            else { return isAll ? (nil, bytes.count) : nil }
            let number = bytes[2..<end].first
            return (bytes[end] == UInt8(ascii: "~") ? numbered(number) : named(bytes[end]), end + 1)
        default: return (.escape, 1)
        }
    }

    private static func named(_ byte: UInt8) -> WatchKey? {
        switch Unicode.Scalar(byte) {
        case "A": .up
        case "B": .down
        case "H": .home
        case "F": .end
        case "Z": .backTab
        default: nil
        }
    }

    private static func numbered(_ byte: UInt8?) -> WatchKey? {
        switch byte.map(Unicode.Scalar.init) {
        case "1", "7": .home
        case "4", "8": .end
        case "5": .pageUp
        case "6": .pageDown
        default: nil
        }
    }
}
