import Foundation
import Logging
import TestSupport
import Testing
import Waypost
import WaypostBackend

/// What stands in the documentation on maps, compiled, and run against a real broker and the demo's agents.
@Suite(.aFewAtATime, .timeLimit(.minutes(60)))
struct `Snippets on maps` {
    typealias Backend = WaypostBackend.Backend
    private let logger = Logger(label: "shop")

    // snippet
    func show(_ agent: AgentClient) async throws -> [String] {
        try await agent.maps().layers.flatMap { layer in
            layer.entries.map { "\(layer.name) \($0.number): \($0.state), \($0.reason ?? "always")" }
        }
    }

    func act(on url: String, at agent: AgentClient) async throws -> [String] {
        let maps = try await agent.maps(at: url)
        return maps.acting.map {
            "entry \($0.number) of \($0.layer), by \(maps.layer($0.layer)?.author ?? "?")"
        }
    }
    // end snippet

    // snippet
    func repair(_ agent: AgentClient) async throws -> Bool {
        let typo = RelocationEntry(
            .replace(origin: "scheme://router/typo", target: "scheme://router/demo"))
        let answer = try await agent.relocate([typo])
        let resolved = try await agent.resolve(["scheme://router/typo"])
        return answer.isApplied && resolved.first?.final == "scheme://router/demo"
    }
    // end snippet

    // snippet
    func sale(revision: Int64) throws -> Relocation {
        let demo = RelocationEntry(
            .replace(origin: "scheme://router/demo", target: "scheme://router/orders"))
        return try .map([demo], revision: revision, by: "eva")
    }

    func read(_ file: URL) throws -> Relocation {
        try Relocation(document: Array(Data(contentsOf: file)))
    }
    // end snippet

    // snippet
    func publish(_ map: Relocation, to agent: AgentClient) async throws -> RelocationAnswer? {
        let diff = try await agent.diff(map)
        for entry in diff.removed { logger.notice("goes: \(entry)") }
        for url in diff.destinations ?? [] { logger.notice("\(url.subject): \(url.before) → \(url.after)") }
        for entry in diff.inactive ?? [] { logger.warning("no effect: \(entry.entry), \(entry.reason)") }
        if let refusal = diff.refusal {
            logger.error("would be refused: \(refusal.code): \(refusal.detail)")
            return nil
        }
        // What goes, and what has no effect, is meant.
        return try await agent.relocate(map, allowing: [.loss, .inactive])
    }
    // end snippet

    // snippet
    func goBack(_ agent: AgentClient) async throws -> Int64? {
        for version in try await agent.mapHistory(layer: "agent") {
            logger.info("rev \(version.revision ?? 0) of \(version.author ?? "?"): \(version.digest)")
        }
        let undo = try await agent.previousMap()
        logger.notice("back to \(undo.origin): \(undo.entries.count) entries, as rev \(undo.revision)")
        let answer = try await agent.undoMap()
        return answer.isApplied ? try await agent.maps().layer("agent")?.revision : nil
    }

    func restore(_ revision: Int64, of agent: AgentClient) async throws -> Data {
        let kept = try await agent.map(revision: revision)
        return try JSONEncoder().encode(kept.json)
    }

    func oldest(of agent: AgentClient) async throws -> KeptMap? {
        guard let version = try await agent.mapHistory().last else { return nil }
        return try await agent.map(version)
    }
    // end snippet

    // snippet
    func publish(_ map: Relocation, to lobby: GroupClient) async throws -> (
        refused: [String], silent: [String]
    ) {
        let plan = try await lobby.plan(map)
        for objection in plan.objections { logger.warning("\(objection.kind): \(objection.text)") }
        guard plan.objections.allSatisfy({ $0.kind == .inactive }) else { return (plan.members, []) }
        let sent = try await lobby.relocate(map, allowing: [.inactive])
        return (sent.values.filter { !$0.isApplied }.map(\.agent), sent.silent.map(\.name))
    }

    func revisions(_ lobby: GroupClient) async throws -> [String: Int64] {
        var revisions: [String: Int64] = [:]
        for maps in try await lobby.maps(layer: "@lobby").values {
            revisions[maps.agent] = maps.layer("@lobby")?.revision
        }
        return revisions
    }

    func takeBack(_ lobby: GroupClient) async throws -> (applied: [String], silent: [String]) {
        for member in try await lobby.mapHistory(layer: "@lobby").values {
            logger.info("\(member.agent) keeps \(member.versions.count) maps")
        }
        let undo = try await lobby.previousMap()
        logger.notice("back to \(undo.origin), as rev \(undo.revision)")
        let sent = try await lobby.undoMap()
        return (sent.values.filter(\.isApplied).map(\.agent), sent.silent.map(\.name))
    }
    // end snippet

    private static func redirect(_ origin: String, _ target: String) -> RelocationEntry {
        RelocationEntry(
            .replace(origin: "scheme://router/\(origin)", target: "scheme://router/\(target)"))
    }
    private static let first = [
        redirect("demo", "demo1"), RelocationEntry(.delete(path: "scheme://router/demo2")),
        redirect("x", "gone"),
    ]
    private static let second = [redirect("demo", "orders")]

    private func withAgents(
        _ agents: [(String, [String])], _ body: (TestBroker, Backend, [AgentProcess]) async throws -> Void
    ) async throws {
        let broker = try await TestBroker.start()
        defer { broker.end() }
        var processes: [AgentProcess] = []
        for (name, arguments) in agents {
            let agent = try AgentProcess(name, broker: broker.url, arguments: ["--demo"] + arguments)
            try await agent.online()
            processes.append(agent)
        }
        try await Backend.with(BackendConfiguration(broker: broker.url, name: "shop")) { backend in
            try await body(broker, backend, processes)
        }
        for agent in processes { _ = try? await agent.terminate() }
    }

    @Test func `the maps in force say which entry acts on a URL, by whom, and which do nothing`() async throws
    {
        try await withAgents([("k1", [])]) { _, backend, _ in
            let agent = backend.agent("k1")
            #expect(try await agent.maps().layers.isEmpty)
            #expect(try await repair(agent))
            let sent = try await agent.relocate(
                .map(Self.first, revision: 1, by: "eva"), allowing: [.inactive, .loss])
            #expect(sent.isApplied && sent.entries == 3 && sent.omitted == 0)
            #expect(sent.inactive.map(\.number) == [3] && sent.inactive.first?.layer == "agent")
            // The new map has emptied the patch; now the patch leads to what the map redirects.
            #expect(try await !repair(agent))
            #expect(
                try await act(on: "scheme://router/demo?id=2", at: agent) == ["entry 1 of agent, by eva"])
            #expect(
                try await act(on: "scheme://router/typo", at: agent)
                    == ["entry 1 of patch, by shop", "entry 1 of agent, by eva"])
            let shown = try await show(agent)
            #expect(shown.count == 4 && shown[0] == "agent 1: active, always", "\(shown)")
            #expect(shown[2].hasPrefix("agent 3: inactive, ") && shown[3].hasPrefix("patch 1: "), "\(shown)")
            let maps = try await agent.maps(layer: "agent", at: "scheme://router/demo2")
            let layer = try #require(maps.layer("agent"))
            #expect(maps.layers.count == 1 && layer.revision == 1 && layer.since ?? 0 > 0)
            #expect(
                layer.state == .active && layer.refused == nil && layer.entries.map(\.entry) == Self.first)
            #expect(maps.resolved?.failure?.code == .noRoute)
            #expect(maps.resolved?.failure?.detail.contains("deleted by entry 2 of agent") == true)
            let copy = try JSONDecoder().decode(AgentMaps.self, from: JSONEncoder().encode(maps))
            #expect(copy == maps)
            let bad = try await agent.relocate(
                Relocation(
                    document: Array(
                        #"{"type":"map","rev":7,"entries":[{"routerType":1,"orginPath":"scheme://services/x","targetPath":"scheme://services"}]}"#
                            .utf8)), allowing: [.loss, .refused])
            #expect(bad.refusal?.code == .notAllowed && bad.inactive.isEmpty)
            let refused = try #require(try await agent.maps().layer("agent")?.refused)
            #expect(refused.revision == 7 && refused.reason.code == .notAllowed && refused.at > 0)
        }
    }

    @Test func `a diff says what would change and sends nothing, and what was sent is undone`() async throws {
        try await withAgents([("k1", [])]) { _, backend, _ in
            let agent = backend.agent("k1")
            _ = try await agent.relocate(.map(Self.first, revision: 1, by: "eva"), allowing: [.inactive])
            let second = try sale(revision: 2)
            let diff = try await agent.diff(second)
            #expect(diff.agents == ["k1"] && diff.added.isEmpty && diff.removed == Array(Self.first[1...]))
            #expect(diff.changed.map(\.before) == [Self.first[0]] && diff.changed.map(\.after) == Self.second)
            #expect(diff.disappearing == 2 && !diff.isEmpty && diff.refusal == nil && diff.inactive == [])
            let moved = try #require(diff.destinations?.first { $0.subject == "scheme://router/demo" })
            #expect(moved.before == "scheme://router/demo1" && moved.after == "scheme://router/orders")
            let json = try JSONValue(encoding: diff)
            #expect(json["changes"]?.arrayValue?.count == 3)
            #expect(try await agent.maps().layer("agent")?.revision == 1)
            let circle = [Self.redirect("a", "b"), Self.redirect("b", "a")]
            #expect(try await publish(.map(circle, revision: 2), to: agent) == nil)
            #expect(try await agent.diff(.map(circle, revision: 2)).refusal?.code == .cycle)
            #expect(try await agent.diff(.patch(Self.first)).added == Self.first)
            #expect(try await publish(second, to: agent)?.isApplied == true)
            #expect(try await goBack(agent) == 3)
            let history = try await agent.mapHistory()
            #expect(history.map(\.revision) == [3, 2, 1] && history.first?.isInForce == true)
            let oldest = try #require(history.last)
            #expect(oldest.author == "eva" && oldest.until != nil && oldest.layer == "agent")
            #expect(oldest.changes?.added == 3 && oldest.bytes ?? 0 > 0)
            #expect(history[1].changes?.removed == 2 && history[1].changes?.changed == 1)
            let whole = try #require(try await self.oldest(of: agent))
            #expect(whole.entries == Self.first && !whole.isMasked && whole.version.digest == oldest.digest)
            let file = URL(filePath: NSTemporaryDirectory() + UUID().uuidString)
            defer { try? FileManager.default.removeItem(at: file) }
            try await restore(1, of: agent).write(to: file)
            #expect(try read(file).kind == .map && read(file).entries == Self.first)
            let copy = try JSONDecoder().decode([MapVersion].self, from: JSONEncoder().encode(history))
            #expect(copy == history)
            #expect(try await agent.undoMap(to: 2).isApplied)
            #expect(try await agent.maps().layer("agent")?.entries.map(\.entry) == Self.second)
        }
    }

    @Test func `a group tells who took a map, who refused it and who is silent`() async throws {
        let lobby = ["--group", "lobby"]
        try await withAgents([("k1", lobby), ("k2", lobby), ("k3", lobby)]) { _, backend, agents in
            _ = try await agents[2].terminate()
            let group = backend.group("lobby")
            let sent = try await publish(.map(Self.first, revision: 1), to: group)
            #expect(sent == ([], ["k3"]))
            #expect(try await revisions(group) == ["k1": 1, "k2": 1])
            let plan = try await group.plan(.map(Self.second, revision: 2))
            #expect(plan.members == ["k1", "k2", "k3"] && plan.seesMembers && plan.disappearing == 2)
            #expect(plan.diffs.first?.agents.prefix(2) == ["k1", "k2"] && plan.retained?.revision == 1)
            #expect(try JSONValue(encoding: plan)["audience"] == "@lobby")
            #expect(
                try await group.relocate(.map(Self.second, revision: 2), allowing: [.loss]).values.count == 2)
            let undo = try await group.previousMap()
            #expect(undo.entries == Self.first && undo.revision == 3)
            #expect(try await takeBack(group) == (["k1", "k2"], ["k3"]))
            let maps = try await group.maps()
            #expect(maps.silent.map(\.name) == ["k3"] && !maps.isComplete && maps.refusals.isEmpty)
            let history = try await group.mapHistory(layer: "@lobby")
            #expect(history.values.map(\.agent) == ["k1", "k2"])
            #expect(history.values.first?.versions.map(\.revision) == [3, 2, 1])
        }
    }

    @Test func `what can't be asked or sent is an error of a kind`() async throws {
        try await withAgents([("k1", [])]) { _, backend, _ in
            func kind<Value>(_ body: () async throws -> Value) async -> BackendError.Kind? {
                await #expect(throws: BackendError.self) { _ = try await body() }?.kind
            }
            let map = try Relocation.map(Self.second, revision: 1)
            let unknown = await #expect(throws: BackendError.self) {
                try await backend.agent("k11").diff(map)
            }
            #expect(unknown?.kind == .unknownReceiver && unknown?.nearest == ["k1"])
            let none = try await backend.group("none").plan(map)
            #expect(none.objections.map(\.kind).contains(.unknownReceiver) && none.members.isEmpty)
            #expect(
                await kind { try await backend.agent("k 1").maps() }
                    == .invalid)
            #expect(
                await kind { try await backend.agent("k1").map(revision: 9) }
                    == .refused)
            #expect(
                await kind { try await backend.agent("k1").undoMap() }
                    == .notSent)
            #expect(throws: BackendError.self) { try Relocation.map([], revision: 0) }
            #expect(throws: BackendError.self) { try Relocation.patch(Self.second + Self.second) }
            #expect(throws: BackendError.self) { try Relocation(document: Array("{".utf8)) }
        }
    }
}
