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
    /// - Parameter arrival: the agent's clock, in milliseconds since 1970.
    /// - Throws: ``Failure`` 422 naming the field, 404 `UNKNOWN_TYPE`, or 505 naming the supported versions.
    package init(id: String, fields: Fields, arrival: Int64) throws(Failure) {
        try fields.checkVersion()
        let at = try fields.integer("at", in: 0...Fields.latestTime)
        let expires = try fields.integer("exp", in: 0...Fields.latestTime)
        let timeToLive = try fields.integer("ttl", in: 1...Command.maximumLifetime)
        guard expires == nil || timeToLive == nil else {
            throw Failure(.badField, "exp and ttl are both set; send one of them")
        }
        let lane = try fields.text("lane") ?? Command.defaultLane
        guard Name.isValid(lane) else {
            throw Failure(.badField, "lane must be 1 to 64 characters of A-Z a-z 0-9 _ -")
        }
        let operation = try Operation(fields)
        self.init(
            id: id,
            operation: operation,
            at: at,
            expires: min(
                expires ?? timeToLive.map { arrival + $0 } ?? (at ?? arrival) + Command.defaultLifetime,
                arrival + Command.maximumLifetime),
            hasAbsoluteExpiry: expires != nil,
            timeToLive: timeToLive,
            lane: lane,
            sequence: try fields.integer("seq", in: 0...Fields.largestInteger),
            trace: try fields.text("trace"))
        warnings = Self.warnings(of: fields, operation)
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
            self = .inspect(target: try fields.commandID("target"), sender: sender)
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
