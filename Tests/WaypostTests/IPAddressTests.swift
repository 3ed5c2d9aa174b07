#if canImport(Glibc)
import Glibc
import TestSupport
import Testing

@testable import Waypost

/// What the C library says here is what must be said everywhere.
@Suite struct `An IP address` {
    private func expectSame(_ text: String, _ seed: UInt64? = nil) {
        var address = in6_addr()
        var copy = text
        copy.withUTF8 { bytes in
            #expect(
                IPAddress.isIPv4(bytes[...]) == (inet_pton(AF_INET, text, &address) == 1),
                "\(text), seed \(seed as Any)")
            #expect(
                IPAddress.isIPv6(bytes[...]) == (inet_pton(AF_INET6, text, &address) == 1),
                "\(text), seed \(seed as Any)")
        }
    }

    @Test(arguments: [
        "127.0.0.1", "255.255.255.255", "256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4", "0.0.0.0", "1.2.3.",
        ".1.2.3",
        "1.2.3.4 ", "1.2.3.0x4", "", ".", "...", "::", "::1", "1::", ":1", "1:", ":::", "1::2::3",
        "1:2:3:4:5:6:7:8",
        "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::2:3:4:5:6:7:8", "1::3:4:5:6:7:8", "1:2:3:4:5:6:7::",
        "::1:2:3:4:5:6:7:8", "12345::", "g::", "::ffff:1.2.3.4", "::1.2.3.4:5", "1:2:3:4:5:6:1.2.3.4",
        "1:2:3:4:5:6:7:1.2.3.4", "1.2.3.4::", "fe80::1%eth0", "::FFFF", "1:::2", "::01.2.3.4",
    ])
    func `is read as inet_pton reads it`(_ text: String) { expectSame(text) }

    @Test func `is read as inet_pton reads it, whatever stands there`() {
        let seed = UInt64.random(in: .min ... .max)
        var generator = SeededGenerator(seed: seed)
        let parts = [
            "1", "0", "25", "255", "256", "f", "ffff", "abcde", ":", ":", ":", "::", ".", ".", "01", "g",
        ]
        for _ in 0..<20_000 {
            let count = Int.random(in: 1...17, using: &generator)
            expectSame((0..<count).map { _ in parts.randomElement(using: &generator) ?? "" }.joined(), seed)
        }
    }
}
#endif
