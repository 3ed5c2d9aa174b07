import DequeModule
import Waypost
import WaypostMessages

/// The last events of this process, packed: one takes about 70 bytes, where the value itself takes several hundred, and
/// half as much when it says the same as the one before.
struct RecentEvents {
    /// All in one piece, so that no page of memory is held by a single event.
    private var bytes: Deque<UInt8> = []
    private var count = 0
    /// What the event before the oldest said, and what the newest says.
    private var (before, newest) = (EventText(), EventText())
    /// The number of the newest; they follow one another.
    private var last: Int64 = 0
    private let limit: Int
    /// In bytes; it grows by a sixteenth, and at least by this, where by itself it would grow by half.
    private var space = 0
    private static let leastGrowth = 8_192
    /// How many bytes a packed number may take.
    private static let longestNumber = 10

    /// A place from which can be read, so that what lies before need not be read.
    private struct Mark {
        var sequence: Int64
        /// Counted from the first byte ever.
        var place: Int
        /// What the event before it says.
        var before: EventText
    }

    /// One for each number that can be divided by ``markDistance``.
    private var marks: Deque<Mark> = []
    private static let markDistance: Int64 = 256
    /// The bytes that were here once.
    private var removedBytes = 0

    /// - Parameter limit: How many events are kept.
    init(limit: Int) { self.limit = limit }

    mutating func append(_ event: LogEvent) {
        if count == limit {
            let (size, text) = oldest
            if let text { before = text }
            bytes.removeFirst(size)
            removedBytes += size
            if let mark = marks.first, mark.sequence <= last - Int64(count) + 1 { marks.removeFirst() }
            count -= 1
        }
        let text = EventText(tag: event.tag, message: event.message)
        let packed = event.packed(saysTheSame: text == newest)
        if event.sequence % Self.markDistance == 0 {
            marks.append(
                Mark(sequence: event.sequence, place: removedBytes + bytes.count, before: newest))
        }
        newest = text
        let needed = bytes.count + packed.count + Self.longestNumber
        if needed > space {
            space = needed + max(Self.leastGrowth, bytes.count / 16)
            bytes.reserveCapacity(space)
        }
        bytes.append(number: packed.count)
        bytes += packed
        count += 1
        last = event.sequence
    }

    /// Its size in bytes, and what it says; nil for the same as the one before.
    private var oldest: (size: Int, text: EventText?) {
        var packed = PackedReader(bytes[...])
        let text = packed.skip()
        return (bytes.count - packed.rest.count, text)
    }

    /// The numbers of the events that are kept; nil when there are none.
    var numbers: ClosedRange<Int64>? { count > 0 ? last - Int64(count) + 1...last : nil }

    /// The last events with a higher number than `sequence`, at most `maximum`, in the order of their numbers.
    func events(after sequence: Int64, maximum: Int, boot: String, process: Int64) -> [LogEvent] {
        guard sequence < last else { return [] }
        return events(sequence + 1..<last + 1, maximum: maximum, boot: boot, process: process)
    }

    /// The last events with numbers in `range`, at most `maximum`, in the order of their numbers.
    func events(_ range: Range<Int64>, maximum: Int, boot: String, process: Int64) -> [LogEvent] {
        guard let numbers, maximum > 0 else { return [] }
        let wanted = Range(numbers).clamped(to: range).suffix(maximum)
        guard let first = wanted.first else { return [] }
        var (number, text, packed) = (numbers.lowerBound, before, PackedReader(bytes[...]))
        if let mark = mark(upTo: first) {
            (number, text) = (mark.sequence, mark.before)
            packed = PackedReader(bytes[(mark.place - removedBytes)...])
        }
        for _ in number..<first { text = packed.skip() ?? text }
        return wanted.map {
            let event = LogEvent(&packed, after: text, sequence: $0, boot: boot, process: process)
            text = EventText(tag: event.tag, message: event.message)
            return event
        }
    }

    /// The last mark that is not behind this number.
    private func mark(upTo number: Int64) -> Mark? {
        guard let first = marks.first, number >= first.sequence else { return nil }
        return marks[min(Int((number - first.sequence) / Self.markDistance), marks.count - 1)]
    }
}

/// What an event says.
private struct EventText: Equatable {
    var tag = ""
    var message = ""

    // By bytes: `==` of strings takes what looks the same for the same.
    static func == (one: EventText, other: EventText) -> Bool {
        one.message.utf8.elementsEqual(other.message.utf8) && one.tag.utf8.elementsEqual(other.tag.utf8)
    }
}

/// What an event has, in its first byte.
private struct EventTraits: OptionSet {
    let rawValue: UInt8

    static var isError: EventTraits { EventTraits(rawValue: 1) }
    static var hasURL: EventTraits { EventTraits(rawValue: 2) }
    static var hasRef: EventTraits { EventTraits(rawValue: 4) }
    static var hasTrace: EventTraits { EventTraits(rawValue: 16) }
    /// It says the same as the one before.
    static var isRepeated: EventTraits { EventTraits(rawValue: 8) }
}

extension LogEvent {
    private static let longestText = Int(UInt16.max)

    /// All that differs from one event of a process to the next, but its number.
    fileprivate func packed(saysTheSame: Bool) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(96)
        func append(_ text: String?) {
            guard let text = text?.cut(to: Self.longestText) else { return }
            bytes.append(number: text.utf8.count)
            bytes.append(text: text)
        }
        var traits: EventTraits = saysTheSame ? .isRepeated : []
        if isError { traits.insert(.isError) }
        if url != nil { traits.insert(.hasURL) }
        if ref != nil { traits.insert(.hasRef) }
        if trace != nil { traits.insert(.hasTrace) }
        bytes.append(traits.rawValue)
        if !saysTheSame {
            append(tag)
            append(message)
        }
        bytes.append(level.rawValue)
        bytes.append(number: time)
        bytes.append(number: thread)
        append(url)
        append(ref)
        append(trace)
        return bytes
    }

    /// - Parameter before: What the event before it says.
    fileprivate init(
        _ packed: inout PackedReader, after before: EventText, sequence: Int64, boot: String, process: Int64
    ) {
        _ = packed.number()
        let traits = EventTraits(rawValue: packed.byte())
        let text = packed.text(traits) ?? before
        let level = LogLevel(rawValue: packed.byte()) ?? .warning
        self.init(
            time: packed.number(), level: level, tag: text.tag, boot: boot, sequence: sequence,
            process: process, thread: packed.number(), message: text.message,
            isError: traits.contains(.isError))
        if traits.contains(.hasURL) { url = packed.text() }
        if traits.contains(.hasRef) { ref = packed.text() }
        if traits.contains(.hasTrace) { trace = packed.text() }
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

    /// Goes on behind the next one; gives what it says, nil for the same as the one before.
    mutating func skip() -> EventText? {
        let size = Int(number())
        let behind = rest.dropFirst(size)
        defer { rest = behind }
        return text(EventTraits(rawValue: byte()))
    }

    /// What an event with these traits says; nil for the same as the one before.
    mutating func text(_ traits: EventTraits) -> EventText? {
        traits.contains(.isRepeated) ? nil : EventText(tag: text(), message: text())
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
