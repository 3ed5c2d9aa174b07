import Waypost

@testable import WaypostAgent
@testable import WaypostMessages

/// Long inputs that are hard for a reader, in each place where it reads them.
enum CraftedInputs {
    /// A way to fill so many bytes with something that is hard for someone.
    static let fillings: [(name: String, unit: [UInt8])] = [
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
        ("secrets", Array("token=a&".utf8)), ("headers", Array("authorization:a ".utf8)),
        ("authorities", Array("://a@".utf8)), ("nested URLs", Array("?u=s://h".utf8)),
        ("digits", Array("9".utf8)), ("quotes", Array("\"".utf8)), ("backslashes", Array("\\".utf8)),
        ("braces", Array("{".utf8)), ("brackets", Array("[".utf8)), ("commas", Array("1,".utf8)),
        ("stars", Array("*".utf8)), ("angle brackets", Array("<".utf8)), ("spaces", Array(" ".utf8)),
        ("broken UTF-8", [0xC3]), ("surrogates", Array(#"\ud83d\ude00"#.utf8)),
        ("escapes", Array(#"\u0301"#.utf8)), ("text", Array("abcdefgh".utf8)),
        ("line ends", Array("\r\n".utf8)),
    ]

    /// Where a filling stands.
    struct Place: Sendable {
        let name: String
        let target: FuzzTarget?
        /// `…` is the filling; between quotes it is escaped as in JSON.
        let text: String
        let read: @Sendable ([UInt8]) -> Void

        fileprivate init(_ target: FuzzTarget, _ text: String) {
            name = "\(target.rawValue) \(text)"
            self.target = target
            self.text = text
            read = { target.read($0) }
        }

        fileprivate init(_ name: String, _ text: String, _ read: @escaping @Sendable (String) -> Void) {
            self.name = "\(name) \(text)"
            target = nil
            self.text = text
            self.read = { bytes in
                guard let text = String(validating: bytes, as: UTF8.self) else { return }
                read(text)
            }
        }

        /// In nanoseconds, for 64 KiB in a release build.
        var timeLimit: Int64 { target?.timeLimit ?? TimeBound.limit }

        /// So many bytes of the filling, and what is around them.
        func input(_ unit: [UInt8], _ count: Int) -> [UInt8] {
            var unit = unit
            if text.contains("\"…") || text.contains("…\"") {
                unit = JSONValue.string(String(decoding: unit, as: UTF8.self)).serialized().dropLast()
                unit.removeFirst()
            }
            let parts = text.split(separator: "…", omittingEmptySubsequences: false).map { Array($0.utf8) }
            let share = count / (parts.count - 1)
            let filling = TimeBound.repeated(unit, count: share / unit.count + 1)
            return Array(parts.joined(separator: filling))
        }
    }

    private static let router: Router = {
        let router = Router(
            configuration: RouterConfiguration(allowedSchemes: ["scheme", "s", "http", "https"]))
        for name in ["demo", ":id", ":id/v:major.html", "<path:rest>", "**"] {
            _ = try? router.register("scheme://router/\(name)", idempotent: true) { _ in .opened() }
        }
        return router
    }()

    static let places: [Place] =
        [
            "…", #"{"…":1}"#, #"{"id":"a","type":"…"}"#, #"{"id":"…","type":"ping"}"#,
            #"{"id":"a","type":"ping","…":1}"#,
            #"{"id":"a","type":"ping","lane":"…"}"#, #"{"id":"a","type":"log","for":1,"level":"…"}"#,
            #"{"id":"a","type":"cancel","target":"…"}"#, #"{"id":"a","type":"open","url":"…"}"#,
            #"{"payloadType":"…","payload":"","signatures":[]}"#,
            #"{"payloadType":"a/json","payload":"…","signatures":[]}"#,
        ].map { Place(.command, $0) }
        + ["…", "[…", #"["…"]"#].map { Place(.json, $0) }
        + [
            "…", #"{"type":"…","entries":[]}"#, #"{"routerType":"…"}"#,
            #"{"routerType":1,"orginPath":"…","targetPath":"s://h"}"#,
            #"{"routerType":1,"orginPath":"s://h","targetPath":"…"}"#,
            #"{"routerType":1,"orginPath":"s://h/…","targetPath":"s://i"}"#,
            #"{"routerType":2,"path":"…","className":"c"}"#,
            #"{"routerType":2,"path":"s://h","className":"…"}"#,
            #"{"routerType":1,"orginPath":"s://h","targetPath":"s://i","params":{"…":1}}"#,
            #"{"routerType":1,"orginPath":"s://h/:id/…","targetPath":"s://i"}"#,
            #"{"routerType":1,"orginPath":"s://h/:id","targetPath":"s://i/:…"}"#,
            #"{"routerType":1,"orginPath":"s://h/:id","targetPath":"s://i?a=<…>"}"#,
            #"{"routerType":1,"orginPath":"s://h/**","targetPath":"s://i/**","except":["s://h/…"]}"#,
        ].map { Place(.map, $0) }
        + [
            #"{"…":1}"#, #"{"build":"…"}"#, #"{"build":">=…"}"#, #"{"locale":["…"]}"#,
            #"{"labels":{"…":"a"}}"#,
            #"{"labels":{"a":"…"}}"#, #"{"share":{"percent":5,"salt":"…"}}"#, #"{"share":{"…":5}}"#,
            #"{"targets":{"salt":"s","of":[{"percent":5,"targetPath":"…"}]}}"#,
        ].map { Place(.map, #"{"routerType":1,"orginPath":"s://h","targetPath":"s://i","when":\#($0)}"#) }
        + ["waypost/v1/…", "waypost/v1/k1/cmd/…", "waypost/v1/k1/reply/…"].map { Place(.topic, $0) }
        + ["…", "s://h/p…", "s://h/p?…", "s://h/p?a=…", "s://h/#…", "https://…"].map { Place(.url, $0) }
        + [
            "…", "s://h/…", "s://h/<int:…", "s://h/:a-:b…", "s://h/<a>…<b>\ns://h/x…y", "s://h(/…",
            "s://h(/…)", "s://h/:a(/…(/b))\ns://h/x/…",
        ].map {
            Place(.pattern, $0)
        }
        + ["…", "a=b?…", "token=…"].map { Place(.masking, $0) }
        + [
            "\u{3}\u{1}…", "\u{3}\u{1}" + #"{"t":1,"l":"I","tag":"a","msg":"…"}"#,
            "\u{4}\u{1}"
                + #"{"code":404,"name":"…","where":"…","detail":"…","nearest":["…"],"first":1,"last":1}"#,
            "\u{5}\u{1}"
                + #"{"id":"a","code":404,"name":"NO_ROUTE","status":"rejected","detail":"…","nearest":["…"]}"#,
            "\u{1}\u{1}" + #"{"status":"…","checks":[{"name":"…","ok":false,"detail":"…"}]}"#,
            "\u{0}\u{1}" + #"{"state":"…","epoch":1,"why":"birth","version":"…"}"#,
        ].map { Place(.operator, $0) }
        + ["scheme://router/…", "scheme://…"].map { Place("a route", $0) { _ = router.resolve($0) } }
        + [
            Place("trace", "…") { _ = TraceParent.valid($0) },
            Place("a quoted text", "…") { _ = $0.quoted },
        ]

    /// In nanoseconds: what takes less is not measured further.
    private static let fast: Int64 = 2_000_000

    /// Whether four times the bytes take more than eight times as long, or all of them longer than they may.
    static func finding(_ place: Place, _ filling: (name: String, unit: [UInt8]), bytes: Int, limit: Int64)
        -> String?
    {
        let large = place.input(filling.unit, bytes)
        var long = TimeBound.best(of: 1) { place.read(large) }
        guard long > fast else { return nil }
        let small = place.input(filling.unit, bytes / 4)
        var ratio = 0.0
        // The first call has set up what is set up once, and another process may have emptied the caches; what is really
        // quadratic is so each time.
        for attempt in 0..<6 {
            if attempt > 0 { long = min(long, TimeBound.best(of: 1) { place.read(large) }) }
            let short = TimeBound.best(of: 1) { place.read(small) }
            ratio = Double(long) / Double(max(short, 100_000))
            if ratio <= 8, long <= limit { return nil }
        }
        return
            "\(place.name), \(filling.name): \(large.count) bytes take \(long / 1_000) µs, \(Int(ratio)) times as long as a quarter"
    }
}
