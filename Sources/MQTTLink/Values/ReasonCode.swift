/// A reason code of MQTT 5 (MQTT 5.0, 2.4), by its number and its name in the standard.
///
/// The return codes of a 3.1.1 CONNACK are translated to their counterparts, so that one list serves both.
public struct ReasonCode: RawRepresentable, Sendable, Hashable, CustomStringConvertible {
    /// The number on the wire.
    public var rawValue: UInt8

    /// The code with that number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The counterpart of a 3.1.1 CONNACK return code.
    init(connackReturnCode code: UInt8) {
        let counterparts: [UInt8] = [0x00, 0x84, 0x85, 0x88, 0x86, 0x87]
        self.init(rawValue: Int(code) < counterparts.count ? counterparts[Int(code)] : code)
    }

    /// Whether the code reports a failure.
    public var isFailure: Bool { rawValue >= 0x80 }

    /// Whether a refused message may be accepted when it is sent again later, unchanged.
    ///
    /// True for the reasons of a PUBACK that are about the broker's state and not about the message: 0x80, 0x83,
    /// 0x89, 0x91, 0x96 and 0x97.
    public var isTransient: Bool { Self.transient.contains(rawValue) }

    /// The name in the standard.
    public var name: String { Self.names[rawValue] ?? "Unknown reason" }

    /// Name and number: `Not authorized (0x87)`.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "\(name) (0x\(digits.count < 2 ? "0" + digits : digits))"
    }

    /// The broker does not speak the version that was asked for.
    public static let unsupportedProtocolVersion = ReasonCode(rawValue: 0x84)
    /// The name or the password is wrong.
    public static let badUserNameOrPassword = ReasonCode(rawValue: 0x86)
    /// The broker's rules do not allow it.
    public static let notAuthorized = ReasonCode(rawValue: 0x87)
    /// Another client with the same id took the session.
    public static let sessionTakenOver = ReasonCode(rawValue: 0x8E)
    /// A packet was larger than the other side takes.
    public static let packetTooLarge = ReasonCode(rawValue: 0x95)

    /// The client, or what it sends, is beyond a limit that an administrator has set.
    public static let quotaExceeded = ReasonCode(rawValue: 0x97)
    /// Another broker must be used for now.
    public static let useAnotherServer = ReasonCode(rawValue: 0x9C)
    /// Another broker must be used from now on.
    public static let serverMoved = ReasonCode(rawValue: 0x9D)

    private static let transient: Set<UInt8> = [0x80, 0x83, 0x89, 0x91, 0x96, 0x97]

    private static let names: [UInt8: String] = [
        0x00: "Success", 0x01: "Granted QoS 1", 0x02: "Granted QoS 2", 0x04: "Disconnect with will message",
        0x10: "No matching subscribers", 0x11: "No subscription existed", 0x18: "Continue authentication",
        0x19: "Re-authenticate", 0x80: "Unspecified error", 0x81: "Malformed packet", 0x82: "Protocol error",
        0x83: "Implementation specific error", 0x84: "Unsupported protocol version",
        0x85: "Client identifier not valid", 0x86: "Bad user name or password", 0x87: "Not authorized",
        0x88: "Server unavailable", 0x89: "Server busy", 0x8A: "Banned", 0x8B: "Server shutting down",
        0x8C: "Bad authentication method", 0x8D: "Keep alive timeout", 0x8E: "Session taken over",
        0x8F: "Topic filter invalid", 0x90: "Topic name invalid", 0x91: "Packet identifier in use",
        0x92: "Packet identifier not found", 0x93: "Receive maximum exceeded", 0x94: "Topic alias invalid",
        0x95: "Packet too large", 0x96: "Message rate too high", 0x97: "Quota exceeded",
        0x98: "Administrative action", 0x99: "Payload format invalid", 0x9A: "Retain not supported",
        0x9B: "QoS not supported", 0x9C: "Use another server", 0x9D: "Server moved",
        0x9E: "Shared subscriptions not supported", 0x9F: "Connection rate exceeded",
        0xA0: "Maximum connect time", 0xA1: "Subscription identifiers not supported",
        0xA2: "Wildcard subscriptions not supported",
    ]
}
