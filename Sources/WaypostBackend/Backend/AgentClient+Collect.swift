import MQTTLink
import Threading
import Waypost
import WaypostFleet
import WaypostMessages

extension AgentClient {
    /// Reads all that is known of the agent: what the broker keeps of it, and what it answers.
    ///
    /// What can't be had is noted in the bundle with the reason. An agent that is offline is asked nothing.
    /// - Parameters:
    ///   - maskedKeys: Keys whose values are masked beside those of password, token and the like.
    ///   - progress: Called after each part.
    /// - Throws: ``BackendError`` of kind `invalid` when the name is none, `CancellationError` when the task is cancelled.
    public func collect(
        maskedKeys: [String] = [], progress: @escaping (AgentBundle.Part) -> Void = { _ in }
    ) async throws -> AgentBundle {
        try checkName()
        var reader = BundleReader(
            agent: self, progress: progress, bundle: AgentBundle(agent: name, maskedKeys: maskedKeys))
        try await reader.read()
        return reader.bundle
    }
}

/// Reads part after part of a bundle.
private struct BundleReader {
    /// Lines of JSON, or one document with its time.
    enum Content {
        case lines([String])
        case document(JSONValue, asOf: Int64? = nil)
    }

    let agent: AgentClient
    let progress: (AgentBundle.Part) -> Void
    var bundle: AgentBundle

    private var settings: BackendConfiguration { agent.backend.settings }

    mutating func read() async throws {
        bundle.add("sender.json", "who collected it, and with which settings", Self.summary(of: settings))
        let isOffline = try await readRetained() == false
        let absence =
            "the broker says that \(agent.name) is offline; its own machine has more"
        let silence = try await read(
            "agent/health.json", "health, asked for now", unless: isOffline ? absence : nil
        ) {
            let health = try await $0.ping().json
            return .document(health, asOf: health["at"]?.boundedInt)
        }
        // One that did not answer once is not waited for again.
        try await read("agent/events.jsonl", "recent events, the oldest first", unless: silence) {
            .lines(
                try await $0.replay(last: 5_000).map { line in String(decoding: line.source, as: UTF8.self) })
        }
        try await read("agent/failures.jsonl", "failures, the oldest first", unless: silence) {
            .lines(try await $0.failures().reversed().map { $0.json.line })
        }
        try await read("agent/maps.json", "maps in force", unless: silence) {
            let maps = try await $0.maps()
            return .document(maps.json, asOf: maps.asOf)
        }
        try await read(
            "agent/map-history.jsonl", "the last maps that were in force, without entries", unless: silence
        ) {
            .lines(try await $0.mapHistory().map { $0.json.line })
        }
    }

    /// Reads what the broker keeps; returns whether the agent is online, nil when that is not known.
    private mutating func readRetained() async throws -> Bool? {
        let topics = settings.topics
        let texts = [
            (topics.state(of: agent.name), "state", "whether it is online"),
            (topics.health(of: agent.name), "health", "health, as published last"),
            (topics.routes(of: agent.name), "routes", "routes"),
            (topics.contract(of: agent.name), "contract", "services and redirects"),
            (topics.navigation(of: agent.name), "navigation", "screens"),
            (topics.applied(of: agent.name), "map-applied", "maps in force, as published last"),
            (
                topics.map(of: .agent(agent.name)), "map",
                "the map that the broker keeps for it, without values"
            ), (topics.groups(of: agent.name), "groups", "the document of its groups that the broker keeps"),
        ]
        let started = WallClock.now()
        var kept: RetainedDocuments?
        var reason = "the broker keeps none, or does not show it to \(settings.name)"
        do {
            kept = try await agent.retained()
        } catch let error where !(error is CancellationError) {
            reason = words(error)
        }
        for (topic, file, text) in texts {
            let path = "broker/\(file).json"
            if var json = kept?.json(topic) {
                if file == "map" { json = Self.withoutValues(json) }
                bundle.add(path, text, json, asOf: json["at"]?.boundedInt, since: started)
            } else {
                let isThere = kept?.documents.contains { $0.topic == topic } == true
                bundle.miss(path, text, isThere ? "what the broker keeps is no JSON" : reason, since: started)
            }
            report()
        }
        return kept?.state?.isOnline
    }

    /// Adds what `body` brings, or why it brings nothing, which it returns.
    @discardableResult
    private mutating func read(
        _ file: String, _ text: String, unless reason: String?, _ body: (AgentClient) async throws -> Content
    ) async throws -> String? {
        let started = WallClock.now()
        var missing = reason
        if missing == nil {
            do {
                switch try await body(agent) {
                case .lines(let lines): bundle.add(file, text, lines: lines, since: started)
                case .document(let json, let asOf): bundle.add(file, text, json, asOf: asOf, since: started)
                }
            } catch let error where !(error is CancellationError) {
                missing = words(error)
            }
        }
        if let missing { bundle.miss(file, text, missing, since: started) }
        report()
        return missing
    }

    private func report() { if let part = bundle.parts.last { progress(part) } }

    private func words(_ error: any Error) -> String {
        (error as? BackendError).map { settings.words($0.wording) } ?? error.words
    }

    /// A map whose values are left out: the agent masks those of its own keys, which are not known here.
    private static func withoutValues(_ json: JSONValue) -> JSONValue {
        guard let document = try? MapFile.document(json) else { return ["unreadable": true] }
        return shape(of: document)
    }

    private static func shape(of json: JSONValue) -> JSONValue {
        switch json {
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { key, value in
                        guard key == "params" else { return (key, shape(of: value)) }
                        return (key, value.objectValue.map { .object($0.mapValues { _ in "***" }) } ?? "***")
                    }))
        case .array(let elements): .array(elements.map(shape))
        case .string(let text): .string(RouteURL.withoutValues(text))
        default: json
        }
    }

    private static func summary(of settings: BackendConfiguration) -> JSONValue {
        [
            "name": .string(settings.name), "version": .string(Version.current),
            "root": .string(settings.root),
            "brokers": .array(settings.brokers.map { .string($0.description) }),
            "username": settings.credentials.map { .string($0.username) } ?? .null,
            "usesTLS": .bool(settings.tls != nil), "signer": settings.signer.map { .string($0.id) } ?? .null,
        ]
    }
}

extension JSONValue {
    fileprivate var line: String { String(decoding: serialized(), as: UTF8.self) }
}
