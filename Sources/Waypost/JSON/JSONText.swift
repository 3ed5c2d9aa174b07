/// How values become bytes; shared by the serializer and the writer.
enum JSONText {
    /// - Parameter indent: How deep the value lies in a text for people; nil for a compact one.
    static func append(_ value: JSONValue, indent: Int? = nil, to bytes: inout JSONBytes) {
        switch value {
        case .null: bytes.append(text: "null")
        case .bool(let flag): append(flag, to: &bytes)
        case .int(let number): append(number, to: &bytes)
        case .double(let number): append(number, to: &bytes)
        case .string(let text): append(text, to: &bytes)
        case .array(let elements):
            append(elements, in: "[]", indent, to: &bytes) { element, indent, bytes in
                append(element, indent: indent, to: &bytes)
            }
        case .object(let members):
            append(members.sorted { $0.key < $1.key }, in: "{}", indent, to: &bytes) {
                append($0.key, to: &$2)
                $2.append(UInt8(ascii: ":"))
                if $1 != nil { $2.append(UInt8(ascii: " ")) }
                append($0.value, indent: $1, to: &$2)
            }
        }
    }

    private static func append<Item>(
        _ items: [Item], in brackets: StaticString, _ indent: Int?,
        to bytes: inout JSONBytes, _ item: (Item, Int?, inout JSONBytes) -> Void
    ) {
        let inner = indent.map { $0 + 1 }
        func beginLine(_ indent: Int?) {
            guard let indent, !items.isEmpty else { return }
            bytes.append(UInt8(ascii: "\n"))
            for _ in 0..<indent { bytes.append(text: "  ") }
        }
        bytes.append(brackets.utf8Start[0])
        var place = 0
        while place < items.count {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            beginLine(inner)
            item(items[place], inner, &bytes)
            place += 1
        }
        beginLine(indent)
        bytes.append(brackets.utf8Start[1])
    }

    static func append(_ flag: Bool, to bytes: inout JSONBytes) {
        bytes.append(text: flag ? "true" : "false")
    }

    static func append(_ number: Int64, to bytes: inout JSONBytes) {
        // Digit by digit from the last; 19 and a sign are the most.
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { text in
            var first = text.count
            var rest = number.magnitude
            repeat {
                first -= 1
                text[first] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                rest /= 10
            } while rest > 0
            if number < 0 {
                first -= 1
                text[first] = UInt8(ascii: "-")
            }
            bytes.append(UnsafeBufferPointer(rebasing: text[first...]))
        }
    }

    static func append(_ number: Double, to bytes: inout JSONBytes) {
        guard number.isFinite else { return bytes.append(text: "null") }
        var text = number.description
        text.withUTF8 { bytes.append($0) }
    }

    static func append(_ text: String, to bytes: inout JSONBytes) {
        bytes.append(UInt8(ascii: "\""))
        var text = text
        text.withUTF8 { buffer in
            // By pointer: searching a slice takes several times as long where generic code is not specialized.
            guard let text = buffer.baseAddress else { return }
            let end = buffer.count
            var place = 0
            while place < end {
                let first = place
                while place < end, !mustEscape(text[place]) { place += 1 }
                bytes.append(UnsafeBufferPointer(start: text + first, count: place - first))
                guard place < end else { return }
                escape(text[place], to: &bytes)
                place += 1
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    static func mustEscape(_ byte: UInt8) -> Bool { byte < 0x20 || byte == 0x22 || byte == 0x5C }

    private static func escape(_ byte: UInt8, to bytes: inout JSONBytes) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x0A: bytes.append(UInt8(ascii: "n"))
        case 0x0D: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0C: bytes.append(UInt8(ascii: "f"))
        case 0x22, 0x5C: bytes.append(byte)
        default:
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(text: "u00")
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }
}

/// The bytes of a JSON text while it is written.
///
/// An array would look with each byte whether it is shared, which takes longer than the writing. Each write here
/// stands behind a look at the capacity.
struct JSONBytes: ~Copyable {
    private var start: UnsafeMutablePointer<UInt8>
    private var capacity: Int
    private var count = 0

    init(reserving capacity: Int) {
        self.capacity = max(capacity, 1)
        start = .allocate(capacity: self.capacity)
    }

    deinit { start.deallocate() }

    /// A copy of what was written.
    var array: [UInt8] { Array(UnsafeBufferPointer(start: start, count: count)) }

    mutating func append(_ byte: UInt8) {
        if count == capacity { grow(by: 1) }
        start[count] = byte
        count += 1
    }

    mutating func append(_ bytes: UnsafeBufferPointer<UInt8>) {
        guard let first = bytes.baseAddress else { return }
        if capacity - count < bytes.count { grow(by: bytes.count) }
        (start + count).update(from: first, count: bytes.count)
        count += bytes.count
    }

    mutating func append(text: StaticString) { text.withUTF8Buffer { append($0) } }

    private mutating func grow(by more: Int) {
        capacity = max(2 * capacity, count + more)
        let larger = UnsafeMutablePointer<UInt8>.allocate(capacity: capacity)
        larger.update(from: start, count: count)
        start.deallocate()
        start = larger
    }
}
