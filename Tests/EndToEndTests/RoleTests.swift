import CommandSupport
import Foundation
import TestSupport
import Testing
import Waypost

/// The shipped roles and the shipped verbs, at one broker with the shipped files: each either works, or says who may and
/// how, and never that the agent is to blame.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RoleTests {
    private enum Role: String, CaseIterable {
        case ops, watch, release
    }

    /// What a role is told that may not do it.
    private enum Cell {
        case works
        /// By the profile of that role.
        case may(Role)
        /// Parts of it are not known, for this role may not ask agents, or not read maps.
        case unknown
    }

    private struct Verb {
        var words: [String]
        var cells: [Role: Cell]

        init(_ words: String, _ cells: [Role: Cell] = [:]) {
            self.words = words.split(separator: " ").map(String.init)
            self.cells = cells
        }
    }

    private static let ofSenders: [Role: Cell] = [.watch: .may(.ops), .release: .may(.ops)]
    private static let ofRelease: [Role: Cell] = [.ops: .may(.release), .watch: .may(.release)]

    private static let verbs: [Verb] = [
        Verb("agents"), Verb("describe agent k1"), Verb("routes --agent k1"), Verb("services --agent k1"),
        Verb("ping --agent k1", ofSenders), Verb("open scheme://router/demo --agent k1", ofSenders),
        Verb("call CalculatorService add --args [1,2] --agent k1", ofSenders),
        Verb("log V --agent k1 --for 1s", ofSenders), Verb("map show --agent k1", ofSenders),
        Verb("map history --agent k1", ofSenders), Verb("resolve scheme://router/demo --agent k1", ofSenders),
        Verb("failures --agent k1", ofSenders),
        // Nothing is in force yet: what a map would do is known to everyone.
        Verb("map diff --agent k1 --file MAP1"), Verb("relocate --agent k1 --file MAP1 --dry-run"),
        Verb("relocate --agent k1 --file MAP1", ofRelease),
        Verb("relocate --group lobby --file MAP1 --unchecked", ofRelease),
        // By now agents have maps, which the one reads at the broker and the other asks for.
        Verb("map diff --group lobby --file MAP2", [.watch: .unknown]),
        Verb("relocate --agent k1 --file MAP2 --dry-run", [.watch: .unknown]),
        Verb("rollout plan --group lobby --file MAP2", [.ops: .unknown, .watch: .unknown]),
        Verb("relocate --agent k1 --file MAP2 --yes --unchecked", ofRelease),
        Verb("map undo --agent k1 --yes", [.ops: .may(.release), .watch: .may(.ops), .release: .may(.ops)]),
        Verb(
            "rollout start --group lobby --file MAP2 --unchecked --stages 100% --dwell 1s --tail 0s --without-traffic",
            ofRelease),
        Verb("groups --agent k1"), Verb("groups --agent k1 --add shop", ofRelease),
        Verb("rollout status --group lobby"), Verb("rollout history --group lobby"),
    ]

    @Test func `each verb works for a role, or says which role may`() async throws {
        let site = try await ShippedBroker([
            "--agent", "k1@lobby", "--sender", "ops", "--watcher", "watch", "--release", "release",
        ])
        let agent = try RunningAgent(
            "k1", broker: site.broker.url, arguments: ["--demo", "--group", "lobby"] + site.signIn("k1"))
        try await agent.online()
        let redirect =
            #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}"#
        let first = try ScratchFile(#"{"type":"map","rev":1,"entries":[\#(redirect)]}"#, name: "1.json")
        let second = try ScratchFile(#"{"type":"map","rev":2,"entries":[\#(redirect)]}"#, name: "2.json")
        let files = ["MAP1": first.path, "MAP2": second.path]
        for verb in Self.verbs {
            for role in Role.allCases {
                let words = verb.words.map { files[$0] ?? $0 }
                let ending = try await RunningCommand.run(
                    words + ["--as", role.rawValue] + site.signIn(role.rawValue))
                let said = (ending.output + ending.errorLines).joined(separator: "\n")
                let place = "\(role) \(verb.words.joined(separator: " ")): \(ending)"
                #expect(!said.contains("does not answer") && !said.contains("did not reply"), "\(place)")
                switch verb.cells[role] ?? .works {
                case .works: #expect(ending.status == 0, "\(place)")
                case .unknown:
                    #expect(ending.status == 3 && said.contains("known"), "\(place)")
                    #expect(said.contains("\(role) may not "), "\(place)")
                    #expect(said.contains("by the shipped rules the role of "), "\(place)")
                case .may(let other):
                    #expect(ending.status == 1, "\(place)")
                    // An undo asks first: with the other profile for all of it, it could not send then.
                    let option = other == .ops && verb.words.contains("undo") ? "--ask-as" : "--profile"
                    #expect(
                        said.contains("the role of \(other) ") && said.contains("\(option) \(other)"),
                        "\(place)")
                }
            }
        }
        // A slow connection may be given up once; one that throws itself out does it again and again.
        let replaced = site.broker.log.filter { $0.contains("already connected, closing old connection") }
        let clients = Dictionary(grouping: replaced) { $0.split(separator: " ").dropFirst(2).first ?? "" }
        #expect(clients.values.allSatisfy { $0.count < 3 }, "\(replaced)")
        #expect(try await agent.terminate() == 0)
    }

    // Who was on call read to check the rules for ops, while the roll-out went on.
    @Test func `who may not take a roll-out back is told who may`() async throws {
        let site = try await ShippedBroker([
            "--agent", "k1@lobby", "--sender", "ops", "--watcher", "watch", "--release", "release",
        ])
        let agent = try RunningAgent(
            "k1", broker: site.broker.url, arguments: ["--demo", "--group", "lobby"] + site.signIn("k1"))
        try await agent.online()
        let map = try ScratchFile(
            #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}]}"#,
            name: "map.json")
        let controller = try RunningCommand(
            ["rollout", "start", "--group", "lobby", "--file", map.path, "--dwell", "1h"]
                + site.signIn("release"))
        try await controller.printed("running")
        controller.send(signal: SIGINT)
        _ = try await controller.ending()
        for verb in ["take-back", "pause"] {
            let denied = try await RunningCommand.run(
                ["rollout", verb, "--group", "lobby"] + site.signIn("ops"))
            let said = denied.errorLines.joined()
            #expect(denied.status == 1 && said.contains("the role of release"), "\(denied)")
            #expect(said.contains("--profile release"), "\(denied)")
        }
        let back = try await RunningCommand.run(
            ["rollout", "take-back", "--group", "lobby"] + site.signIn("release"))
        #expect(back.status == 0, "\(back)")
        #expect(try await agent.terminate() == 0)
    }

    // Under the shipped rules nobody could do it: one may ask and not send, the other send and not ask.
    @Test func `an undo is sent by one role and asked for by the other`() async throws {
        let site = try await ShippedBroker([
            "--agent", "k1@lobby", "--sender", "ops", "--watcher", "watch", "--release", "release",
        ])
        let agent = try RunningAgent("k1", broker: site.broker.url, arguments: ["--demo"] + site.signIn("k1"))
        try await agent.online()
        let home = ["XDG_CONFIG_HOME": site.broker.directory]
        func run(_ words: [String]) async throws -> RunningCommand.Ending {
            try await RunningCommand.run(words, environment: home)
        }
        for role in ["ops", "release"] {
            let added = try await run(["profile", "add", role, "--as", role] + site.signIn(role))
            #expect(added.status == 0, "\(added)")
        }
        let bad = try ScratchFile(
            #"{"type":"map","rev":1,"entries":[{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"},{"routerType":1,"orginPath":"scheme://b","targetPath":"scheme://a"}]}"#,
            name: "bad.json")
        let sent = try await run([
            "relocate", "--agent", "k1", "--file", bad.path, "--allow-refused", "--profile", "release",
        ])
        #expect(sent.status == 1 && sent.errorLines.contains { $0.contains("--ask-as") }, "\(sent)")
        // It is not the verb that needs another profile, which then could not send.
        for verb in [["map", "undo"], ["map", "diff", "--file", bad.path]] {
            let unasked = try await run(verb + ["--agent", "k1", "--profile", "release"])
            guard unasked.status != 0, unasked.errorLines.contains(where: { $0.contains("Not authorized") })
            else {
                #expect(verb.last != "undo", "\(unasked)")
                continue
            }
            #expect(unasked.errorLines.contains { $0.contains("--ask-as ops") }, "\(unasked)")
            #expect(!unasked.errorLines.contains { $0.contains("--profile ops") }, "\(unasked)")
        }
        let undo = try await run(
            ["map", "undo", "--agent", "k1", "--yes", "--profile", "release", "--ask-as", "ops"])
        #expect(undo.status == 0 && undo.output.contains { $0.contains("map rev 2") }, "\(undo)")
        let unknown = try await run([
            "map", "undo", "--agent", "k1", "--profile", "release", "--ask-as", "opps",
        ])
        #expect(unknown.status == 64, "\(unknown)")
        #expect(try await agent.terminate() == 0)
    }
}
