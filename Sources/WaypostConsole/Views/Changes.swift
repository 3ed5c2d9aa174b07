import Threading
import Waypost
import WaypostBackend
import WaypostMessages

/// What changes something at agents or at the broker; only where the console was started with `--allow-commands`.
struct Changes: Sendable {
    let backend: Backend
    let reader: FleetReader
    let shell: CommandLineText

    /// Does what a page asks for.
    ///
    /// - Parameters:
    ///   - action: `open`, `call`, `level`, `cancel`, `ping` or `forget`.
    ///   - isDry: Whether only the line for the shell is wanted.
    func perform(_ action: String, at name: String, _ body: JSONValue, isDry: Bool) async throws -> JSONValue
    {
        guard Name.isValid(name) else { throw ViewError.notFound("\(name.quoted) is not a name of an agent") }
        if action == "forget" { return try await forget(name, body, isDry: isDry) }
        var (command, line, subject) = try self.command(action, at: name, body)
        let later = try Self.later(action, body)
        line = try shell.adding(later.words, to: line)
        guard !isDry else { return ["command": .string(line)] }
        var options = later.options
        let id = Identifier.ulid()
        options.id = id
        reader.sends(id, to: name, action, subject)
        let pending = try backend.agent(name).send(command, options)
        if options.after != nil || options.window != nil, try await pending.accepted(),
            let begins = pending.begins
        {
            return [
                "id": .string(id), "command": .string(line),
                "reply": ["status": "accepted", "begins": .int(begins), "code": 0, "name": "OK"],
            ]
        }
        let reply = try await pending.reply()
        return [
            "id": .string(id), "command": .string(line),
            "reply": [
                "status": .string(reply.code.status?.rawValue ?? "failed"),
                "code": .int(Int64(reply.code.number)),
                "name": .string(reply.code.name), "detail": .init(reply.detail),
                "nearest": .array(reply.nearest.map(JSONValue.string)), "result": reply.result,
                "payload": reply.payload ?? .null, "ms": .int(reply.time.milliseconds),
                "attempt": .int(Int64(reply.attempt)),
                "warnings": .array(reply.warnings.map(JSONValue.string)),
            ],
        ]
    }

    /// When it begins: `in`, milliseconds from now, and `window`; and the same as options of the shell.
    private static func later(
        _ action: String, _ body: JSONValue
    ) throws(ViewError) -> (options: SendOptions, words: KeyValuePairs<String, String?>) {
        let wait = body["in"]?.boundedInt
        let window = body["window"]?.stringValue.flatMap { $0.isEmpty ? nil : $0 }
        guard wait != nil || window != nil else { return (SendOptions(), [:]) }
        guard ["open", "call"].contains(action),
            wait.map({ (1_000...Command.longestLifetime).contains($0) }) ?? true
        else { throw .invalid("an open or a call may begin in 1 s to 30 d") }
        do throws(Failure) { _ = try window.map { text throws(Failure) in try TimeWindow(text) } } catch {
            throw .invalid(error.detail)
        }
        var options = SendOptions(after: wait.map { WallClock.now() + $0 }, window: window)
        // As long as an agent keeps commands unless it is told otherwise.
        if window != nil {
            options.lifetime = .milliseconds(max(60_000, Command.maximumLifetime - (wait ?? 0)))
        }
        let after = wait.map { "\($0 / 1_000)s" }
        switch (after, window) {
        case (let after?, let window?): return (options, ["after": after, "window": window])
        case (let after?, nil): return (options, ["after": after])
        default: return (options, ["window": window])
        }
    }

    /// What is sent, the line for the shell that sends it, and what it is about.
    func command(
        _ action: String, at name: String, _ body: JSONValue
    ) throws(ViewError) -> (AgentCommand, line: String, subject: String?) {
        func text(_ key: String) throws(ViewError) -> String {
            guard let text = body[key]?.stringValue, !text.isEmpty else {
                throw .invalid("\(key) is missing")
            }
            return text
        }
        switch action {
        case "open":
            let url = try text("url")
            let parameters = body["parameters"]?.objectValue ?? [:]
            let line =
                parameters.isEmpty
                ? try shell.line(["open"], [url], ["agent": name])
                : try shell.line(
                    ["open"], [url], ["agent": name, "params": JSONValue.object(parameters).text])
            return (.open(url, parameters: parameters), line, url)
        case "call":
            let (service, method) = (try text("service"), try text("method"))
            let subject = "\(service).\(method)"
            if let labeled = body["arguments"]?.objectValue {
                let options: KeyValuePairs<String, String?> = [
                    "agent": name, "args": JSONValue.object(labeled).text,
                ]
                return (
                    .call(service, method, labeled: labeled),
                    try shell.line(["call"], [service, method], options), subject
                )
            }
            let arguments = body["arguments"]?.arrayValue ?? []
            let line =
                arguments.isEmpty
                ? try shell.line(["call"], [service, method], ["agent": name])
                : try shell.line(
                    ["call"], [service, method], ["agent": name, "args": JSONValue.array(arguments).text])
            return (.call(service, method, arguments), line, subject)
        case "level":
            let letter = try text("level")
            guard let level = LogLevel(letter: letter) else {
                throw .invalid("level must be one of V D I W E F")
            }
            let span = min(max(body["for"]?.boundedInt ?? 600_000, 1_000), Command.maximumLogDuration)
            let (tag, time) = (body["tag"]?.stringValue, "\(span)ms")
            let options: KeyValuePairs<String, String?> =
                if let tag { ["agent": name, "for": time, "tag": tag] } else { ["agent": name, "for": time] }
            let line = try shell.line(["log"], [letter.uppercased()], options)
            return (
                .log(AgentEvent.Level(level), tag: tag, for: .milliseconds(span)), line, letter.uppercased()
            )
        case "cancel":
            let id = try text("id")
            return (.cancel(id), try shell.line(["cancel"], [id], ["agent": name]), id)
        case "ping": return (.ping, try shell.line(["ping"], [], ["agent": name]), nil)
        default: throw .notFound("there is no action \(action.quoted)")
        }
    }

    private func forget(_ name: String, _ body: JSONValue, isDry: Bool) async throws -> JSONValue {
        let line = JSONValue.string(try shell.line(["forget"], [name], ["yes": nil]))
        guard !isDry else { return ["command": line] }
        try confirm(name, body)
        try await backend.agent(name).forget()
        return ["cleared": .bool(true), "command": line]
    }

    private func confirm(_ name: String, _ body: JSONValue) throws(ViewError) {
        guard body["confirm"]?.stringValue == name else {
            throw .forbidden("it is not confirmed: type \(name)")
        }
    }

    // MARK: Roll-outs

    /// Pauses the roll-out of a group, or takes it back; the answer comes when that is done.
    func steer(
        _ action: String, _ name: String, _ body: JSONValue, isDry: Bool
    ) async throws -> JSONValue {
        let group = name.hasPrefix("@") ? String(name.dropFirst()) : name
        guard Name.isValid(group) else { throw ViewError.notFound("\(name.quoted) is not a name of a group") }
        let why = body["why"]?.stringValue.flatMap { $0.isEmpty ? nil : $0.cut(to: 256) } ?? "by hand"
        guard ["pause", "take-back"].contains(action) else {
            throw ViewError.notFound("there is no action \(action.quoted)")
        }
        let line = JSONValue.string(
            try shell.line(["rollout", action], [], ["group": group, "why": why]))
        guard !isDry else { return ["command": line] }
        try confirm("@\(group)", body)
        let client = backend.group(group)
        let outcome =
            action == "pause"
            ? try await client.pauseRollout(because: why) : try await client.takeRolloutBack(because: why)
        return ["command": line, "detail": .string(outcome.sentence)]
    }

    // MARK: Maps

    /// Sends a draft.
    func relocate(_ body: JSONValue, isDry: Bool) async throws -> JSONValue {
        let draft = try MapDraft(body, author: backend.settings.name)
        let allowed = Set(
            (body["allow"]?.arrayValue ?? []).compactMap { $0.stringValue }.compactMap(MapObjection.Kind.init)
        )
        let line = JSONValue.string(try draft.command(shell, allowing: allowed))
        guard !isDry else { return ["command": line] }
        if case .group = draft.audience { try confirm(draft.audience.description, body) }
        return try await send(draft.relocation, to: draft.audience, allowing: allowed).merging([
            "command": line
        ])
    }

    /// Sends the map before the one in force again, or says what that would be.
    func undo(_ body: JSONValue, isDry: Bool) async throws -> JSONValue {
        let audience = try MapDraft.audience(body)
        let revision = body["revision"]?.boundedInt
        let (kind, name) = audience.option
        let line = JSONValue.string(
            try revision.map {
                try shell.line(["map", "undo"], [], [kind: name, "to": "\($0)", "yes": nil])
            }
                ?? shell.line(["map", "undo"], [], [kind: name, "yes": nil]))
        guard !isDry else { return ["command": line] }
        let undo =
            switch audience {
            case .agent(let name): try await backend.agent(name).previousMap(revision: revision)
            case .group(let name): try await backend.group(name).previousMap(revision: revision)
            }
        guard body["send"] == true else {
            let plan = try await backend.plan(undo.relocation, for: audience)
            return plan.pageJSON.merging([
                "origin": .string(undo.origin), "command": line, "revision": .int(undo.revision),
                "document": .array(undo.entries.map(\.json)),
            ])
        }
        if case .group = audience { try confirm(audience.description, body) }
        return try await send(undo.relocation, to: audience, allowing: MapUndo.allowed).merging([
            "command": line, "origin": .string(undo.origin),
        ])
    }

    private func send(
        _ relocation: Relocation, to audience: Audience, allowing allowed: Set<MapObjection.Kind>
    ) async throws -> JSONValue {
        var answers: [RelocationAnswer] = []
        var silent: [String] = []
        do {
            switch audience {
            case .agent(let name):
                answers = [try await backend.agent(name).relocate(relocation, allowing: allowed)]
            case .group(let name):
                let found = try await backend.group(name).relocate(relocation, allowing: allowed)
                (answers, silent) = (found.values, found.silent.map(\.name))
            }
        } catch let error as BackendError where error.kind == .noReply {
            silent = error.silent.map(\.name)
            if silent.isEmpty, case .agent(let name) = audience { silent = [name] }
        }
        return [
            "answers": .array(
                answers.sorted { $0.agent < $1.agent }.map { answer in
                    [
                        "agent": .string(answer.agent),
                        "state": .string(answer.isApplied ? "applied" : "refused"),
                        "detail": .init(answer.refusal?.description),
                        "inactive": .array(
                            answer.inactive.map {
                                ["number": .int(Int64($0.number)), "reason": .string($0.reason)]
                            }),
                    ]
                }),
            "silent": .array(silent.map(JSONValue.string)),
        ]
    }
}

extension JSONValue {
    /// As it is written on the wire.
    fileprivate var text: String { String(decoding: serialized(), as: UTF8.self) }
}

extension RolloutOutcome {
    fileprivate var sentence: String {
        switch self {
        case .done: "It is done: the candidate is the base now."
        case .takenBack(let why): "It is taken back: \(why)."
        case .paused(let why): "It is paused: \(why)."
        case .superseded(let holder): "\(holder) steers it now."
        }
    }
}
