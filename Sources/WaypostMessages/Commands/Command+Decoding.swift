package import Waypost

extension Command {
    /// Reads the id out of a payload, before anything else is looked at, so that a refusal can be answered.
    ///
    /// - Throws: ``Failure`` 422 when it is missing or not `[A-Za-z0-9_-]{1,64}`.
    package static func id(in fields: Fields) throws(Failure) -> String {
        if let other = fields.other {
            throw Failure(.badField, "a command is one JSON object; found \(other.kind)")
        }
        let id = try fields.required("id", fields.text("id"))
        guard Name.isValid(id) else {
            throw Failure(.badField, "id must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        return id
    }

    /// Reads the id out of a JSON value.
    package static func id(in json: JSONValue) throws(Failure) -> String { try id(in: Fields(of: json)) }

    /// Checks the fields of a command whose `id` was read already.
    ///
    /// - Parameters:
    ///   - arrival: the agent's clock, in milliseconds since 1970.
    ///   - longest: how long the agent keeps a command, in milliseconds.
    /// - Throws: ``Failure`` 422 naming the field, 404 `UNKNOWN_TYPE`, or 505 naming the supported versions.
    package init(
        id: String, fields: Fields, arrival: Int64, keptFor longest: Int64 = maximumLifetime
    ) throws(Failure) {
        try fields.checkVersion()
        let at = try fields.integer("at", in: 0...Fields.latestTime)
        let expires = try fields.integer("exp", in: 0...Fields.latestTime)
        let timeToLive = try fields.integer("ttl", in: 1...Command.longestLifetime)
        guard expires == nil || timeToLive == nil else {
            throw Failure(.badField, "exp and ttl are both set; send one of them")
        }
        let lane = try fields.text("lane") ?? Command.defaultLane
        guard Name.isValid(lane) else {
            throw Failure(.badField, "lane must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        let operation = try Operation(fields)
        let schedule = try CommandSchedule(fields)
        guard schedule == nil || operation.mayWait else {
            throw Failure(.badField, "after and window are for open, call and navigate")
        }
        let when = try fields.object("when").map(JSONValue.object)
        if let when {
            guard operation.mayWait else { throw Failure(.badField, "when is for open, call and navigate") }
            _ = try RelocationCondition(ofCommand: when)
        }
        let standard =
            schedule?.window == nil
            ? (schedule?.after ?? at ?? arrival) + Command.defaultLifetime : arrival + longest
        let wanted = expires ?? timeToLive.map { arrival + $0 } ?? standard
        self.init(
            id: id,
            operation: operation,
            at: at,
            expires: min(wanted, arrival + longest),
            hasAbsoluteExpiry: expires != nil,
            timeToLive: timeToLive,
            lane: lane,
            schedule: schedule,
            when: when,
            sequence: try fields.integer("seq", in: 0...Fields.largestInteger),
            // What is none is as if it were not there (Trace Context, 4.3).
            trace: TraceParent.valid(fields["trace"]?.stringValue))
        if trace != nil { traceState = TraceState.valid(fields[TraceState.property]?.stringValue) }
        if let after = schedule?.after, after >= self.expires {
            throw Failure(
                .badField,
                wanted > self.expires
                    ? "after is in \(TimeText.span(after - arrival)); this agent keeps a command for \(TimeText.span(longest)) at most (command-life)"
                    : "the command expires before its time comes: after is \(Timestamp.rfc3339(after)), exp is \(Timestamp.rfc3339(self.expires))"
            )
        }
        warnings = Self.warnings(of: fields, operation)
        // An exp in seconds is another mistake.
        if wanted > self.expires, !Timestamp.looksLikeSeconds(wanted) {
            warnings.append(
                "it is kept for \(TimeText.span(longest)), not for \(TimeText.span(wanted - arrival)): see command-life"
            )
        }
    }

    /// Checks the fields of a JSON value.
    package init(id: String, fields json: JSONValue, arrival: Int64) throws(Failure) {
        try self.init(id: id, fields: Fields(of: json), arrival: arrival)
    }
}

extension Fields {
    fileprivate func commandID(_ name: String) throws(Failure) -> String {
        let id = try required(name, text(name))
        guard Name.isValid(id) else {
            throw Failure(
                .badField, "\(name) must be the id of a command: 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        return id
    }

    fileprivate func move() throws(Failure) -> NavigationMove {
        let name = try required("action", text("action"))
        guard NavigationMove.names.contains(name) else {
            throw Failure(
                .badField,
                "action must be one of \(NavigationMove.names.joined(separator: " ")); found \(name.quoted)")
        }
        let tab = try integer("tab", in: 0...1_000)
        guard let move = NavigationMove(name: name, tab: tab.map(Int.init)) else {
            throw Failure(.badField, "tab is missing (0-based tab index)")
        }
        return move
    }

    fileprivate func level(_ name: String) throws(Failure) -> LogLevel {
        let letter = try required(name, text(name))
        guard let level = LogLevel(letter: letter) else {
            throw Failure(.badField, "\(name) must be one of v d i w e f; found \(letter.quoted)")
        }
        return level
    }

    fileprivate func arguments(_ name: String) throws(Failure) -> Command.Arguments {
        switch self[name] {
        case nil: .positional([])
        case .array(let values)?: .positional(values)
        case .object(let members)?: .labeled(members)
        case let value?: throw mismatch(name, "an array or an object", value)
        }
    }
}

extension Command.Operation {
    /// Whether it can be told when to begin, and at which clients.
    var mayWait: Bool {
        switch self {
        case .open, .call, .navigate: true
        case .cancel, .failures, .inspect, .log, .maps, .replay, .resolve, .ping: false
        }
    }

    /// Reads `type` and the fields that belong to it.
    package init(_ fields: Fields) throws(Failure) {
        let type = try fields.required("type", fields.text("type"))
        switch type {
        case "open":
            self = .open(
                url: try fields.required("url", fields.text("url")),
                parameters: try fields.object("params") ?? [:])
        case "call":
            self = .call(
                service: try fields.required("service", fields.text("service")),
                method: try fields.required("method", fields.text("method")),
                arguments: try fields.arguments("args"))
        case "navigate":
            self = .navigate(try fields.move())
        case "cancel":
            self = .cancel(target: try fields.commandID("target"))
        case "failures":
            self = .failures(try FailureRequest(fields))
        case "inspect":
            let sender = try fields.text("sender")
            guard sender.map(Name.isValid) ?? true else {
                throw Failure(.badField, "sender must be 1 to 64 characters of A-Z a-z 0-9 _ -")
            }
            let isOne = try fields.text("target") != nil
            self = .inspect(target: isOne ? try fields.commandID("target") : nil, sender: sender)
        case "log":
            self = .log(
                level: try fields.level("level"),
                tag: try fields.text("tag"),
                milliseconds: try fields.required(
                    "for", fields.integer("for", in: 1...Command.maximumLogDuration)))
        case "maps":
            self = .maps(try MapsRequest(fields))
        case "replay":
            self = .replay(try Replay(fields))
        case "resolve":
            self = .resolve(try ResolveRequest(fields))
        case "ping":
            self = .ping(spread: try fields.integer("spread", in: 0...Command.maximumSpread) ?? 0)
        default:
            throw Failure(
                .unknownType,
                "type \(type.quoted) is unknown; known: open call navigate cancel failures inspect log maps replay "
                    + "resolve ping"
            )
        }
    }
}
