/// Looks at the headers of packets before libmosquitto reads them.
///
/// The library allocates what a header announces, up to 256 MiB, and has no limit of its own. So the loop peeks at what
/// comes, and lets the library read only packets whose header was seen here.
///
/// The library is to read one packet per call, and it stops after one only when the packet has a callback (see
/// `CallbackSink`). An answer to a ping has none, nor has the acknowledgement of an unknown message; the loop takes those.
struct FrameGuard: Sendable {
    enum Finding: Sendable, Equatable {
        /// ``next`` is known.
        case admitted
        /// The next header is not there in full; so many bytes are.
        case incomplete(Int)
        /// A message with so many bytes in all.
        case tooLarge(Int)
        case malformed(String)
    }

    /// A packet of which only the header was seen.
    struct Packet: Sendable, Equatable {
        var type: UInt8
        var flags: UInt8
        /// The bytes of the whole packet.
        var size: Int
        /// The id that a PUBACK is for.
        var acknowledges: UInt16?
        /// DUP: the message may have been sent before.
        var isDuplicate: Bool { type == FrameGuard.publish && flags & 8 != 0 }
    }

    private let limit: Int
    /// The packets that are let through and not read in full yet.
    private var ahead: [Packet] = []
    /// Where in ``ahead`` the next one stands.
    private var first = 0
    /// The part of the next header that the library has read already.
    private var begun: [UInt8] = []
    /// The part of the next header that was received, and that the library has not read.
    private var held: [UInt8] = []
    /// Whether the library is in the middle of ``next``.
    private(set) var isReading = false

    init(limit: Int) { self.limit = limit }

    /// The packet to read next; nil when nothing is known of the next byte.
    var next: Packet? { first < ahead.count ? ahead[first] : nil }

    /// Whether the library has read the beginning of a header.
    var isInHeader: Bool { !begun.isEmpty }

    /// Whether the place of the next packet is one.
    private var isConsistent: Bool { 0...ahead.count ~= first }

    /// What waits to be read, from the beginning of a packet on or where ``beganHeader(_:)`` or ``hold(_:)`` ended.
    mutating func saw(_ bytes: UnsafeRawBufferPointer) -> Finding {
        defer { assert(isConsistent) }
        precondition(
            next == nil, "looked at \(bytes.count) bytes with \(ahead.count - first) packets not read")
        (ahead, first) = ([], 0)
        var start = 0
        while start < bytes.count {
            let prefix = start == 0 ? begun + held : []
            switch Self.header(prefix, UnsafeRawBufferPointer(rebasing: bytes[start...])) {
            case .partial: return ahead.isEmpty ? .incomplete(bytes.count) : .admitted
            case .malformed(let text): return ahead.isEmpty ? .malformed(text) : .admitted
            case .packet(let packet):
                if packet.size > limit {
                    // A bad packet behind good ones waits its turn: those are read first.
                    guard ahead.isEmpty else { return .admitted }
                    return packet.type == Self.publish
                        ? .tooLarge(packet.size)
                        : .malformed("a packet of type \(packet.type) beyond the limit")
                }
                ahead.append(packet)
                start += packet.size - prefix.count
            }
        }
        if next != nil, isInHeader { (begun, isReading) = ([], true) }
        return next == nil ? .incomplete(0) : .admitted
    }

    /// The library was let read the beginning of a header, which ends in the middle of what can be peeked at.
    mutating func beganHeader(_ bytes: UnsafeRawBufferPointer) { begun += bytes }

    /// A piece of a header was received, and is kept until the rest is there.
    mutating func hold(_ bytes: UnsafeRawBufferPointer) { held += bytes }

    /// The beginning of a header whose end was found.
    mutating func takeHeld() -> [UInt8] {
        defer { assert(isConsistent) }
        defer { held = [] }
        return held
    }

    /// The library was let read, and reported so many packets; returns their bytes.
    mutating func read(reported: Int) -> Int {
        defer { assert(isConsistent) }
        isReading = reported == 0
        return (0..<reported).reduce(0) { bytes, _ in bytes + removeNext() }
    }

    /// The next packet was, or will be, read past the library; returns its bytes.
    @discardableResult
    mutating func removeNext() -> Int {
        defer { assert(isConsistent) }
        guard let next else { return 0 }
        first += 1
        return next.size
    }

    private enum Header {
        case packet(Packet)
        case partial
        case malformed(String)
    }

    /// Reads a header whose first bytes are in `begun`.
    private static func header(_ begun: [UInt8], _ rest: UnsafeRawBufferPointer) -> Header {
        func byte(_ index: Int) -> UInt8? {
            if index < begun.count { return begun[index] }
            return index - begun.count < rest.count ? rest[index - begun.count] : nil
        }
        guard let start = byte(0) else { return .partial }
        let (type, flags) = (start >> 4, start & 15)
        guard expected.contains(type) else { return .malformed("a packet of type \(type)") }
        if type == publish, flags & 6 > 2 {
            return .malformed("a message at QoS \(flags >> 1 & 3), which was not requested")
        }
        var length = 0
        var position = 1
        while true {
            if position == 5 { return .malformed("a length of more than four bytes") }
            guard let byte = byte(position) else { return .partial }
            length |= Int(byte & 0x7F) << (7 * (position - 1))
            position += 1
            if byte & 0x80 == 0 { break }
        }
        var packet = Packet(type: type, flags: flags, size: position + length)
        switch type {
        case pingResponse where length != 0: return .malformed("an answer to a ping with \(length) bytes")
        case acknowledgement:
            guard length >= 2 else { return .malformed("an acknowledgement without an id") }
            guard let high = byte(position), let low = byte(position + 1) else { return .partial }
            packet.acknowledges = UInt16(high) << 8 | UInt16(low)
        default: break
        }
        return .packet(packet)
    }

    static let publish: UInt8 = 3
    static let acknowledgement: UInt8 = 4
    static let pingRequest: UInt8 = 12
    static let pingResponse: UInt8 = 13
    /// CONNACK, PUBLISH, PUBACK, SUBACK, UNSUBACK, PINGRESP, DISCONNECT: we neither use QoS 2 nor authenticate in
    /// steps, so nothing else has a reason to come.
    private static let expected: Set<UInt8> = [2, publish, acknowledgement, 9, 11, pingResponse, 14]
}
