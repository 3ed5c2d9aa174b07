/// Why a topic or a filter is not sent.
public struct TopicError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What is wrong with it.
    public enum Reason: String, Sendable, Hashable {
        /// A topic has at least one character (MQTT 5.0, 4.7.3).
        case empty = "is empty"
        /// The length field has 16 bits.
        case tooLong = "has more than 65535 bytes of UTF-8"
        /// libmosquitto's topics are C strings: a NUL would cut them.
        case containsNUL = "contains a NUL"
        /// Control characters and non-characters, which libmosquitto refuses (MQTT 5.0, 1.5.4).
        case containsControl = "contains a control character or a non-character"
        /// `+` and `#` are for filters.
        case wildcardInTopic = "contains a wildcard; a message is published to exactly one topic"
        /// `+` fills a level, `#` fills the last one.
        case misplacedWildcard = "has a wildcard that does not fill its level, or a # that is not the last"
    }

    /// The topic or filter.
    public var topic: String
    /// What is wrong with it.
    public var reason: Reason

    /// A topic or filter, and what is wrong with it.
    public init(topic: String, reason: Reason) {
        self.topic = topic
        self.reason = reason
    }

    /// The topic and what is wrong with it, in one line.
    public var description: String {
        "topic \"\(topic.unicodeScalars.prefix(80).map { $0.escaped(asASCII: false) }.joined())\" \(reason.rawValue)"
    }
}

/// The rules for topics, checked here before any C call.
public enum Topic {
    /// The longest topic or filter, in bytes of UTF-8.
    public static let maximumBytes = 65_535

    /// Checks a topic that something is published to.
    public static func check(name: String) throws(TopicError) {
        if let reason = fault(inName: name) { throw TopicError(topic: name, reason: reason) }
    }

    /// Checks a filter that is subscribed to.
    public static func check(filter: String) throws(TopicError) {
        if let reason = fault(inFilter: filter) { throw TopicError(topic: filter, reason: reason) }
    }

    static func fault(inName name: String) -> TopicError.Reason? {
        var sawWildcard = false
        if let reason = scan(
            name, { sawWildcard = sawWildcard || $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "#") })
        {
            return reason
        }
        return sawWildcard ? .wildcardInTopic : nil
    }

    static func fault(inFilter filter: String) -> TopicError.Reason? {
        if let reason = scan(filter, { _ in }) { return reason }
        let levels = filter.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (index, level) in levels.enumerated() where level.count > 1 {
            if level.contains(UInt8(ascii: "+")) || level.contains(UInt8(ascii: "#")) {
                return .misplacedWildcard
            }
            _ = index
        }
        let hash = [UInt8(ascii: "#")]
        return levels.dropLast().contains { $0.elementsEqual(hash) } ? .misplacedWildcard : nil
    }

    /// One pass over the bytes; a Swift string is always valid UTF-8, so only the refused characters are looked for.
    private static func scan(_ text: String, _ visit: (UInt8) -> Void) -> TopicError.Reason? {
        if text.isEmpty { return .empty }
        if text.utf8.count > maximumBytes { return .tooLong }
        var isASCII = true
        for byte in text.utf8 {
            if byte == 0 { return .containsNUL }
            if byte < 0x20 || byte == 0x7F { return .containsControl }
            if byte >= 0x80 { isASCII = false }
            visit(byte)
        }
        if isASCII { return nil }
        let refused = text.unicodeScalars.contains { scalar in
            (0x80...0x9F).contains(scalar.value) || (0xFDD0...0xFDEF).contains(scalar.value)
                || scalar.value & 0xFFFE == 0xFFFE
        }
        return refused ? .containsControl : nil
    }
}
