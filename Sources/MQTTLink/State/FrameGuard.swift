/// Looks at the headers of packets before libmosquitto reads them.
///
/// The library allocates what a header announces, up to 256 MiB, and has no limit of its own. So the loop peeks
/// at the socket, and lets it read only packets whose header was seen here. It reads one packet per call (see
/// `CallbackSink`), so the count of packets is enough to know where the next header begins.
///
/// With TLS there is nothing to peek at; there a v5 broker keeps to the maximum packet size of the CONNECT.
struct FrameGuard: Sendable {
    enum Finding: Sendable, Equatable {
        /// There are packets to read.
        case admitted
        /// The next header is not there in full; so many bytes are.
        case incomplete(Int)
        case tooLarge(Int)
        case malformed(String)
    }

    private let limit: Int
    /// The packets that were let through and are not read in full yet: whether the library is silent about them.
    private var ahead: [Bool] = []

    init(limit: Int) { self.limit = limit }

    /// Nothing is known of the next byte: look before reading.
    var mustLook: Bool { ahead.isEmpty }

    /// What waits in the socket, from the beginning of a packet on.
    mutating func saw(_ bytes: UnsafeRawBufferPointer) -> Finding {
        precondition(ahead.isEmpty, "looked at \(bytes.count) bytes with \(ahead.count) packets not read")
        var start = 0
        while start < bytes.count {
            var length = 0
            var shift = 0
            var position = start + 1
            while true {
                if position == bytes.count { return ahead.isEmpty ? .incomplete(bytes.count) : .admitted }
                if shift == 28 { return afterGoodOnes(.malformed("a length of more than four bytes")) }
                let byte = bytes[position]
                length |= Int(byte & 0x7F) << shift
                shift += 7
                position += 1
                if byte & 0x80 == 0 { break }
            }
            let type = bytes[start] >> 4
            guard Self.expected.contains(type) else {
                return afterGoodOnes(.malformed("a packet of type \(type)"))
            }
            if position - start + length > limit {
                return afterGoodOnes(.tooLarge(position - start + length))
            }
            ahead.append(type == Self.pingResponse)
            start = position + length
        }
        return ahead.isEmpty ? .incomplete(0) : .admitted
    }

    /// A bad packet behind good ones waits its turn: those are read first.
    private func afterGoodOnes(_ fault: Finding) -> Finding { ahead.isEmpty ? fault : .admitted }

    /// The library was let read, and reported so many packets; whether it got any further.
    mutating func read(reported: Int) -> Bool {
        var left = reported
        var count = 0
        // Silent ones in front of a reported one were read as well.
        while left > 0, count < ahead.count {
            if !ahead[count] { left -= 1 }
            count += 1
        }
        // A silent one in front is two bytes that were there in full, so any read has taken it.
        if reported == 0, ahead.first == true { count = 1 }
        ahead.removeFirst(count)
        return reported > 0 || count > 0
    }

    private static let pingResponse: UInt8 = 13
    /// CONNACK, PUBLISH, PUBACK, SUBACK, PINGRESP, DISCONNECT: we neither use QoS 2 nor unsubscribe nor
    /// authenticate in steps, so nothing else has a reason to come.
    private static let expected: Set<UInt8> = [2, 3, 4, 9, pingResponse, 14]
}
