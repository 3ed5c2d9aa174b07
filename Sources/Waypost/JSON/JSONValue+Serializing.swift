extension JSONValue {
    /// The compact JSON text as bytes: keys sorted, slashes not escaped, no white space.
    ///
    /// Equal values give equal bytes. A number that is not finite, which no parsed value holds, becomes `null`.
    public func serialized() -> [UInt8] {
        var bytes = JSONBytes(reserving: 256)
        JSONText.append(self, to: &bytes)
        return bytes.array
    }

    /// The compact JSON text, keys sorted.
    public var text: String {
        String(decoding: serialized(), as: UTF8.self)
    }

    /// The JSON text for people: two spaces a level, keys sorted.
    package var prettyText: String {
        var bytes = JSONBytes(reserving: 256)
        JSONText.appendPretty(self, indent: 0, to: &bytes)
        return String(decoding: bytes.array, as: UTF8.self)
    }
}

/// How values become bytes; shared by the serializer and the writer.
enum JSONText {
    static func append(_ value: JSONValue, to bytes: inout JSONBytes) {
        switch value {
        case .array(let elements):
            bytes.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                append(element, to: &bytes)
            }
            bytes.append(UInt8(ascii: "]"))
        case .object(let members):
            bytes.append(UInt8(ascii: "{"))
            for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                append(member.key, to: &bytes)
                bytes.append(UInt8(ascii: ":"))
                append(member.value, to: &bytes)
            }
            bytes.append(UInt8(ascii: "}"))
        default: appendScalar(value, to: &bytes)
        }
    }

    static func appendPretty(_ value: JSONValue, indent: Int, to bytes: inout JSONBytes) {
        func newLine(_ level: Int) {
            bytes.append(UInt8(ascii: "\n"))
            for _ in 0..<level { bytes.append(text: "  ") }
        }
        switch value {
        case .array(let elements) where !elements.isEmpty:
            bytes.append(UInt8(ascii: "["))
            for (place, element) in elements.enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                appendPretty(element, indent: indent + 1, to: &bytes)
            }
            newLine(indent)
            bytes.append(UInt8(ascii: "]"))
        case .object(let members) where !members.isEmpty:
            bytes.append(UInt8(ascii: "{"))
            for (place, member) in members.sorted(by: { $0.key < $1.key }).enumerated() {
                if place > 0 { bytes.append(UInt8(ascii: ",")) }
                newLine(indent + 1)
                append(member.key, to: &bytes)
                bytes.append(text: ": ")
                appendPretty(member.value, indent: indent + 1, to: &bytes)
            }
            newLine(indent)
            bytes.append(UInt8(ascii: "}"))
        default: append(value, to: &bytes)
        }
    }

    private static func appendScalar(_ value: JSONValue, to bytes: inout JSONBytes) {
        switch value {
        case .bool(let flag): append(flag, to: &bytes)
        case .int(let number): append(number, to: &bytes)
        case .double(let number): append(number, to: &bytes)
        case .string(let text): append(text, to: &bytes)
        default: bytes.append(text: "null")
        }
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
            var first = 0
            while true {
                let place = buffer[first...].firstIndex(where: mustEscape) ?? buffer.count
                bytes.append(UnsafeBufferPointer(rebasing: buffer[first..<place]))
                guard place < buffer.count else { break }
                escape(buffer[place], to: &bytes)
                first = place + 1
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

extension JSONValue {
    /// The value as a URL has it: a text as it is, anything else as JSON.
    var plainText: String { if case .string(let text) = self { text } else { text } }
}
