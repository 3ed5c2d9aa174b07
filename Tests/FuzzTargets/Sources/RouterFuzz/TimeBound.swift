import Foundation
import Waypost

/// Inputs of 64 KiB that are hard for someone: none may take more than 5 ms in a release build.
enum TimeBound {
    private static let bytes = 64 << 10
    /// In nanoseconds.
    private static let limit: Int64 = 5_000_000

    private static let units: [[UInt8]] =
        [
            "\u{301}", "\u{301}\u{316}", "\u{F73}\u{F81}", "\u{1100}\u{1161}", "\u{1F468}\u{200D}", "中", "/",
            "/a", "/..", "%", "%41", "%CC%81%CC%96", "&", "&a=b", "=", "?", "#", ":", "@", "[", "<",
            "<int:a>",
            "*", "**/", ":id/", "9", "\"", "\\", "{", "[", "1,", "\\ud83d\\ude00", "\\u0301\\u0316", " ", "a",
        ].map { Array($0.utf8) } + [[0], [0xC3], [0xED, 0xA0, 0x80]]

    /// What comes before the filling, so that it is read in another place.
    private static let prefixes = [
        "", "s://h/", "s://h/?", "s://h/?a=", "s://h/#", "https://", "[\"", "{\"", "{\"a\":\"",
    ]

    /// Where a text from outside is read.
    private static let readers: [(name: String, read: @Sendable ([UInt8]) -> Void)] = [
        (
            "RouteURL",
            { bytes in
                guard let url = try? RouteURL(String(decoding: bytes, as: UTF8.self)) as RouteURL else {
                    return
                }
                _ = (url.components, url.query.pairs, url.fragment)
            }
        ),
        (
            "RouteTable",
            { bytes in
                _ = try? TimeBound.routes.firstMatch(url: bytes.span)
                _ = TimeBound.routes.firstMatch(path: bytes.span)
            }
        ),
        ("RoutePattern", { _ = try? RoutePattern(String(decoding: $0, as: UTF8.self)) }),
        (
            "JSONValue",
            { bytes in
                guard let json = try? JSONValue(parsing: bytes) else { return }
                _ = json.serialized()
            }
        ),
    ]

    private static let routes: RouteTable = {
        var table = RouteTable()
        for (index, text) in ["s://h/:id", "s://h/<path:rest>", "s://h/a/**", "s://:h/a/:b/c", "/a/a/a/:x"]
            .enumerated()
        {
            guard let pattern = try? RoutePattern(text) as RoutePattern else { continue }
            _ = try? table.add(pattern, index: UInt32(index), replacing: true)
        }
        return table
    }()

    /// Checks every reader with every input; the first that takes too long is described.
    static func violation() -> String? {
        for (name, read) in readers {
            for prefix in prefixes {
                for unit in units {
                    // JSON refuses a broken text before anything else reads it; repairing one for an error takes longer.
                    let isBroken = String(validating: unit, as: UTF8.self) == nil
                    if isBroken, name != "JSONValue" { continue }
                    let input =
                        Array(prefix.utf8) + Array(repeatElement(unit, count: bytes / unit.count).joined())
                    // The best of three: what else the machine does is no fault of ours.
                    let time = (0..<3).map { _ in measure { read(input) } }.min() ?? 0
                    guard time > limit else { continue }
                    return "\(name) takes \(time / 1_000) µs for \(prefix)\(unit.prefix(12))…"
                }
            }
        }
        return nil
    }

    /// The time that this thread computed, in nanoseconds.
    private static func measure(_ body: () -> Void) -> Int64 {
        func now() -> Int64 {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        let began = now()
        body()
        return now() - began
    }
}
