/// A packet that is read past libmosquitto, piece by piece, and of which little is kept.
///
/// That is a message beyond the limit, and what the library would read in silence (see `FrameGuard`).
struct SkippedPacket: Sendable {
    /// What it was.
    enum Content: Sendable, Equatable {
        /// A message; `id` is 0 when it does not want to be acknowledged.
        case message(topic: String, id: UInt16, bytes: Int)
        case acknowledgement(id: UInt16, reason: UInt8)
        case pingResponse
        case malformed(String)
    }

    /// The longest header, topic and id: a message's first bytes, as far as they say something.
    private static let keptBytes = 5 + 2 + 65_535 + 2

    private var kept: [UInt8] = []
    private var count = 0
    /// The bytes of the header and of the whole packet, once they are known.
    private var layout: (header: Int, total: Int)?

    /// - Parameter bytes: what was read of its header by now.
    init(beginning bytes: [UInt8] = []) {
        for byte in bytes { withUnsafeBytes(of: byte) { read($0) } }
    }

    /// How many bytes must be read next, at most; 0 at its end.
    ///
    /// Byte by byte as long as the header is not known: what follows the packet is not ours.
    var wanted: Int { layout.map { $0.total - count } ?? 1 }

    /// Bytes that were read, not more than were wanted.
    mutating func read(_ bytes: UnsafeRawBufferPointer) {
        count += bytes.count
        kept += bytes.prefix(max(0, Self.keptBytes - kept.count))
        guard layout == nil, count > 1, let last = kept.last else { return }
        guard last & 0x80 == 0 || count == 5 else { return }
        let length = kept.dropFirst().enumerated().reduce(0) {
            $0 | Int($1.element & 0x7F) << (7 * $1.offset)
        }
        layout = (count, count + length)
    }

    /// What it was, once all is read.
    var content: Content {
        guard let layout, let first = kept.first else { return .malformed("a packet without an end") }
        let body = kept.dropFirst(layout.header)
        func number(at offset: Int) -> UInt16? {
            guard offset + 1 < body.count else { return nil }
            let place = body.startIndex + offset
            return UInt16(body[place]) << 8 | UInt16(body[place + 1])
        }
        switch first >> 4 {
        case FrameGuard.pingResponse: return .pingResponse
        case FrameGuard.acknowledgement:
            guard let id = number(at: 0) else { return .malformed("an acknowledgement without an id") }
            return .acknowledgement(id: id, reason: body.count > 2 ? body[body.startIndex + 2] : 0)
        case FrameGuard.publish:
            guard let length = number(at: 0).map(Int.init), body.count >= 2 + length else {
                return .malformed("a message with a topic beyond its end")
            }
            let topic = String(decoding: body.dropFirst(2).prefix(length), as: UTF8.self)
            guard first & 6 != 0 else { return .message(topic: topic, id: 0, bytes: layout.total) }
            guard let id = number(at: 2 + length), id != 0 else {
                return .malformed("a message without an id")
            }
            return .message(topic: topic, id: id, bytes: layout.total)
        default: return .malformed("a packet of type \(first >> 4)")
        }
    }
}
