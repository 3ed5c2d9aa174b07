extension String {
    /// The text of bytes that may not be UTF-8: what is not becomes U+FFFD.
    ///
    /// The same as `String(decoding:as:)`, which takes much longer for such bytes.
    package init(repairing bytes: UnsafeBufferPointer<UInt8>) {
        if let utf8 = try? UTF8Span(validating: bytes.span) {
            self.init(copying: utf8)
            return
        }
        var repaired: [UInt8] = []
        repaired.reserveCapacity(bytes.count * 2)
        var check = UTF8Check()
        // Where the character begins that is being read.
        var start = 0
        var index = 0
        while index < bytes.count {
            if check.read(bytes[index]) == .invalid {
                repaired += replacement
                check = UTF8Check()
                // What ends a character too early may begin the next.
                if index == start { index += 1 }
                start = index
                continue
            }
            index += 1
            guard check.isComplete else { continue }
            repaired += bytes[start..<index]
            start = index
        }
        if start < bytes.count { repaired += replacement }
        self = String(decoding: repaired, as: UTF8.self)
    }
}

private let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]
