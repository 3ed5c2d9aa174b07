import Dispatch
import TestSupport
import Testing

@testable import Waypost
@testable import WaypostTools

/// How much work a map may make: it is counted, so that the same map is taken or refused on every machine.
struct RelocationWorkTests {
    /// What a placeholder of an origin is filled with when it is checked.
    static let sample = "waypost~sample"

    static func redirect(
        _ origin: String, _ target: String, except: [String] = [], when: JSONValue? = nil
    ) -> RelocationEntry {
        RelocationEntry(.replace(origin: origin, target: target), except: except, when: when)
    }

    /// Another pattern for each number; one URL is taken by all of them.
    static func pattern(_ number: Int, host: String = "", ones: String = sample) -> String {
        let parts = (0..<11).map { number >> $0 & 1 == 0 ? ":p\($0)" : ones }
        return "a://" + ([host] + parts).filter { !$0.isEmpty }.joined(separator: "/")
    }

    static let takenByAll = "a://" + Array(repeating: sample, count: 11).joined(separator: "/")

    static func compile(_ entries: [RelocationEntry], layers: Int = 1) throws -> CompiledRelocation {
        try Router().compile(
            (0..<layers).map { layer in
                let own = entries.map { entry in
                    guard layer > 0, case .replace(let origin, let target) = entry.kind else { return entry }
                    return redirect(
                        origin.replacing("a://", with: "a\(layer)://"), target, except: entry.except,
                        when: entry.when)
                }
                return RelocationLayer(name: "layer\(layer)", entries: own)
            })
    }

    // MARK: Too much

    static let costly: [String: [RelocationEntry]] = [
        "all take one URL, with an exception for it": (0..<1400).map {
            redirect(pattern($0), takenByAll, except: ["a://**"])
        },
        "resets that all take one URL": (0..<1400).map {
            RelocationEntry(.reset(origin: pattern($0), target: nil))
        } + (0..<600).map { redirect("a://x\($0)/:y", takenByAll) },
        "all take one URL, each under a condition": (0..<1400).map {
            redirect(pattern($0), "a://t/\($0)", when: ["locale": .string("l\($0)")])
        },
        "nearly all of a URL is looked at, and none takes it": (0..<2000).map { number in
            var random = Seeded(UInt64(number))
            let parts = (0..<30).map { random.chance(1, in: 2) ? ":p\($0)" : "x" }
            return redirect(
                "a://\(parts.joined(separator: "/"))/e\(number)",
                "a://\(Array(repeating: "x", count: 30).joined(separator: "/"))/f")
        },
        "long components": (0..<1000).map {
            redirect("a://p/:a~\($0)~:b", "a://p/" + String(repeating: "k~", count: 3800))
        },
    ]

    @Test(.serialized, arguments: costly.keys.sorted())
    func `a map that takes more than it may is refused in a moment, with the numbers`(shape: String)
        async throws
    {
        let entries = try #require(Self.costly[shape])
        // A part of what is allowed, for a program that was not built for release is much slower.
        let allowed = RelocationSteps(left: RelocationSteps.ofMap.left / 300)
        let (error, time) = await offThePool {
            var error: RelocationError?
            let time = processorTime {
                error = #expect(throws: RelocationError.self) {
                    try RelocationPlan(
                        [RelocationLayer(name: "map", entries: entries)], maximumHops: 8, allowed: allowed)
                }
            }
            return (error, time)
        }
        #expect(error?.code == .chain)
        #expect(error?.detail.contains("\(entries.count) entries lead takes more than 100000 steps") == true)
        // Of this thread alone, for a loaded machine may take long; a sanitizer multiplies it.
        #expect(time < .seconds(5) || !Sanitizer.isAbsent)
    }

    @Test func `additions that stand in each other's way are counted too`() async {
        let entries = (0..<2).flatMap { layer in
            (0..<2000).map { RelocationEntry(.add(path: "a://p/:x~\(layer)~\($0)~:y", className: "C")) }
        }
        let error = await offThePool {
            #expect(throws: RelocationError.self) {
                try RelocationPlan(
                    [RelocationLayer(name: "all", entries: entries)], maximumHops: 8,
                    allowed: RelocationSteps(left: RelocationSteps.ofMap.left / 300))
            }
        }
        #expect(error?.code == .chain)
    }

    @Test func `a check of the maps ends as soon, and names it`() async throws {
        let map = RelocationLayer(
            name: "map", entries: try #require(Self.costly["all take one URL, each under a condition"]))
        let configuration = {
            var configuration = RouterConfiguration()
            configuration.mapSteps = RelocationSteps(left: RelocationSteps.ofMap.left / 300)
            return configuration
        }()
        let report = await offThePool {
            Router.check(routes: [], layers: [map], configuration: configuration)
        }
        #expect(report.findings.count { $0.detail.contains("takes more than 100000 steps") } == 1)
        #expect(!report.isClean)
    }

    // MARK: Enough

    static let ordinary: [String: (entries: [RelocationEntry], layers: Int, percent: Int)] = [
        "literal": ((0..<2000).map { redirect("a://page/\($0)", "a://other/\($0)") }, 1, 5),
        "literal beside a pattern, in four layers": (
            (0..<1999).map { redirect("a://page/\($0)", "a://other/\($0)") }
                + [redirect("a://user/:id", "a://person/:id")], 4, 30
        ),
        "subtrees": ((0..<500).map { redirect("a://old\($0)/**", "a://new\($0)/**") }, 1, 5),
        "subtrees within each other, beside a pattern": (
            (0..<500).map {
                redirect("a://old/" + String(repeating: "d/", count: $0 % 20) + "\($0)/**", "a://new\($0)/**")
            } + [redirect("a://user/:id", "a://person/:id")], 1, 5
        ),
        "patterns": ((0..<2000).map { redirect("a://page\($0)/:id", "a://other\($0)/:id") }, 1, 20),
        "patterns in one place": (
            (0..<1000).map { redirect("a://page/kind\($0)-:id", "a://other/:id") }, 1, 30
        ),
        "experiments": (
            (0..<300).map { number in
                redirect(
                    "a://page\(number)/:id", "a://other\(number)/:id",
                    when: [
                        "share": ["percent": 50, "salt": "s"], "locale": ["de", "fr"],
                        "targets": [
                            "salt": "t",
                            "of": [
                                ["targetPath": .string("a://one\(number)/:id"), "percent": 10],
                                ["targetPath": .string("a://two\(number)/:id"), "percent": 10],
                            ],
                        ],
                    ])
            }, 1, 20
        ),
    ]

    @Test(arguments: ordinary.keys.sorted())
    func `maps as they are take a part of what they may`(shape: String) async throws {
        let map = try #require(Self.ordinary[shape])
        let effort = await offThePool { try? Self.compile(map.entries, layers: map.layers).effort }
        #expect(try #require(effort) <= map.percent)
    }

    // MARK: One open

    /// A URL that all take although no URL of a map is.
    @Test func `an open ends when more redirects may take its URL than it looks at`() async throws {
        let router = try recordingRouter(
            [("a://:x/**", "X")], configuration: RouterConfiguration(maximumURLBytes: 16_384))
        let values = (0..<700).map { "~\($0)~" + String(repeating: "v", count: 17) }
        let entries = values.map {
            Self.redirect(
                "a://p/:a\($0):b", "a://t", when: ["share": ["percent": 0.001, "salt": .string($0)]])
        }
        let few = Array(entries.prefix(40))
        let long = "a://p/x" + values.joined() + "x"
        try router.relocate([RelocationLayer(name: "agent", entries: few)])
        #expect(await router.open("a://p/x\(values[1])x").code == .ok)
        #expect(await router.open("a://p/x" + values.prefix(40).joined() + "x").code == .ok)
        try router.relocate([RelocationLayer(name: "agent", entries: entries)])
        #expect(await router.open("a://p/x\(values[1])x").code == .ok)
        let opening = await router.open(long)
        #expect(opening.code == .chain)
        #expect(router.resolve(long).error?.code == .chain)
    }
}

/// Runs what takes long away from the few threads that the tasks of a test run share: others' deadlines run on.
private func offThePool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        DispatchQueue(label: "relocation-work").async { continuation.resume(returning: body()) }
    }
}
