/// A placeholder as it lies in the pattern's text, with its delimiters.
struct Placeholder: Sendable, Hashable {
    var start: UInt16 = 0
    var end: UInt16 = 0
    /// The name inside it; empty for `**`.
    var nameStart: UInt16 = 0
    var nameEnd: UInt16 = 0
    /// The converter's name inside it; empty without one.
    var converterStart: UInt16 = 0
    var converterEnd: UInt16 = 0

    /// None.
    init() {}

    /// Reads the placeholder that begins at `start`, in a component that ends at `end`.
    init(_ bytes: UnsafeBufferPointer<UInt8>, from start: Int, to end: Int) throws(PatternFault) {
        var nameStart = start &+ 1
        var nameEnd = nameStart
        let next: Int
        if bytes[start] == UInt8(ascii: ":") {
            while nameEnd < end, Self.isName(bytes[nameEnd]) { nameEnd &+= 1 }
            // In `:from-:to` the dash is what stands between, for a name could not be distinguished from it otherwise.
            if nameEnd < end, Self.begins(bytes[nameEnd]) {
                while nameEnd > nameStart, Self.mayStandBetween(bytes[nameEnd &- 1]) { nameEnd &-= 1 }
            }
            next = nameEnd
        } else {
            var colon = -1
            while nameEnd < end, bytes[nameEnd] != UInt8(ascii: ">") {
                if bytes[nameEnd] == UInt8(ascii: "<") || (bytes[nameEnd] == UInt8(ascii: ":") && colon >= 0)
                {
                    throw PatternFault(reason: .malformedPlaceholder, offset: nameEnd)
                }
                if bytes[nameEnd] == UInt8(ascii: ":") { colon = nameEnd }
                nameEnd &+= 1
            }
            guard nameEnd < end else { throw PatternFault(reason: .malformedPlaceholder, offset: start) }
            next = nameEnd &+ 1
            if colon >= 0 {
                converterStart = UInt16(truncatingIfNeeded: nameStart)
                converterEnd = UInt16(truncatingIfNeeded: colon)
                nameStart = colon &+ 1
            }
        }
        guard nameEnd > nameStart else { throw PatternFault(reason: .missingName, offset: start) }
        self.start = UInt16(truncatingIfNeeded: start)
        self.end = UInt16(truncatingIfNeeded: next)
        self.nameStart = UInt16(truncatingIfNeeded: nameStart)
        self.nameEnd = UInt16(truncatingIfNeeded: nameEnd)
    }

    /// Whether a placeholder begins with this byte.
    @inline(__always)
    static func begins(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ":") || byte == UInt8(ascii: "<") }

    private static func isName(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10 || byte >= 0x80
            || mayStandBetween(byte)
    }

    private static func mayStandBetween(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "-") || byte == UInt8(ascii: "_")
    }

    func nameBytes(in bytes: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(rebasing: bytes[Int(nameStart)..<Int(nameEnd)])
    }

    func name(in bytes: UnsafeBufferPointer<UInt8>) -> String {
        nameStart == nameEnd ? "**" : text(nameStart, nameEnd, in: bytes)
    }

    func converter(in bytes: UnsafeBufferPointer<UInt8>) -> String? {
        converterStart == converterEnd ? nil : text(converterStart, converterEnd, in: bytes)
    }

    private func text(_ start: UInt16, _ end: UInt16, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes[Int(start)..<Int(end)], as: UTF8.self)
    }
}
