import DequeModule
import Waypost
import WaypostMessages

/// The last events of this process, packed: one takes about 90 bytes, where the value itself takes several hundred.
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

    /// - Parameter limit: How many events are kept.
    init(limit: Int) { self.limit = limit }

    mutating func append(_ event: LogEvent) {
        if count == limit {
            bytes.removeFirst(oldestSize)
            count -= 1
        }
        let packed = event.packed
        if bytes.count + packed.count > space {
            space = bytes.count + packed.count + max(Self.leastGrowth, bytes.count / 8)
            bytes.reserveCapacity(space)
        }
        bytes += packed
        count += 1
        last = event.sequence
    }

    /// In bytes.
    private var oldestSize: Int {
        var packed = PackedReader(bytes.prefix(MemoryLayout<UInt32>.size))
        return Int(packed.number() as UInt32)
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

    /// All that differs from one event of a process to the next, but its number; in front of it its size.
    fileprivate var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        func append(_ text: String?) {
            guard let text = text?.cut(to: Self.longestText) else { return }
            append(UInt16(text.utf8.count))
            bytes.append(text: text)
        }
        append(UInt32(0))
        bytes.append(level.rawValue)
        bytes.append((isError ? 1 : 0) | (url == nil ? 0 : 2) | (ref == nil ? 0 : 4))
        append(time)
        append(thread)
        append(tag)
        append(message)
        append(url)
        append(ref)
        withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { bytes.replaceSubrange(..<$0.count, with: $0) }
        return bytes
    }

    fileprivate init(_ packed: inout PackedReader, sequence: Int64, boot: String, process: Int64) {
        _ = packed.number() as UInt32
        let level = LogLevel(rawValue: packed.number()) ?? .warning
        let flags: UInt8 = packed.number()
        self.init(
            time: packed.number(), level: level, tag: "", boot: boot, sequence: sequence, process: process,
            thread: packed.number(), message: "", isError: flags & 1 != 0)
        tag = packed.text()
        message = packed.text()
        if flags & 2 != 0 { url = packed.text() }
        if flags & 4 != 0 { ref = packed.text() }
    }
}

/// Reads packed events one after the other.
private struct PackedReader {
    private var rest: Slice<Deque<UInt8>>

    init(_ bytes: Slice<Deque<UInt8>>) { rest = bytes }

    /// Goes on behind the next one.
    mutating func skip() {
        var next = self
        rest = rest.dropFirst(Int(next.number() as UInt32))
    }

    mutating func number<Number: FixedWidthInteger>() -> Number {
        let size = Number.bitWidth / 8
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size).reversed().reduce(0) { $0 << 8 | Number($1) }
    }

    mutating func text() -> String {
        let size = Int(number() as UInt16)
        defer { rest = rest.dropFirst(size) }
        return String(decoding: rest.prefix(size), as: UTF8.self)
    }
}
