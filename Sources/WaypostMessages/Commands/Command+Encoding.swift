import Waypost

extension Command {
    /// The command as it goes over the wire, fields in the order in which the protocol names them.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        operation.write(to: &json)
        if let at { json.member("at", at) }
        if let timeToLive {
            json.member("ttl", timeToLive)
        } else if hasAbsoluteExpiry {
            json.member("exp", expires)
        }
        if lane != Self.defaultLane { json.member("lane", lane) }
        schedule?.write(to: &json)
        if let when { json.member("when", when) }
        if let sequence { json.member("seq", sequence) }
        if let trace { json.member("trace", trace) }
        if let traceState { json.member("tracestate", traceState) }
        json.endObject()
        return json.bytes
    }
}

extension Command {
    /// What a command asks for, in bytes that are equal for the same type, target and arguments, and the same clients.
    ///
    /// When it was sent, until when it is good, when it may begin, its lane and its count are not part of it, nor are fields that are not
    /// known. Of what is no valid command, all other fields are.
    package static func content(of fields: Fields, _ operation: Operation?) -> [UInt8] {
        guard let operation = operation ?? (try? Operation(fields)) else {
            let members = (fields.json.objectValue ?? [:]).filter {
                $0.key == "type" || !commonFields.contains($0.key)
            }
            return JSONValue.object(members).serialized()
        }
        var json = JSONWriter()
        json.beginObject()
        operation.write(to: &json)
        if operation.mayWait, let when = fields["when"], !when.isNull { json.member("when", when) }
        json.endObject()
        return json.bytes
    }
}

extension Command.Operation {
    /// The `type` of the command.
    package var type: String {
        switch self {
        case .open: "open"
        case .call: "call"
        case .navigate: "navigate"
        case .cancel: "cancel"
        case .failures: "failures"
        case .inspect: "inspect"
        case .log: "log"
        case .maps: "maps"
        case .replay: "replay"
        case .resolve: "resolve"
        case .ping: "ping"
        }
    }

    fileprivate func write(to json: inout JSONWriter) {
        json.member("type", type)
        switch self {
        case .open(let url, let parameters):
            json.member("url", url)
            if !parameters.isEmpty { json.member("params", .object(parameters)) }
        case .call(let service, let method, let arguments):
            json.member("service", service)
            json.member("method", method)
            switch arguments {
            case .positional(let values): if !values.isEmpty { json.member("args", .array(values)) }
            case .labeled(let members): json.member("args", .object(members))
            }
        case .navigate(let move):
            json.member("action", move.name)
            if let tab = move.tab { json.member("tab", tab) }
        case .cancel(let target):
            json.member("target", target)
        case .failures(let request):
            request.write(to: &json)
        case .inspect(let target, let sender):
            if let target { json.member("target", target) }
            if let sender { json.member("sender", sender) }
        case .log(let level, let tag, let milliseconds):
            json.member("level", level.topicLevel)
            if let tag { json.member("tag", tag) }
            json.member("for", milliseconds)
        case .maps(let request):
            request.write(to: &json)
        case .replay(let replay):
            replay.write(to: &json)
        case .resolve(let request):
            request.write(to: &json)
        case .ping(let spread):
            if spread > 0 { json.member("spread", spread) }
        }
    }
}
