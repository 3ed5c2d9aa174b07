import Glibc
import MQTTLink
import TestSupport
import Testing
import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// No input takes more than its share of time: four times the bytes may take eight times as long, and no more.
///
/// What was quadratic in combining marks let one sender hold up all others for seconds.
@Suite(.serialized) struct `Crafted inputs` {
    /// A way to fill so many bytes with something that is hard for someone.
    private static let fillings: [(name: String, unit: [UInt8])] = [
        ("combining marks", Array("\u{301}".utf8)),
        ("marks out of order", Array("\u{301}\u{316}".utf8)),
        ("marks in disguise", Array("\u{F73}\u{F81}".utf8)),
        ("Hangul", Array("\u{1100}\u{1161}".utf8)),
        ("flags", Array("\u{1F1E9}".utf8)),
        ("joiners", Array("\u{1F468}\u{200D}".utf8)),
        ("control characters", [0x01]),
        ("percent signs", Array("%".utf8)), ("percent escapes", Array("%41".utf8)),
        ("slashes", Array("/".utf8)), ("short components", Array("/a".utf8)), ("dots", Array("/..".utf8)),
        ("ampersands", Array("&".utf8)), ("pairs", Array("&a=b".utf8)), ("equals signs", Array("=".utf8)),
        ("colons", Array(":".utf8)), ("at signs", Array("@".utf8)), ("hashes", Array("#".utf8)),
        ("secrets", Array("token=a&".utf8)), ("nested URLs", Array("?u=s://h".utf8)),
        ("digits", Array("9".utf8)), ("quotes", Array("\"".utf8)), ("backslashes", Array("\\".utf8)),
        ("braces", Array("{".utf8)), ("brackets", Array("[".utf8)), ("commas", Array("1,".utf8)),
        ("stars", Array("*".utf8)), ("angle brackets", Array("<".utf8)), ("spaces", Array(" ".utf8)),
        ("broken UTF-8", [0xC3]), ("surrogates", Array(#"\ud83d\ude00"#.utf8)),
        ("escapes", Array(#"\u0301"#.utf8)), ("text", Array("abcdefgh".utf8)),
        ("line ends", Array("\r\n".utf8)),
    ]

    /// So many bytes of a filling, and what a reader may be handed of them.
    private struct Input {
        let bytes: [UInt8]
        let text: String
        /// The text as it stands in JSON.
        let quoted: String

        init(_ unit: [UInt8], _ count: Int) {
            bytes = Array(repeatElement(unit, count: count / unit.count + 1).joined())
            text = String(decoding: bytes, as: UTF8.self)
            quoted = JSONValue.string(text).text
        }
    }

    private static let limits: JSONLimits = {
        // Wider than the protocol's, so that the readers behind them are reached too.
        var limits = JSONLimits.protocolDefaults
        limits.maximumStringBytes = 1 << 20
        limits.maximumKeys = 1 << 20
        return limits
    }()

    /// What an agent does with a payload on `cmd`.
    private static func command(_ bytes: [UInt8]) {
        guard let payload = try? CommandPayload(stored: bytes, limits: limits) else { return }
        _ = try? Command.id(in: payload.json)
        do throws(Rejection) {
            let command = try Command(id: "a", fields: payload.json, arrival: 1_795_216_999_000)
            _ = command.encoded()
        } catch {
            _ = Reply(id: "a", code: error.code, at: 1, detail: error.detail.cut(to: 2_048)).encoded()
        }
        _ = payload.json.serialized()
    }

    private static let redaction = Redaction(further: ["cardNumber"])
    private static let router: Router = {
        let router = Router(
            configuration: RouterConfiguration(allowedSchemes: ["scheme", "s", "http", "https"]))
        for name in ["demo", ":id", ":id/v:major.html", "<path:rest>", "**"] {
            _ = try? router.register("scheme://router/\(name)", idempotent: true) { _ in .opened() }
        }
        return router
    }()

    /// Every reader of what comes from outside, with the filling in the place where it reads it.
    private static let readers: [(name: String, read: @Sendable (Input) -> Void)] = [
        ("a payload", { command($0.bytes) }),
        ("a key", { command(Array("{\($0.quoted):1}".utf8)) }),
        ("type", { command(Array("{\"id\":\"a\",\"type\":\($0.quoted)}".utf8)) }),
        ("id", { command(Array("{\"id\":\($0.quoted),\"type\":\"ping\"}".utf8)) }),
        ("lane", { command(Array("{\"id\":\"a\",\"type\":\"ping\",\"lane\":\($0.quoted)}".utf8)) }),
        ("trace", { _ = TraceParent.isValid($0.text) }),
        (
            "log level",
            { command(Array("{\"id\":\"a\",\"type\":\"log\",\"for\":1,\"level\":\($0.quoted)}".utf8)) }
        ),
        ("cancel", { command(Array("{\"id\":\"a\",\"type\":\"cancel\",\"target\":\($0.quoted)}".utf8)) }),
        (
            "a topic",
            { input in
                _ = Topics.standard.inbound("waypost/v1/" + input.text)
                _ = Topics.standard.inbound("waypost/v1/k1/cmd/" + input.text)
                _ = Topics.standard.outbound("waypost/v1/k1/reply/" + input.text)
            }
        ),
        ("a quoted text", { _ = $0.text.cut(to: 256).debugDescription }),
        ("masking", { _ = redaction.masked("a=b?" + $0.text) }),
        (
            "a URL",
            { input in
                _ = try? RouteURL(input.text) as RouteURL
                if let url = try? RouteURL("s://h/p" + input.text) as RouteURL {
                    _ = url.components
                    _ = url.query.pairs
                }
                _ = try? RouteURL("s://h/p?" + input.text) as RouteURL
                _ = try? RouteURL("https://" + input.text) as RouteURL
            }
        ),
        (
            "a route",
            { input in
                _ = router.resolve("scheme://router/" + input.text)
                _ = router.resolve("scheme://" + input.text)
            }
        ),
        ("a pattern", { _ = try? RoutePattern($0.text) }),
        (
            "a map",
            { input in
                let rules = MapDocument.Rules(maximumBytes: 1 << 20, limits: limits, trusted: .none)
                _ = try? MapDocument(input.bytes, isPatch: false, rules)
                for entry in [
                    "{\"routerType\":1,\"orginPath\":\(input.quoted),\"targetPath\":\"s://h\"}",
                    "{\"routerType\":1,\"orginPath\":\"s://h\",\"targetPath\":\(input.quoted)}",
                    "{\"routerType\":2,\"path\":\"s://h\",\"className\":\(input.quoted)}",
                    "{\"routerType\":1,\"orginPath\":\"s://h\",\"targetPath\":\"s://i\",\"params\":{\(input.quoted):1}}",
                ] {
                    _ = try? MapDocument(Array("[\(entry)]".utf8), isPatch: true, rules)
                }
            }
        ),
        (
            "an envelope",
            { input in
                command(Array("{\"payloadType\":\(input.quoted),\"payload\":\"\",\"signatures\":[]}".utf8))
                command(
                    Array("{\"payloadType\":\"a/json\",\"payload\":\(input.quoted),\"signatures\":[]}".utf8))
            }
        ),
        (
            "a report",
            { input in
                let report =
                    "{\"code\":404,\"name\":\(input.quoted),\"where\":\(input.quoted),\"detail\":\(input.quoted),\"first\":1,\"last\":1}"
                guard let json = try? JSONValue(parsing: Array(report.utf8), limits: limits) else { return }
                _ = try? FailureReport(json)
            }
        ),
    ]

    /// The time that this thread has computed, in nanoseconds: what others do beside it does not count.
    private static func processorTime() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    private static func best(of runs: Int, _ body: () -> Void) -> Int64 {
        (0..<runs).map { _ in
            let began = processorTime()
            body()
            return processorTime() - began
        }.min() ?? 0
    }

    /// Bytes of an input, and how many nanoseconds none of them may take.
    #if DEBUG
    // Without optimisation what is linear takes long too: a quarter of the bytes shows the same.
    private static let (size, longest) = (16 << 10, Int64.max)
    #else
    private static let (size, longest) = (64 << 10, Int64(5_000_000))
    #endif

    /// In nanoseconds: what takes less is not measured further.
    private static let fast: Int64 = 2_000_000

    @Test(arguments: readers.indices)
    func `take time in proportion to their length`(reader: Int) async {
        let (name, read) = Self.readers[reader]
        for (filling, unit) in Self.fillings {
            // Other tests share the thread.
            await Task.yield()
            let (small, large) = (Input(unit, Self.size / 4), Input(unit, Self.size))
            // The first call sets up what is set up once.
            read(small)
            var long = Self.best(of: 1) { read(large) }
            guard long > Self.fast else { continue }
            var ratio = 0.0
            // Another process may have emptied the caches; what is really quadratic is so each time.
            for _ in 0..<5 {
                let short = Self.best(of: 2) { read(small) }
                long = min(long, Self.best(of: 1) { read(large) })
                ratio = Double(long) / Double(max(short, 100_000))
                if ratio <= 8, long <= Self.longest { break }
            }
            #expect(ratio <= 8, "\(name), \(filling): \(ratio) times as long for four times the bytes")
            #expect(long <= Self.longest, "\(name), \(filling): \(Self.size) bytes take \(long / 1_000) µs")
        }
    }
}
