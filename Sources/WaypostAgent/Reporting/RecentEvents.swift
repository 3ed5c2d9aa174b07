import DequeModule
import Waypost
import WaypostMessages

/// The last events of this process, packed: one takes about 90 bytes, where the value itself takes several hundred.
struct RecentEvents {
    /// Packed events in order of their numbers, which follow one another.
    private struct Block {
        let first: Int64
        var count = 0
        var bytes: [UInt8] = []
    }

    /// In blocks, so that few pages of memory are held, and none of them by a single event.
    private static let blockBytes = 16_384
    private let limit: Int
    private var blocks: Deque<Block> = []
    private var count = 0

    /// - Parameter limit: How many events are kept.
    init(limit: Int) { self.limit = limit }

    mutating func append(_ event: LogEvent) {
        let packed = event.packed
        if blocks.last.map({ $0.bytes.count + packed.count > Self.blockBytes }) ?? true {
            blocks.append(Block(first: event.sequence))
            blocks[blocks.count - 1].bytes.reserveCapacity(max(packed.count, Self.blockBytes))
        }
        blocks[blocks.count - 1].bytes += packed
        blocks[blocks.count - 1].count += 1
        count += 1
        if let oldest = blocks.first?.count, count - oldest >= limit {
            blocks.removeFirst()
            count -= oldest
        }
    }

    /// The last events with a higher number than `sequence`, at most `maximum`, in the order of their numbers.
    func events(after sequence: Int64, maximum: Int, boot: String, process: Int64) -> [LogEvent] {
        var events: [LogEvent] = []
        for block in blocks where block.first + Int64(block.count) - 1 > sequence {
            var packed = PackedReader(block.bytes)
            for offset in 0..<block.count {
                events.append(
                    LogEvent(&packed, sequence: block.first + Int64(offset), boot: boot, process: process))
            }
        }
        return events.suffix(min(limit, maximum)).filter { $0.sequence > sequence }
    }
}

extension LogEvent {
    private static let longestText = Int(UInt16.max)

    /// All that differs from one event of a process to the next, but its number.
    fileprivate var packed: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(128)
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes += $0 }
        }
        func append(_ text: String?) {
            guard let text = text?.cut(to: Self.longestText) else { return }
            append(UInt16(text.utf8.count))
            bytes += text.utf8
        }
        bytes.append(level.rawValue)
        bytes.append((isError ? 1 : 0) | (url == nil ? 0 : 2) | (ref == nil ? 0 : 4))
        append(time)
        append(thread)
        append(tag)
        append(message)
        append(url)
        append(ref)
        return bytes
    }

    fileprivate init(_ packed: inout PackedReader, sequence: Int64, boot: String, process: Int64) {
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
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

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
