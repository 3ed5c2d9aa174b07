import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// A map has one verdict, whoever is asked; and what has a verdict against it is not sent by any tool unless that is said.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct MapVerdictTests {
    /// A map, and what speaks against it where rev 15 with one redirect is in force.
    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var map: String
        /// By the library's words, besides that entries disappear.
        var objections: Set<MapObjection.Kind>
        var testDescription: String { name }

        static func map(_ revision: Int, _ entries: String...) -> String {
            #"{"type":"map","rev":\#(revision),"entries":[\#(entries.joined(separator: ","))]}"#
        }
    }

    private static let good =
        #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}"#
    private static let nowhere =
        #"{"routerType":1,"orginPath":"scheme://router/x","targetPath":"scheme://router/gone"}"#
    private static let circle = [
        #"{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"}"#,
        #"{"routerType":1,"orginPath":"scheme://b","targetPath":"scheme://a"}"#,
    ]

    static let cases = [
        Case(name: "newer", map: Case.map(16, good), objections: []),
        Case(name: "older", map: Case.map(14, good), objections: [.older, .refused]),
        Case(
            name: "the same revision with other content", map: Case.map(15, good, nowhere),
            objections: [.older, .refused, .inactive]),
        Case(name: "to nowhere", map: Case.map(16, good, nowhere), objections: [.inactive]),
        Case(name: "in a circle", map: Case.map(16, good, circle[0], circle[1]), objections: [.refused]),
    ]

    private func withGroup(
        _ body: (Site<RunningAgent>, GroupClient, WaypostBackend.Backend) async throws -> Void
    ) async throws {
        let site = try await Site.open(["--demo", "--group", "lobby"])
        let configuration = try BackendConfiguration(broker: site.broker.url, name: "shop")
        try await WaypostBackend.Backend.with(configuration) { backend in
            try await body(site, backend.group("lobby"), backend)
        }
        #expect(try await site.agent.terminate() == 0)
    }

    private func relocation(_ text: String) throws -> Relocation {
        try Relocation(document: Array(text.utf8))
    }

    /// What the broker keeps for the group.
    private func kept(_ site: Site<RunningAgent>) async throws -> Int64? {
        let reader = try await TestSupport.Backend(broker: site.broker.url)
        let map = try await reader.message(on: "waypost/v1/@lobby/map")
        await reader.disconnect()
        return map["rev"]?.intValue
    }

    @Test(arguments: cases)
    func `check, relocate, diff, plan, start and the library agree, and nothing is sent`(_ one: Case)
        async throws
    {
        try await withGroup { site, group, _ in
            try await group.relocate(try relocation(Case.map(15, Self.good)))
            let file = try ScratchFile(one.map, name: "map.json")
            let isGood = one.objections.isEmpty
            let target = ["--group", "lobby", "--file", file.path]
            func run(_ words: [String]) async throws -> RunningCommand.Ending {
                try await RunningCommand.run(words, environment: ["WAYPOST_BROKER": site.broker.url])
            }

            let map = try relocation(one.map)
            let plan = try await group.plan(map)
            #expect(
                Set(plan.objections.map(\.kind)).subtracting([.loss]) == one.objections, "\(plan.objections)")
            let stages = try await group.planRollout(map, id: "r-1")
            #expect(stages.isClear == isGood, "\(stages.faults) \(stages.objections)")
            for words in [["map", "diff"], ["relocate", "--dry-run"], ["rollout", "plan"]] {
                let ending = try await run(words + target)
                #expect(ending.status == (isGood ? 0 : 1), "\(words): \(ending)")
                #expect(
                    !isGood
                        == ending.output.contains {
                            $0.contains("problem:") || $0.contains("would refuse")
                                || $0.contains("must not begin")
                        },
                    "\(words): \(ending)")
            }
            guard !isGood else { return }
            // Of its revision a check knows nothing.
            if one.objections != [.older, .refused] {
                let check = try await run(["check", "--demo", "--map", file.path])
                #expect(check.status == 1, "\(check)")
            }
            for words in [["relocate"], ["rollout", "start", "--dwell", "1s", "--tail", "0s"]] {
                let ending = try await run(words + target)
                #expect(ending.status == 1 && ending.errorLines.contains { $0.contains("not ") }, "\(ending)")
            }
            let refusal = await #expect(throws: BackendError.self) { try await group.relocate(map) }
            #expect(refusal?.kind == .notSent, "\(String(describing: refusal))")
            #expect(Set(refusal?.objections.map(\.kind) ?? []) == one.objections)
            let start = await #expect(throws: BackendError.self) { try await group.rollOut(map, id: "r-1") }
            #expect(start?.kind == .notSent, "\(String(describing: start))")
            #expect(try await kept(site) == 15)
        }
    }

    // "--yes" was a word for all of them.
    @Test(arguments: [
        ("older", 14, [MapObjection.Kind.older, .refused]), ("circle", 16, [.refused]), ("loss", 16, [.loss]),
    ])
    func `on the command line each consent has its own name, as in the library`(
        _ name: String, _ revision: Int, _ kinds: [MapObjection.Kind]
    ) async throws {
        try await withGroup { site, group, _ in
            try await group.relocate(try relocation(Case.map(15, Self.good)))
            let entries = ["older": [Self.good], "circle": [Self.good] + Self.circle, "loss": []][name] ?? []
            let file = try ScratchFile(
                #"{"type":"map","rev":\#(revision),"entries":[\#(entries.joined(separator: ","))]}"#,
                name: "map.json")
            let all: [MapObjection.Kind: String] = [
                .older: "--allow-older", .refused: "--allow-refused", .loss: "--yes",
            ]
            func run(_ options: [String]) async throws -> RunningCommand.Ending {
                try await RunningCommand.run(
                    ["relocate", "--group", "lobby", "--file", file.path] + options,
                    environment: ["WAYPOST_BROKER": site.broker.url])
            }
            // All other words together are not enough.
            let others =
                all.filter { !kinds.contains($0.key) }.map(\.value) + ["--allow-inactive", "--unchecked"]
            let refused = try await run(others)
            #expect(refused.status == 1, "\(refused)")
            for kind in kinds {
                let option = try #require(all[kind])
                #expect(refused.errorLines.last?.contains(option) == true, "\(refused)")
            }
            #expect(try await kept(site) == 15)
            _ = try await run(others + kinds.compactMap { all[$0] })
            #expect(try await kept(site) == Int64(revision))
        }
    }

    /// Who makes or publishes a map, and how an older one is kept from a newer one's place.
    private static let publishers = [
        "WaypostBackend/Maps/Relocation.swift": "makes the message, and sends nothing",
        "WaypostBackend/Maps/MapClient.swift": "makes it to see whether it can be sent",
        "WaypostBackend/Maps/RelocationRequest.swift":
            "a patch, which is not kept; a map goes through RetainedMap",
        "WaypostBackend/Maps/RetainedMap.swift": "reads the one that is kept, and throws",
        "WaypostBackend/Keeper/MapKeeper.swift": "KeeperRun sends it through RetainedMap",
        "WaypostBackend/Rollout/RolloutDirector.swift": "objection(toReplacingWith:)",
        "WaypostBackend/Rollout/RolloutDirector+Stages.swift":
            "the same; a restored map is above all that were seen",
        "WaypostCLI/Demo/DemoBackend.swift": "at a broker of its own",
        "WaypostConsole/Views/AskingViews.swift": "makes it to see whether it can be sent",
    ]

    @Test func `nobody else publishes maps`() async throws {
        let found = try await SourceLines.matching(
            #"add\(groupTopics\.map,|\.message\(to: |map\(of: .*retain: true"#
        ).map(\.file).filter { !$0.hasPrefix("WaypostAgent/") }
        #expect(Set(found) == Set(Self.publishers.keys))
    }

    @Test func `what takes entries away needs a word, of the library too`() async throws {
        try await withGroup { _, group, backend in
            try await group.relocate(try relocation(Case.map(1, Self.good)))
            let empty = try relocation(Case.map(2))
            let refusal = await #expect(throws: BackendError.self) { try await group.relocate(empty) }
            #expect(refusal?.objections.map(\.kind) == [.loss])
            let sent = try await group.relocate(empty, allowing: [.loss])
            #expect(sent.isComplete && sent.values.allSatisfy(\.isApplied))
            let typo = await #expect(throws: BackendError.self) {
                try await backend.agent("k2").relocate(empty)
            }
            #expect(typo?.objections.first?.kind == .unknownReceiver, "\(String(describing: typo))")
        }
    }

    // Each agent refused it, and the next one that came got it.
    @Test func `an older map takes the place of a newer one only where that is allowed`() async throws {
        try await withGroup { site, group, _ in
            try await group.relocate(try relocation(Case.map(15, Self.good)))
            let old = try relocation(Case.map(1, Self.good))
            await #expect(throws: BackendError.self) { try await group.relocate(old) }
            await #expect(throws: BackendError.self) {
                try await group.relocate(
                    old, allowing: [.loss, .inactive, .unchecked, .refused, .unknownReceiver])
            }
            #expect(try await kept(site) == 15)
            let answers = try await group.relocate(old, allowing: [.older, .refused])
            #expect(answers.values.allSatisfy { !$0.isApplied })
            #expect(try await kept(site) == 1)
            // What is in force is not what the broker keeps, and a plan says so.
            let plan = try await group.planRollout(try relocation(Case.map(16, Self.good)), id: "r-1")
            #expect(
                !plan.isClear && plan.faults.contains { $0.contains("k1") && $0.contains("rev 15") },
                "\(plan.faults)")
        }
    }
}
