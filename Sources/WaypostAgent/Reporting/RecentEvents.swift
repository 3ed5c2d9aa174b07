import DequeModule
import Waypost
import WaypostMessages

/// The last events of this process, packed: one takes about 70 bytes, where the value itself takes several hundred.
struct RecentEvents {
    /// All in one piece, so that no page of memory is held by a single event.
    private var bytes: Deque<UInt8> = []
    private var count = 0
    /// The number of the newest; they follow one another.
    private var last: Int64 = 0
    private let limit: Int
    /// In bytes; it grows by an eighth, and at least by this, where by itself it would grow by half.
    private var space = 0
    private static let leastGrowth = 32_768
    /// How many bytes a packed number may take.
    private static let longestNumber = 10

    /// - Parameter limit: How many events are kept.
    init(limit: Int) { self.limit = limit }

    mutating func append(_ event: LogEvent) {
        if count == limit {
            bytes.removeFirst(oldestSize)
            count -= 1
        }
        let packed = event.packed
        let needed = bytes.count + packed.count + Self.longestNumber
        if needed > space {
            space = needed + max(Self.leastGrowth, bytes.count / 8)
            bytes.reserveCapacity(space)
        }
        bytes.append(number: packed.count)
        bytes += packed
        count += 1
        last = event.sequence
    }

    /// In bytes.
    private var oldestSize: Int {
        var packed = PackedReader(bytes[...])
        packed.skip()
        return bytes.count - packed.rest.count
    }

    /// The last events with a higher number than `sequence`, at most `maximum`, in the order of their numbers.
    func events(after sequence: Int64, maximum: Int, boot: String, process: Int64) -> [LogEvent] {
        let wanted = min(count, maximum, Int(clamping: last - sequence))
        guard wanted > 0 else { return [] }
        var packed = PackedReader(bytes[...])
        for _ in wanted..<count { packed.skip() }
        return (last - Int64(wanted) + 1...last).map {
            LogEvent(&packed, sequence: $0, boot: boot, process: process)
        }
    }
}

extension LogEvent {
    private static let longestText = Int(UInt16.max)

    /// All that differs from one event of a process to the next, but its number.
    fileprivate var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96)
        func append(_ text: String?) {
            guard let text = text?.cut(to: Self.longestText) else { return }
            bytes.append(number: text.utf8.count)
            bytes.append(text: text)
        }
        bytes.append(level.rawValue)
        bytes.append((isError ? 1 : 0) | (url == nil ? 0 : 2) | (ref == nil ? 0 : 4))
        bytes.append(number: time)
        bytes.append(number: thread)
        append(tag)
        append(message)
        append(url)
        append(ref)
        return bytes
    }

    fileprivate init(_ packed: inout PackedReader, sequence: Int64, boot: String, process: Int64) {
        _ = packed.number()
        let level = LogLevel(rawValue: packed.byte()) ?? .warning
        let flags = packed.byte()
        self.init(
            time: packed.number(), level: level, tag: "", boot: boot, sequence: sequence, process: process,
            thread: packed.number(), message: "", isError: flags & 1 != 0)
        tag = packed.text()
        message = packed.text()
        if flags & 2 != 0 { url = packed.text() }
        if flags & 4 != 0 { ref = packed.text() }
    }
}

extension RangeReplaceableCollection<UInt8> {
    /// Seven bits in a byte, the lowest first; all but the last have the highest bit set.
    fileprivate mutating func append(number: some BinaryInteger) {
        var rest = UInt64(truncatingIfNeeded: number)
        while rest > 0x7f {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }
}

/// Reads packed events one after the other.
private struct PackedReader {
    private(set) var rest: Slice<Deque<UInt8>>

    init(_ bytes: Slice<Deque<UInt8>>) { rest = bytes }

    /// Goes on behind the next one.
    mutating func skip() {
        let size = Int(number())
        rest = rest.dropFirst(size)
    }

    mutating func byte() -> UInt8 { rest.popFirst() ?? 0 }

    mutating func number() -> Int64 {
        var (number, shift): (UInt64, UInt64) = (0, 0)
        while true {
            let byte = byte()
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return Int64(truncatingIfNeeded: number) }
            shift += 7
        }
    }

    mutating func text() -> String {
        let size = Int(number())
        defer { rest = rest.dropFirst(size) }
        return String(decoding: rest.prefix(size), as: UTF8.self)
    }
}
