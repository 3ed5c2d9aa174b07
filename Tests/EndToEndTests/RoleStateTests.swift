import ArgumentParser
import CommandSupport
import Foundation
import MQTTLink
import TestSupport
import Testing
import Threading
import Waypost

@testable import WaypostCLI

/// The shipped roles and the shipped verbs, at agents in each state that a person on call meets: each cell works, or says
/// who may and how, or what the state is; it never blames the other side, and what it advises is a command that runs.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct RoleStateTests {
    private enum Role: String, CaseIterable {
        case ops, watch, release
    }

    /// What is so of an agent; each has an agent of its own.
    private enum State: String, CaseIterable {
        /// Online, with a map in force.
        case online
        /// The broker published its will.
        case lost
        /// It said goodbye.
        case stopped
        /// Nobody has heard of it.
        case unseen
        /// Online; it refused its map, which the broker keeps.
        case refused
        /// Online, with a newer map in force than the broker keeps for it.
        case ahead
        /// Online; somebody removed its state.
        case cleared

        var agent: String { "a-\(rawValue)" }
        var isThere: Bool { ![.lost, .stopped, .unseen].contains(self) }

        /// The user name of a role for what is done here: each has eight, and the broker one connection for each.
        func account(_ role: Role) -> String {
            let number = 1 + (State.allCases.firstIndex(of: self) ?? 0)
            return number == 1 ? role.rawValue : "\(role.rawValue).\(number)"
        }
    }

    /// Who may do it, by the shipped rules; nil for everyone.
    private struct Verb {
        var words: String
        var by: Role?
    }

    private static let verbs = [
        Verb(words: "agents AGENT"), Verb(words: "describe agent AGENT"), Verb(words: "routes --agent AGENT"),
        Verb(words: "ping --agent AGENT", by: .ops),
        Verb(words: "open scheme://router/demo --agent AGENT", by: .ops),
        Verb(words: "map show --agent AGENT", by: .ops),
        Verb(words: "resolve scheme://router/demo --agent AGENT", by: .ops),
        Verb(words: "failures --agent AGENT", by: .ops),
        Verb(words: "retained list --agent AGENT"),
        Verb(words: "map diff --agent AGENT --file MAP"),
        Verb(words: "relocate --agent AGENT --file MAP --dry-run"),
        Verb(words: "map undo --agent AGENT --dry-run", by: .ops),
        // Last, for it changes what the others see.
        Verb(words: "relocate --agent AGENT --file MAP --unchecked --yes", by: .release),
    ]

    private func map(_ revision: Int, _ entries: String = redirect) throws -> ScratchFile {
        try ScratchFile(
            #"{"type":"map","rev":\#(revision),"entries":[\#(entries)]}"#, name: "map-\(revision).json")
    }

    private static let redirect =
        #"{"routerType":1,"orginPath":"scheme://router/demo","targetPath":"scheme://router/demo1"}"#
    private static let circle =
        #"{"routerType":1,"orginPath":"scheme://a","targetPath":"scheme://b"},{"routerType":1,"orginPath":"scheme://b","targetPath":"scheme://a"}"#

    /// Publishes, as a name may that signs in with the shipped password.
    private func publish(
        _ site: ShippedBroker, as name: String, _ payload: String, on topic: String
    ) async throws {
        var configuration = MQTTLinkConfiguration.oneShot(
            brokers: [try BrokerURL(site.broker.url)], clientID: name)
        configuration.credentials = Credentials(username: name, password: try site.password(name))
        let session = try await MQTTSession.connect(configuration, within: .seconds(60))
        _ = try await session.publish(
            MQTTMessage(topic: topic, payload: Array(payload.utf8), qos: .atLeastOnce, retain: true))
        await session.disconnect()
    }

    /// An agent in each state.
    private func prepare(_ site: ShippedBroker) async throws -> [RunningAgent] {
        let root = "waypost/v1"
        var agents: [RunningAgent] = []
        for state in State.allCases where state != .unseen && state != .lost {
            let agent = try RunningAgent(
                state.agent, broker: site.broker.url,
                arguments: ["--demo", "--group", "lobby"] + site.signIn(state.agent))
            try await agent.online()
            agents.append(agent)
        }
        let fifth = try map(5)
        let sixth = try map(6, Self.circle)
        func send(_ path: String, to state: State, _ options: String..., endsWith status: Int32 = 0)
            async throws
        {
            let ending = try await RunningCommand.run(
                ["relocate", "--agent", state.agent, "--file", path] + options + site.signIn("release"))
            #expect(ending.status == status, "\(ending)")
        }
        for state in State.allCases where state.isThere { try await send(fifth.path, to: state) }
        try await send(sixth.path, to: State.refused, "--yes", "--allow-refused", endsWith: 1)
        let first = try map(1)
        let old = try String(contentsOfFile: first.path, encoding: .utf8)
        try await publish(site, as: "release", old, on: "\(root)/\(State.ahead.agent)/map")
        let stopped = try #require(agents.first { $0.name == State.stopped.agent })
        #expect(try await stopped.terminate() == 0)
        try await publish(
            site, as: State.lost.agent, #"{"state":"offline","epoch":1,"boot":"b","why":"will","agent":"x"}"#,
            on: "\(root)/\(State.lost.agent)/state")
        try await publish(
            site, as: State.lost.agent, #"{"type":"health","status":"green","groups":["lobby"],"at":1}"#,
            on: "\(root)/\(State.lost.agent)/health")
        return agents.filter { $0.name != State.stopped.agent }
    }

    @Test func `each verb in each state works, says who may, or what is so, and advises what runs`()
        async throws
    {
        let names = State.allCases.flatMap { ["--agent", "\($0.agent)@lobby"] }
        let site = try await ShippedBroker(
            names + ["--sender", "ops", "--watcher", "watch", "--watcher", "root", "--release", "release"],
            // Who may do all, as nobody may by the shipped rules.
            rules: { $0.replacingOccurrences(of: "\nuser root\n", with: "\nuser root\ntopic readwrite #\n") })
        let agents = try await prepare(site)
        let next = try map(7)
        // Side by side, for each state has an agent of its own.
        try await withThrowingTaskGroup { group in
            for state in State.allCases {
                group.addTask { [map = next.path] in try await self.run(at: state, site, map) }
            }
            try await group.waitForAll()
        }
        for agent in agents { #expect(try await agent.terminate() == 0) }
    }

    /// Each verb by each role, in their order: the last changes what the others see.
    private func run(at state: State, _ site: ShippedBroker, _ map: String) async throws {
        for verb in Self.verbs {
            if state == .cleared { try await clear(site, "waypost/v1/\(state.agent)/state") }
            let words = verb.words.split(separator: " ").map {
                $0 == "AGENT" ? state.agent : $0 == "MAP" ? map : String($0)
            }
            for role in Role.allCases {
                let ending = try await RunningCommand.run(
                    words + ["--as", role.rawValue] + site.signIn(state.account(role)))
                try await check(ending, verb, state, role)
            }
        }
    }

    /// Somebody removes a retained message who may do all at the broker.
    private func clear(_ site: ShippedBroker, _ topic: String) async throws {
        try await publish(site, as: "root", "", on: topic)
    }

    private func check(
        _ ending: RunningCommand.Ending, _ verb: Verb, _ state: State, _ role: Role
    ) async throws {
        let said = (ending.output + ending.errorLines).joined(separator: "\n")
        let place = "\(role) \(state) \(verb.words): \(ending)"
        let isAllowed = verb.by == nil || verb.by == role
        // Whom nobody has heard of, who went, and what the role may not do are reasons; the other side's fault is none.
        for blame in ["check its rules for \(state.agent)", "let \(state.account(role)) read"] {
            #expect(!said.contains(blame), "\(place)")
        }
        switch state {
        case .unseen where ending.status != 0:
            let isSaid =
                said.contains("no agent \(state.agent)") || said.contains("the role of ")
                || said.contains("has nothing") || said.contains("keeps nothing")
                || said.contains("has no contract")
            #expect(isSaid, "\(place)")
        case .unseen: break
        case _ where !isAllowed:
            #expect(ending.status != 0, "\(place)")
            let isSaid = said.contains("the role of ") || said.contains("--profile")
            #expect(isSaid || !state.isThere && said.contains("offline"), "\(place)")
            if state.isThere { #expect(!said.contains("does not answer"), "\(place)") }
        case _ where state.isThere:
            #expect(!said.contains("does not answer") && !said.contains("did not reply"), "\(place)")
            #expect([0, 1, 3].contains(ending.status), "\(place)")
        default:
            // What the broker keeps is shown; who is away can't be asked, and that is what is said.
            if ending.status != 0 {
                let words = ["offline", "lost", "shut down", "not online", "keeps no", "known"]
                #expect(words.contains { said.contains($0) }, "\(place)")
            }
        }
        for advice in Self.advice(in: said) { try await checkIsCommand(advice, place) }
    }

    /// The command lines in a text: from `waypost` on, as far as one may go.
    private static func advice(in text: String) -> [[String]] {
        text.matches(of: /waypost ((?:[a-z][a-z-]*)(?: [^\s;,()]+)*)/).map { match in
            match.output.1.split(separator: " ").map { String($0) }
        }.filter { Verbs.all.map(\.first).contains($0.first) || $0.first == "rollout" || $0.first == "map" }
    }

    /// What is advised often is tried once.
    private static let tried = Guarded<Set<[String]>>([])

    /// Some beginning of the words is a command that the program takes.
    private func checkIsCommand(_ words: [String], _ place: String) async throws {
        guard Self.tried.withLock({ $0.insert(words).inserted }) else { return }
        for count in (1...words.count).reversed() {
            let line = words.prefix(count).map { $0 == "ID" || $0 == "PROFILE" || $0 == "NAME" ? "k1" : $0 }
            // A verb that is only named is one, too.
            if Verbs.all.contains(line) { return }
            if Verbs.families.contains(line.joined(separator: " ")) { continue }
            if (try? await WaypostCommand.asyncParseAsRoot(line)) != nil { return }
        }
        Issue.record("no command: waypost \(words.joined(separator: " ")), in \(place)")
    }
}
