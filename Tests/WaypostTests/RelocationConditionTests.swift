import TestSupport
import Testing
import Threading

@testable import Waypost
@testable import WaypostTools

/// Entries with `when`: read, decided, explained.
@Suite(.patient) struct `Relocation conditions` {
    static let time: Int64 = 1_795_216_999_000

    func context(
        _ agent: String? = "kiosk-7", build: String? = "2.4.1", locale: String? = "de-AT",
        labels: [String: String] = ["region": "eu", "tier": "gold"], now: Int64? = Self.time
    ) -> RelocationContext {
        RelocationContext(agent: agent, build: build, locale: locale, labels: labels) { now }
    }

    static func entry(_ origin: String, _ target: String, _ when: JSONValue?) -> JSONValue {
        var json: [String: JSONValue] = [
            "routerType": 1, "orginPath": .string(origin), "targetPath": .string(target),
        ]
        json["when"] = when
        return .object(json)
    }

    func plan(
        _ entries: [JSONValue], allowed: Int = RelocationSteps.ofMap.left
    ) throws -> RelocationPlan {
        let layer = RelocationLayer(name: "agent", entries: try RelocationEntry.list(.array(entries)))
        return try RelocationPlan([layer], maximumHops: 8, allowed: RelocationSteps(left: allowed))
    }

    func hop(
        _ plan: RelocationPlan, _ url: String, _ context: RelocationContext,
        caller: [String: JSONValue] = [:]
    ) throws -> (url: String?, reasons: [String]) {
        var decisions: [RelocationDecision]? = []
        var steps = RelocationSteps.ofOpen
        let hop = plan.hop(
            for: try RouteURL(url), RelocationRequester(context, caller: caller), &decisions, &steps)
        return (hop?.url, (decisions ?? []).map(\.reason))
    }

    static let decided: [(JSONValue, String)] = [
        ([:], "always: yes"),
        (["build": ">=2.1 <3"], "build >=2.1 <3: yes"),
        (["build": ">2.4.1"], "build >2.4.1: no (it is 2.4.1)"),
        (["build": ">= 2.4.1.0"], "build >= 2.4.1.0: yes"), (["build": "=2.4.1"], "build =2.4.1: yes"),
        (["build": "<=2.4"], "build <=2.4: no (it is 2.4.1)"),
        (["build": ">2.4.1-beta.2 <2.4.2-alpha"], "build >2.4.1-beta.2 <2.4.2-alpha: yes"),
        (["locale": "de"], "locale de: yes"), (["locale": "DE_at"], "locale DE_at: yes"),
        (["locale": ["fr", "de-AT"]], "locale fr or de-AT: yes"),
        (["locale": "d"], "locale d: no (it is de-AT)"),
        (["locale": "de-AT-x"], "locale de-AT-x: no (it is de-AT)"),
        (["locale": "de_AT.UTF-8"], "locale de_AT.UTF-8: yes"),
        (["labels": ["region": "eu"]], "label region=eu: yes"),
        (
            ["labels": ["region": ["us", "eu"], "tier": "gold"]],
            "label region=us or eu, label tier=gold: yes"
        ),
        (["labels": ["region": "us"]], "label region=us: no (it is eu)"),
        (["labels": ["no": "x"]], "label no=x: no (there is no such label)"),
        (["after": .int(time)], "after \(time): yes"), (["after": .int(time + 1)], "after \(time + 1): no"),
        (["before": .int(time)], "before \(time): no"),
        (["before": .int(time + 1)], "before \(time + 1): yes"),
        (["share": ["percent": 100, "salt": "s"]], "share 100 % of salt s: yes"),
        (["share": ["percent": 0, "salt": "s"]], "share 0 % of salt s: no"),
        (
            ["share": ["percent": 100, "salt": "s", "by": "user"]],
            "share 100 % of salt s by user: no (there is no parameter user)"
        ),
        (
            ["labels": ["region": "eu"], "build": "<3", "share": ["percent": 100, "salt": "s"]],
            "build <3, label region=eu, share 100 % of salt s: yes"
        ),
    ]

    @Test(arguments: decided)
    func `a condition holds or says what does not`(when: JSONValue, reason: String) throws {
        let found = try hop(plan([Self.entry("a://x", "a://y", when)]), "a://x", context())
        #expect(found.reasons == [reason])
        #expect((found.url == "a://y") == reason.hasSuffix(": yes"))
    }

    @Test(arguments: ["de_AT.UTF-8", "de_AT@euro", "de_AT.UTF-8@euro", "DE-at"])
    func `the locale of the client may be as the system names it`(locale: String) throws {
        let plan = try plan([Self.entry("a://x", "a://y", ["locale": "de-AT"])])
        #expect(try hop(plan, "a://x", context(locale: locale)).url == "a://y")
    }

    @Test func `what is not known about a client does not hold`() throws {
        let nothing = RelocationContext { nil }
        for when: JSONValue in [
            ["build": ">=0"], ["locale": "de"], ["labels": ["a": "b"]], ["after": 0],
            ["before": 9_000_000_000_000],
            ["share": ["percent": 100, "salt": "s"]],
        ] {
            let found = try hop(plan([Self.entry("a://x", "a://y", when)]), "a://x", nothing)
            #expect(found.url == nil)
            #expect(found.reasons.first?.contains(": no (") == true, "\(found.reasons)")
        }
        #expect(
            try hop(plan([Self.entry("a://x", "a://y", ["build": ">0"])]), "a://x", context(build: "x")).url
                == nil)
    }

    @Test func `a build that is no version is said once, and not by each entry`() throws {
        let layer = RelocationLayer(
            name: "agent",
            entries: try RelocationEntry.list(
                .array((0..<3).map { Self.entry("a://\($0)", "a://y", ["build": ">=\($0)"]) })))
        let router = try recordingRouter([("a://y", "Y")])
        let recorder = WarningRecorder()
        router.observe { recorder.take($0) }
        router.updateRelocationContext { $0.build = "2.4" }
        #expect(recorder.warnings.isEmpty)
        router.updateRelocationContext { $0.build = "nightly" }
        let report = try router.relocate([layer])
        router.updateRelocationContext { $0.locale = "de" }
        let sentence = "the build nightly of this client is no version like 2.4.1"
        #expect(recorder.warnings == ["\(sentence): no map entry with a condition on it applies"])
        #expect(report.conditional.map(\.reason) == (0..<3).map { "build >=\($0): no (it is nightly)" })
        let findings = router.check().findings.filter { $0.detail.contains("no version") }
        #expect(findings.map(\.kind) == [.neverApplies])
        #expect(findings.first?.detail.hasPrefix(sentence) == true)
        router.updateRelocationContext { $0.build = "2.4.1" }
        #expect(router.check().findings.isEmpty)
        // Without a condition on the build nothing depends on it.
        router.updateRelocationContext { $0.build = "other" }
        try router.relocate([])
        #expect(router.check().findings.isEmpty)
        #expect(recorder.warnings.count == 2)
    }

    static let unusable: [JSONValue] = [
        "yes", [], 1, .bool(true), ["moon": "full"], ["build": 2], ["build": "2.1"], ["build": ">=x"],
        ["build": ""],
        ["build": ">="], ["build": "~>2"], ["locale": []], ["locale": 1], ["locale": ""], ["locale": [1]],
        ["labels": "eu"], ["labels": ["a": 1]], ["labels": ["a": []]], ["after": "now"], ["after": 1.5],
        ["after": -1], ["before": .null], ["share": 10], ["share": ["percent": 10]], ["share": ["salt": "x"]],
        ["share": ["percent": 101, "salt": "x"]], ["share": ["percent": -1, "salt": "x"]],
        ["share": ["percent": 0.0001, "salt": "x"]], ["share": ["percent": 1e-9, "salt": "x"]],
        ["share": ["percent": .double(.leastNonzeroMagnitude), "salt": "x"]],
        ["share": ["percent": 33.333_000_001, "salt": "x"]],
        ["share": ["percent": 99.999_999_999, "salt": "x"]], ["share": ["percent": -1e-9, "salt": "x"]],
        [
            "targets": [
                "salt": "x", "of": [["targetPath": "a://z", "percent": 1e-9]],
            ]
        ],
        ["share": ["percent": "10", "salt": "x"]],
        ["share": ["percent": 10, "salt": "x", "by": 1]], ["share": ["percent": 10, "salt": "x", "of": 1]],
        ["share": ["percent": 10, "salt": .string(String(repeating: "x", count: 200))]],
        ["targets": []], ["targets": ["salt": "x", "of": []]],
        ["targets": ["salt": "x", "of": [["targetPath": "a://z"]]]],
        ["targets": ["salt": "x", "of": [["targetPath": "a://z/:id", "percent": 10]]]],
        [
            "targets": [
                "salt": "x",
                "of": [["targetPath": "a://z", "percent": 60], ["targetPath": "a://z", "percent": 41]],
            ]
        ],
        ["build": ">=1", "moon": "full"], [marks: 1], ["build": .string(marks)], ["labels": [marks: "eu"]],
        ["labels": [marks: 1]], ["share": ["percent": 10, "salt": "x", marks: 1]],
    ]

    /// One character, and 200 000 bytes.
    private static let marks = "e" + String(repeating: "\u{301}", count: 100_000)

    @Test(arguments: unusable)
    func `a condition that is not understood makes its entry inactive and refuses nothing`(when: JSONValue)
        async throws
    {
        let router = try recordingRouter([("a://x", "X"), ("a://y", "Y"), ("a://z", "Z")])
        router.updateRelocationContext { $0 = context() }
        let entries = [
            Self.entry("a://x", "a://y", when), Self.entry("a://z", "a://y", nil),
            ["routerType": 2, "path": "a://new", "className": "Y", "when": when],
            ["routerType": 3, "path": "a://y", "when": when],
            ["routerType": 4, "orginPath": "a://z/z", "when": when],
        ]
        let list = try RelocationEntry.list(.array(entries))
        #expect(try RelocationEntry.list(.array(list.map(\.json))) == list)
        let report = try router.relocate([RelocationLayer(name: "agent", entries: list)])
        #expect(report.inactive.map(\.index) == [0, 2, 3, 4])
        #expect(report.inactive.allSatisfy { $0.reason.hasPrefix("when") && $0.reason.utf8.count < 200 })
        #expect(await router.open("a://x").route == "a://x")
        #expect(await router.open("a://z").route == "a://y")
        #expect(await router.open("a://new").code == .noRoute)
    }

    static let buckets: [(salt: String, value: String, bucket: UInt64)] = [
        ("exp-1", "kiosk-7", 23970),
        ("exp-1", "kiosk-8", 61640),
        ("exp-2", "kiosk-7", 57215),
        ("", "", 23053),
        ("s", "你好", 451),
        ("salt", String(repeating: "x", count: 200), 73016),
        ("a", "42", 96469),
    ]

    @Test(arguments: buckets)
    func `a share is drawn as published`(salt: String, value: String, bucket: UInt64) {
        #expect(RelocationShare(salt: salt, key: .agent).bucket(of: value) == bucket)
    }

    // Its bucket is the first one that a share of as many thousandths of a percent leaves out.
    @Test(arguments: [RelocationShare.Key.agent, .parameter("id")])
    func `a share ends before the bucket that its percentage names`(key: RelocationShare.Key) throws {
        for name in ["kiosk-7", "kiosk-8", "你好"] {
            let bucket = RelocationShare(salt: "exp-1", key: key).bucket(of: name)
            for (end, holds) in [(bucket, false), (bucket + 1, true)] {
                var share: [String: JSONValue] = ["percent": .double(Double(end) / 1_000), "salt": "exp-1"]
                if case .parameter(let parameter) = key { share["by"] = .string(parameter) }
                let plan = try plan([Self.entry("a://x", "a://y", ["share": .object(share)])])
                let found = try hop(plan, "a://x", context(name), caller: ["id": .string(name)])
                #expect((found.url == "a://y") == holds, "\(name): \(found.reasons)")
            }
        }
    }

    @Test func `a group of an experiment ends before the bucket that its percentage names`() throws {
        for name in ["kiosk-7", "kiosk-8", "kiosk-9"] {
            let bucket = RelocationShare(salt: "exp-2", key: .agent).bucket(of: name)
            for (end, target) in [(bucket, "a://c"), (bucket + 1, "a://b")] {
                let of: JSONValue = [
                    ["targetPath": "a://b", "percent": .double(Double(end) / 1_000)],
                    ["targetPath": "a://c", "percent": .double(Double(100_000 - end) / 1_000)],
                ]
                let plan = try plan([
                    Self.entry("a://home", "a://old", ["targets": ["salt": "exp-2", "of": of]])
                ])
                #expect(try hop(plan, "a://home", context(name)).url == target, "\(name), \(end)")
            }
        }
    }

    @Test func `a share holds for that part of all clients, and a larger one for these too`() throws {
        let small = try plan([Self.entry("a://x", "a://y", ["share": ["percent": 10, "salt": "exp-1"]])])
        let large = try plan([Self.entry("a://x", "a://y", ["share": ["percent": 12.5, "salt": "exp-1"]])])
        var count = 0
        for number in 0..<2000 {
            let context = context("kiosk-\(number)")
            guard try hop(small, "a://x", context).url != nil else { continue }
            count += 1
            #expect(try hop(large, "a://x", context).url != nil)
        }
        #expect((140...260).contains(count))
    }

    @Test func `every share of three decimals is taken, also as a sum of doubles`() throws {
        let reader = RelocationConditionReader { (_) throws(RelocationConditionReader.Fault) in
            throw RelocationConditionReader.Fault(reason: "there is no target")
        }
        let exact = (0...100_000).map { Double($0) / 1000 }
        for percent in exact + [0.1 + 0.2, 33.3 + 33.3 + 33.3, 1.1 * 3, 0.7 + 0.1] {
            let when: JSONValue = ["share": ["percent": .double(percent), "salt": "s"]]
            _ = try reader.read(when)
        }
    }

    @Test func `a share by a parameter asks the caller, then the placeholder, then the query`() throws {
        let share = RelocationShare(salt: "s", key: .parameter("id"))
        let inside = (0..<100).first { share.bucket(of: "\($0)") < 50_000 } ?? 0
        let outside = (0..<100).first { share.bucket(of: "\($0)") >= 50_000 } ?? 0
        let when: JSONValue = ["share": ["percent": 50, "salt": "s", "by": "id"]]
        let plan = try plan([Self.entry("a://p/:id", "a://q/:id", when), Self.entry("a://r", "a://q", when)])
        #expect(try hop(plan, "a://p/\(inside)?id=\(outside)", context()).url != nil)
        #expect(try hop(plan, "a://p/\(outside)?id=\(inside)", context()).url == nil)
        #expect(try hop(plan, "a://p/\(outside)", context(), caller: ["id": .int(Int64(inside))]).url != nil)
        #expect(try hop(plan, "a://p/\(inside)", context(), caller: ["id": .string("\(outside)")]).url == nil)
        #expect(try hop(plan, "a://p/\(inside)", context(), caller: ["id": [1]]).url == nil)
        #expect(try hop(plan, "a://r?id=\(inside)", context()).url != nil)
        #expect(try hop(plan, "a://r", context()).url == nil)
    }

    @Test func `an experiment divides clients among targets, the rest goes to the entry's own`() throws {
        let plan = try plan([
            Self.entry(
                "a://home", "a://old",
                [
                    "targets": [
                        "salt": "exp-2",
                        "of": [
                            ["targetPath": "a://b", "percent": 30], ["targetPath": "a://c", "percent": 20],
                        ],
                    ]
                ])
        ])
        var counts: [String: Int] = [:]
        for number in 0..<2000 {
            let found = try hop(plan, "a://home", context("kiosk-\(number)"))
            counts[found.url ?? "", default: 0] += 1
            let bucket = RelocationShare(salt: "exp-2", key: .agent).bucket(of: "kiosk-\(number)")
            #expect(found.url == (bucket < 30_000 ? "a://b" : bucket < 50_000 ? "a://c" : "a://old"))
        }
        #expect((520...680).contains(counts["a://b"] ?? 0))
        #expect((320...480).contains(counts["a://c"] ?? 0))
        #expect(try hop(plan, "a://home", context(nil)).url == "a://old")
    }

    @Test
    func `of several entries of an origin the first that holds counts, and one without a condition is last`()
        throws
    {
        let entries = [
            Self.entry("a://x", "a://all", nil), Self.entry("a://x", "a://de", ["locale": "de"]),
            Self.entry("a://x", "a://eu", ["labels": ["region": "eu"]]),
        ]
        let plan = try plan(entries)
        #expect(try hop(plan, "a://x", context()).url == "a://de")
        let found = try hop(plan, "a://x", context(locale: "fr"))
        #expect(found.url == "a://eu")
        #expect(found.reasons == ["locale de: no (it is fr)", "label region=eu: yes"])
        #expect(try hop(plan, "a://x", context(locale: nil, labels: [:])).url == "a://all")
        #expect(throws: RelocationError.self) { try self.plan(entries + [Self.entry("a://x", "a://b", nil)]) }
        let many = #expect(throws: RelocationError.self) {
            try self.plan(
                (0...RelocationEntry.maximumAlternatives).map { Self.entry("a://x", "a://\($0)", [:]) })
        }
        #expect(many?.code == .tooLarge)
    }

    @Test func `a later layer goes first, and only its entry without a condition hides the earlier`() throws {
        func layer(_ name: String, _ entries: [JSONValue]) throws -> RelocationLayer {
            RelocationLayer(name: name, entries: try RelocationEntry.list(.array(entries)))
        }
        let all = try layer("@all", [Self.entry("a://x", "a://all", nil)])
        let own = try layer("agent", [Self.entry("a://x", "a://own", ["locale": "de"])])
        let reset = try layer(
            "patch", [["routerType": 4, "orginPath": "a://x", "when": ["labels": ["tier": "gold"]]]])
        let two = try RelocationPlan([all, own], maximumHops: 8)
        #expect(try hop(two, "a://x", context()).url == "a://own")
        #expect(try hop(two, "a://x", context(locale: "fr")).url == "a://all")
        let three = try RelocationPlan([all, own, reset], maximumHops: 8)
        #expect(try hop(three, "a://x", context()).url == nil)
        #expect(try hop(three, "a://x", context(labels: [:])).url == "a://own")
        var patches = try layer("patch", [Self.entry("a://x", "a://1", ["locale": "de"])])
        patches.patch(try RelocationEntry.list([Self.entry("a://x", "a://2", ["locale": "fr"])]))
        #expect(patches.entries.count == 1)
    }

    @Test func `when the conditions of an origin do not hold the next best origin is tried`() throws {
        let plan = try plan([
            Self.entry("a://x/y", "a://1", ["locale": "fr"]),
            Self.entry("a://x/:id", "a://2", ["locale": "it"]),
            Self.entry("a://x/**", "a://3/**", nil),
        ])
        #expect(try hop(plan, "a://x/y", context()).url == "a://3/y")
        #expect(try hop(plan, "a://x/y", context(locale: "it")).url == "a://2")
        #expect(try hop(plan, "a://x/y", context(locale: "fr-FR")).url == "a://1")
    }

    @Test func `a time window takes effect without a new map, one time for a whole open`() async throws {
        let now = Guarded<Int64?>(100)
        let router = try recordingRouter([("a://x", "X"), ("a://y", "Y")])
        router.updateRelocationContext { $0.now = { now.withLock { $0 } } }
        let report = try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: try RelocationEntry.list([
                    Self.entry("a://x", "a://y", ["after": 200, "before": 300])
                ]))
        ])
        #expect(report.inactive.isEmpty)
        #expect(report.conditional.map(\.state) == [.depends])
        #expect(report.conditional.first?.reason == "after 200, before 300")
        for (time, route) in [(100, "a://x"), (200, "a://y"), (299, "a://y"), (300, "a://x")] {
            now.withLock { $0 = Int64(time) }
            #expect(await router.open("a://x").route == route)
        }
        now.withLock { $0 = nil }
        #expect(await router.open("a://x").route == "a://x")
        #expect(
            router.resolve("a://x").decisions.first?.reason == "after 200: no (the clock can't be trusted)")
    }

    @Test func `paths are added and taken away by what is known of the client, and follow when it changes`()
        async throws
    {
        let router = try recordingRouter([("a://x", "X"), ("a://y", "Y")])
        let report = try router.relocate([
            RelocationLayer(
                name: "agent",
                entries: try RelocationEntry.list([
                    ["routerType": 2, "path": "a://n", "className": "X", "when": ["locale": "de"]],
                    ["routerType": 2, "path": "a://n", "className": "Y"],
                    ["routerType": 3, "path": "a://y", "when": ["labels": ["region": "eu"]]],
                    ["routerType": 2, "path": "a://t", "className": "X", "when": ["after": 0]],
                ]))
        ])
        #expect(report.inactive.map(\.index) == [3])
        #expect(report.conditional.map(\.state) == [.no, .no, .depends])
        #expect(await router.open("a://n").value?["name"] == "Y")
        #expect(await router.open("a://y").isSuccess)
        router.updateRelocationContext {
            $0.locale = "de"; $0.labels["region"] = "eu"
        }
        #expect(await router.open("a://n").value?["name"] == "X")
        #expect(await router.open("a://y").code == .noRoute)
        #expect(await router.open("a://t").code == .noRoute)
    }

    @Test func `circles that conditions exclude are none, others are refused`() throws {
        _ = try plan([
            Self.entry("a://x", "a://y", ["labels": ["r": "eu"]]),
            Self.entry("a://y", "a://x", ["labels": ["r": "us"]]),
            Self.entry("a://b", "a://c", ["build": "<2"]), Self.entry("a://c", "a://b", ["build": ">=2"]),
            Self.entry("a://d", "a://e", ["before": 5]), Self.entry("a://e", "a://d", ["after": 5]),
        ])
        for other: JSONValue in [["locale": "de"], ["labels": ["r": ["us", "eu"]]], [:]] {
            let error = #expect(throws: RelocationError.self) {
                try plan([
                    Self.entry("a://x", "a://y", ["labels": ["r": "eu"]]),
                    Self.entry("a://y", "a://x", other),
                ])
            }
            #expect(error?.code == .cycle)
        }
        let variant: JSONValue = ["targets": ["salt": "s", "of": [["targetPath": "a://x", "percent": 1]]]]
        #expect(throws: RelocationError.self) { try plan([Self.entry("a://x", "a://y", variant)]) }
    }

    @Test func `branching that has no end in sight is refused in a moment`() {
        let entries = (0..<200).flatMap { origin in
            (0..<10).map {
                Self.entry(
                    "a://\(origin)", "a://\((origin * 7 + $0 + 1) % 5000)/x/\($0)", ["locale": "\($0)"])
            }
        }
        let wide = (0..<8).flatMap { level in
            (0..<60).map {
                Self.entry("a://\(level)/:x/**", "a://\(level + 1)/\($0)/**", ["labels": ["l\($0)": "x"]])
            }
        }
        for entries in [entries, wide] {
            // A fifteenth of what is allowed, as much as a program takes longer that was not built for release.
            let time = processorTime {
                _ = try? plan(entries, allowed: RelocationSteps.ofMap.left / 15)
            }
            #expect(time < .seconds(60))
        }
    }

    @Test func `a variant's target is checked like a target`() throws {
        let router = try recordingRouter(
            [("a://x", "X")], configuration: RouterConfiguration(allowedSchemes: ["a"]))
        let when: JSONValue = ["targets": ["salt": "s", "of": [["targetPath": "b://x", "percent": 1]]]]
        let entries = try RelocationEntry.list([Self.entry("a://y", "a://x", when)])
        let error = #expect(throws: RelocationError.self) {
            try router.compile([RelocationLayer(name: "agent", entries: entries)])
        }
        #expect(error?.code == .notAllowed)
    }
}
