import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// What agents are asked for: it changes nothing there.
struct AskingViews: Sendable {
    /// The most agents that one question goes to.
    private static let maximumAgents = 20
    /// The largest draft of a map, in bytes: what an agent takes.
    static let maximumDocument = 256 * 1_024

    let backend: Backend
    let reader: FleetReader
    let shell: CommandLineText

    private func checked(_ name: String) throws(ViewError) -> AgentClient {
        guard Name.isValid(name) else { throw .notFound("\(name.quoted) is not a name of an agent") }
        return backend.agent(name)
    }

    // MARK: One agent

    func maps(_ name: String) async throws -> JSONValue {
        let maps = try await checked(name).maps()
        return ["asOf": .int(maps.asOf), "layers": .array(maps.layers.map(\.pageJSON))]
    }

    /// All that is known of the agent, as one archive in base64 under a name for a file.
    func bundle(_ name: String) async throws -> JSONValue {
        let bundle = try await checked(name).collect()
        return [
            "file": .string("waypost-\(name)-\(Timestamp.compact(WallClock.now())).tar.gz"),
            "data": .string(Base64.encode(try bundle.archive())),
            "missing": .array(bundle.parts.filter { $0.missing != nil }.map { .string($0.file) }),
        ]
    }

    func history(_ name: String, layer: String?) async throws -> JSONValue {
        let versions = try await checked(name).mapHistory(layer: layer)
        return [
            "asOf": .int(WallClock.now()),
            "versions": .array(
                versions.map { version in
                    [
                        "layer": .string(version.layer), "revision": .init(version.revision),
                        "digest": .string(version.digest), "by": .init(version.author),
                        "from": .int(version.from), "until": .init(version.until),
                        "bytes": .init(version.bytes),
                        "added": .init(version.changes.map { Int64($0.added) }),
                        "removed": .init(version.changes.map { Int64($0.removed) }),
                        "changed": .init(version.changes.map { Int64($0.changed) }),
                    ]
                }),
        ]
    }

    /// What the agent opens and calls, as the broker keeps it, with the redirects in force.
    func routes(_ name: String) async throws -> JSONValue {
        let client = try checked(name)
        let contract = try await backend.settings.contract(of: name, within: .seconds(5))
        // An agent that is away has its routes at the broker, and tells no maps.
        let maps = try? await client.maps(deadline: .seconds(3))
        let redirects = (maps?.layers ?? []).flatMap { layer in
            layer.entries.compactMap { entry -> JSONValue? in
                guard let kind = entry.entry?.kind else { return nil }
                let target: String?
                switch kind {
                case .replace(_, let to): target = to
                case .reset(_, let to): target = to
                default: target = nil
                }
                return [
                    "from": .init(entry.entry?.subjectPath), "to": .init(target),
                    "layer": .string(layer.name),
                    "entry": .int(Int64(entry.number)), "active": .bool(entry.state == .active),
                    "text": .init(entry.entry?.text), "reason": .init(entry.reason),
                ]
            }
        }
        return [
            "asOf": .int(WallClock.now()), "routes": .array(contract.routes.map(\.pageJSON)),
            "redirects": .array(redirects), "mapsKnown": .bool(maps != nil),
            "services": .array(contract.services.map(\.pageJSON)),
            "build": .init(reader.read { $0.rows[name]?.summary.version }),
        ]
    }

    /// The newest lines that the agent still has of the time before those that are kept here.
    func replay(_ name: String, _ query: String?) async throws -> JSONValue {
        let view = try LogView(query, agent: name)
        let events = try await checked(name).replay(query, last: LogView.maximumLines)
        let now = WallClock.now()
        let lines = view.json(ofReplayed: events, reader.snapshot(), now: now)
        return lines.merging(["asOf": .int(now), "more": .bool(events.count == LogView.maximumLines)])
    }

    /// A command as the agent knows it, with the lines about it.
    func command(_ id: String, _ name: String) async throws -> JSONValue {
        guard Name.isValid(id) else { throw ViewError.notFound("\(id.quoted) is not an id of a command") }
        let client = try checked(name)
        let (seen, kept) = reader.read { ($0.commands.command(id, of: name), $0.lines) }
        let lines = kept.lines(before: kept.next).lazy.filter { $0.line.event.ref == id }.prefix(200)
            .map(\.json).reversed()
        var members = seen?.json.objectValue ?? ["id": .string(id), "agent": .string(name)]
        var reason: JSONValue = .null
        do {
            if let timeline = try await client.inspect(id) {
                members["received"] = .init(timeline.received)
                members["running"] = .init(timeline.running)
                members["ended"] = .init(timeline.ended ?? members["ended"]?.time)
                members["due"] = .init(timeline.due ?? members["due"]?.time)
                members["attempt"] = .int(Int64(timeline.attempt))
                members["state"] = .string(timeline.state.rawValue)
                if let code = timeline.code { members["code"] = .int(Int64(code)) }
                if let detail = timeline.detail { members["detail"] = .string(detail) }
            } else if seen == nil {
                reason = .string("\(name) does not know it: it never came, or was forgotten")
            }
        } catch let error as BackendError {
            reason = .string(error.wording.shell)
        }
        return [
            "asOf": .int(WallClock.now()), "command": .object(members), "lines": .array(Array(lines)),
            "failure": reason,
        ]
    }

    // MARK: Several agents

    /// Where a URL leads: at these agents, or at one of each distinct build and map.
    func resolve(_ body: JSONValue) async throws -> JSONValue {
        guard let url = body["url"]?.stringValue, !url.isEmpty, url.utf8.count <= 2_048 else {
            throw ViewError.invalid("url is missing, or longer than 2048 bytes")
        }
        let named = (body["agents"]?.arrayValue ?? []).compactMap(\.stringValue)
        let groups = named.isEmpty ? builds() : named.map { (agents: [$0], build: build(of: $0)) }
        guard groups.count <= Self.maximumAgents else {
            throw ViewError.invalid("at most \(Self.maximumAgents) agents are asked at once")
        }
        for agent in groups.compactMap(\.agents.first) { _ = try checked(agent) }
        let results = await withTaskGroup(of: (Int, JSONValue).self) { tasks in
            for (index, group) in groups.enumerated() {
                guard let agent = group.agents.first else { continue }
                tasks.addTask {
                    (index, await resolve(url, at: agent, of: group.agents, build: group.build))
                }
            }
            return await tasks.reduce(into: []) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
        let line =
            try groups.first?.agents.first.map { try shell.line(["resolve"], [url], ["agent": $0]) }
            ?? shell.line(["resolve"], [url])
        return [
            "asOf": .int(WallClock.now()), "results": .array(results),
            "command": .string(line),
        ]
    }

    private func resolve(
        _ url: String, at agent: String, of agents: [String], build: String
    ) async -> JSONValue {
        var members: [String: JSONValue] = [
            "agents": .array(agents.prefix(100).map(JSONValue.string)), "count": .int(Int64(agents.count)),
            "asked": .string(agent), "build": .string(build), "url": .string(url), "screen": .null,
        ]
        do {
            guard let found = try await backend.agent(agent).resolve([url], deadline: .seconds(5)).first
            else {
                throw BackendError(.noReply, "\(agent) gave no answer")
            }
            members["final"] = .string(found.final)
            members["route"] = .init(found.route ?? found.method)
            members["hops"] = .array(
                found.hops.map { hop in
                    [
                        "from": .string(hop.from), "to": .string(hop.to), "layer": .init(hop.layer),
                        "entry": .init(hop.entry.map(Int64.init)), "route": .init(hop.route),
                    ]
                })
            members["interceptors"] = .array(found.interceptors.map(JSONValue.string))
            members["rules"] = .array(found.rules.map(JSONValue.string))
            members["failure"] = found.failure?.pageJSON ?? .null
            members["silent"] = false
        } catch {
            members["failure"] = [
                "code": .null, "name": "NO_ANSWER", "detail": .string(error.words), "nearest": [],
            ]
            members["silent"] = true
        }
        return .object(members)
    }

    private func build(of agent: String) -> String {
        reader.read { $0.rows[agent].map { "\($0.summary.version), map \($0.summary.map)" } ?? "not known" }
    }

    /// The agents that are online, those of one version and one map together; the largest groups first.
    private func builds() -> [(agents: [String], build: String)] {
        let groups = Dictionary(
            grouping: reader.read(\.rows).values.lazy.map(\.summary).filter { summary in
                switch summary.condition {
                case .healthy, .unclear, .failing, .mapRefused: true
                case .lost, .stopped, .unknown: false
                }
            }
        ) { "\($0.version), map \($0.map)" }
        return groups.map { (agents: $0.value.map(\.name).sorted(), build: $0.key) }
            .sorted { ($1.agents.count, $0.build) < ($0.agents.count, $1.build) }
            .prefix(Self.maximumAgents).map(\.self)
    }

    /// What a draft would change; nothing is sent.
    func diff(_ body: JSONValue) async throws -> JSONValue {
        let draft = try MapDraft(body, author: backend.settings.name)
        let plan = try await backend.plan(draft.relocation, for: draft.audience)
        if let absence = plan.absence { throw BackendError(.unknownReceiver, "\(absence)") }
        return plan.pageJSON.merging([
            "asOf": .int(WallClock.now()), "document": draft.json,
            "command": .string(try draft.command(shell)),
        ])
    }
}

extension Backend {
    /// What a document would change at an agent, or at the members of a group.
    func plan(_ relocation: Relocation, for audience: Audience) async throws -> MapPlan {
        switch audience {
        case .agent(let name): try await agent(name).plan(relocation)
        case .group(let name): try await group(name).plan(relocation)
        }
    }
}

/// A map as it was pasted or dropped into the page, and for whom it is.
struct MapDraft: Sendable {
    let audience: Audience
    let relocation: Relocation
    let json: JSONValue

    /// - Throws: ``ViewError`` or ``BackendError`` naming what does not fit.
    init(_ body: JSONValue, author: String) throws {
        audience = try Self.audience(body)
        let document = body["document"] ?? .null
        let bytes: [UInt8]
        if let text = document.stringValue { bytes = Array(text.utf8) } else { bytes = document.serialized() }
        guard !document.isNull, bytes.count <= AskingViews.maximumDocument else {
            throw ViewError.invalid("document is missing, or larger than 256 KiB")
        }
        do {
            json = try JSONValue(parsing: bytes, limits: .trustedFile)
        } catch {
            throw ViewError.invalid("the document is not JSON: \(error)")
        }
        relocation = try Relocation(document: bytes, by: author)
        _ = try relocation.message(to: audience, .standard)
    }

    static func audience(_ body: JSONValue) throws(ViewError) -> Audience {
        let target = body["target"]?.stringValue ?? ""
        let name = target.hasPrefix("@") ? String(target.dropFirst()) : target
        guard Name.isValid(name) else {
            throw .invalid(
                "target must be the name of an agent, or @ and that of a group; found \(target.quoted)")
        }
        return target.hasPrefix("@") ? .group(name) : .agent(name)
    }

    func command(
        _ shell: CommandLineText, allowing allowed: Set<MapObjection.Kind> = []
    ) throws(ViewError) -> String {
        let (kind, name) = audience.option
        // Flags are words of their own.
        return try shell.line(
            ["relocate"] + allowed.subtracting([.loss]).map(\.option).sorted(), [],
            [kind: name, "file": "map.json", "yes": nil])
    }
}

extension Audience {
    /// The option of the command line that names it.
    var option: (name: String, value: String) {
        switch self {
        case .agent(let name): ("agent", name)
        case .group(let name): ("group", name)
        }
    }
}
