import Waypost

extension Command {
    /// The command as it goes over the wire, fields in the order in which the protocol names them.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.beginObject()
        json.member("id", id)
        operation.write(to: &json)
        if let at { json.member("at", at) }
        if hasAbsoluteExpiry { json.member("exp", expires) }
        if lane != Self.defaultLane { json.member("lane", lane) }
        if let sequence { json.member("seq", sequence) }
        if let trace { json.member("trace", trace) }
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
        case .replay: "replay"
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
        case .failures(let since, let sequence, let maximum):
            json.member("since", since)
            if sequence < Fields.largestInteger { json.member("before", sequence) }
            json.member("max", maximum)
        case .inspect(let target, let sender):
            json.member("target", target)
            if let sender { json.member("sender", sender) }
        case .log(let level, let tag, let milliseconds):
            json.member("level", level.topicLevel)
            if let tag { json.member("tag", tag) }
            json.member("for", milliseconds)
        case .replay(let replay):
            replay.write(to: &json)
        case .ping:
            break
        }
    }
}
