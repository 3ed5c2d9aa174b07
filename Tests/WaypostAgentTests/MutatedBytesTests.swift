import Foundation
import TestSupport
import Testing
import Waypost

@testable import WaypostMessages

/// What comes from outside, bent and broken: nothing may trap, and what is read must be what was written.
///
/// `WAYPOST_FUZZ_RUNS` sets the number of inputs for each, 20 000 unless set; `WAYPOST_FUZZ_SEED` repeats a run.
@Suite struct `Mutated bytes` {
    private static let runs =
        ProcessInfo.processInfo.environment["WAYPOST_FUZZ_RUNS"].flatMap(Int.init) ?? 20_000
    private static let seed = {
        let seed =
            ProcessInfo.processInfo.environment["WAYPOST_FUZZ_SEED"].flatMap(UInt64.init)
            ?? UInt64.random(in: 0...UInt64.max)
        // Before anything runs: after a crash there is no one left to say it.
        print("WAYPOST_FUZZ_SEED=\(seed)")
        return seed
    }()

    @Test func `as a command's payload are read or refused`() {
        var bytes = ByteMutator(
            seed: Self.seed,
            samples: [
                #"{"id":"c-1","type":"open","url":"scheme://router/demo?id=2","params":{"n":1.5e3,"a":[null,true]}}"#,
                #"{"id":"c-2","type":"call","service":"S","method":"m(a:)","args":[2,"\u4e2d\ud83d\ude00"],"exp":1795216999123}"#,
                #"{"id":"c","type":"log","level":"d","for":1000,"tag":"T","seq":3,"at":1,"lane":"l","v":1}"#,
                #"{"id":"c","type":"replay","since":0,"max":500}"#,
                #"{"id":"c","type":"cancel","target":"x"}"#,
                #"{"payloadType":"application/json","payload":"eyJpZCI6ImEiLCJ0eXBlIjoicGluZyJ9","signatures":[{"keyid":"k","sig":"AAAA"}]}"#,
            ])
        var read = 0
        for run in 0..<Self.runs {
            let input = bytes.next()
            guard let payload = try? CommandPayload(stored: input, limits: .protocolDefaults) else {
                continue
            }
            let again = try? JSONValue(parsing: payload.json.serialized(), limits: .trustedFile)
            guard again == payload.json else {
                Issue.record("seed \(Self.seed), run \(run): printed and read again it differs: \(input)")
                return
            }
            guard let id = try? Command.id(in: payload.json),
                let command = try? Command(id: id, fields: payload.json, arrival: 1_795_216_999_000)
            else { continue }
            read += 1
            guard (try? JSONValue(parsing: command.encoded())) != nil else {
                Issue.record("seed \(Self.seed), run \(run): written as no JSON: \(input)")
                return
            }
        }
        #expect(read > Self.runs / 1_000)
    }

    @Test func `as a relocation map are compiled or refused`() throws {
        let router = Router()
        for name in ["demo", "demo1", "user/:id", "files/**"] {
            try router.register("scheme://router/\(name)", name: "Demo.\(name)") { _ in .opened() }
        }
        var bytes = ByteMutator(
            seed: Self.seed,
            samples: [
                #"{"id":"m","type":"map","rev":4,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1","params":{"a":1}}]}"#,
                #"[{"routerType":2,"path":"scheme://router/n/:id","className":"Demo.demo"},{"routerType":3,"path":"scheme://router/demo"}]"#,
                #"[{"routerType":1,"orginPath":"scheme://old/**","targetPath":"scheme://router/**"},{"routerType":4,"orginPath":"scheme://router/demo"}]"#,
                #"[{"routerType":1,"originPath":"a://b/c","targetPath":"scheme://router/user/7"},{"routerType":1,"orginPath":"scheme://router/demo1","targetPath":"a://b/c"}]"#,
            ])
        let rules = MapDocument.Rules(maximumBytes: 262_144, limits: .protocolDefaults, trusted: .none)
        var applied = 0
        for run in 0..<Self.runs {
            let input = bytes.next()
            guard let document = try? MapDocument(input, isPatch: run % 2 == 0, rules) else { continue }
            let layer = RelocationLayer(name: "agent", entries: document.entries)
            guard (try? router.relocate([layer])) != nil else { continue }
            applied += 1
            for url in ["scheme://router/demo?x=1", "scheme://old/user/7", "a://b/c"] {
                let found = router.resolve(url)
                guard found.hops.count <= router.configuration.maximumHops else {
                    Issue.record("seed \(Self.seed), run \(run): \(found.hops.count) hops: \(input)")
                    return
                }
            }
        }
        #expect(applied > Self.runs / 1_000)
    }

    @Test func `as a topic are read or passed over`() {
        var bytes = ByteMutator(
            seed: Self.seed,
            samples: [
                "waypost/v1/k1/cmd/ops", "waypost/v1/@all/cmd/ops", "waypost/v1/k1/map/patch",
                "waypost/v1/@lobby/map", "waypost/v1/k1/echo", "waypost/v1/k1/reply/ops",
                "waypost/v1/k1/log/e", "waypost/v1/k1/map/applied",
            ])
        let topics = Topics.standard
        for run in 0..<Self.runs {
            let text = String(decoding: bytes.next(), as: UTF8.self)
            if case .command(let audience, let sender)? = topics.inbound(text) {
                guard Name.isValid(sender), topics.command(to: audience, from: sender) == text else {
                    Issue.record(
                        "seed \(Self.seed), run \(run): taken for a command's: \(text.debugDescription)")
                    return
                }
            }
            if let (agent, content) = topics.outbound(text), case .reply(let sender) = content {
                guard topics.reply(of: agent, to: sender) == text else {
                    Issue.record(
                        "seed \(Self.seed), run \(run): taken for a reply's: \(text.debugDescription)")
                    return
                }
            }
        }
    }
}

/// Bends samples: bytes are changed, cut, doubled, put in, and spliced with those of others.
private struct ByteMutator {
    private var random: SeededGenerator
    private let samples: [[UInt8]]

    private static let tokens: [[UInt8]] =
        [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "null", "true", "-", "1e400",
            "0.1",
            "9223372036854775808", "\u{0}", "\u{FEFF}", "中", "/", "//", "**", "*", ":id", "%", "%2F", "..",
            "#",
            "+", " ", "\n", "\"id\":", "\"routerType\":1",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xED, 0xA0, 0x80]]

    init(seed: UInt64, samples: [String]) {
        random = SeededGenerator(seed: seed)
        self.samples = samples.map { Array($0.utf8) }
    }

    private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<max(bound, 1), using: &random) }

    mutating func next() -> [UInt8] {
        var bytes = samples[below(samples.count)]
        for _ in 0..<below(4) {
            let place = below(bytes.count + 1)
            switch below(6) {
            case 0: if place < bytes.count { bytes[place] = UInt8(truncatingIfNeeded: below(256)) }
            case 1: bytes.insert(contentsOf: Self.tokens[below(Self.tokens.count)], at: place)
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + below(8)))
            case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + below(40))], at: place)
            case 4: bytes = Array(bytes[..<place]) + samples[below(samples.count)].dropFirst(below(60))
            default: if place < bytes.count { bytes[place] ^= 1 << UInt8(below(8)) }
            }
        }
        return bytes
    }
}
