import Waypost

extension Command {
    /// The most warnings of one command.
    package static let maximumWarnings = 8

    /// The fields that any command may have.
    static let commonFields: Set = [
        "id", "type", "exp", "ttl", "at", "v", "lane", "after", "window", "when", "seq", "trace",
        "tracestate", "from", "aud",
    ]
    /// What others call them, in lower case without `_` and `-`.
    private static let otherNames = [
        "notbefore": "after", "startat": "after", "starttime": "after", "runat": "after", "delay": "after",
        "schedule": "window", "deadline": "exp", "expires": "exp", "expiry": "exp", "notafter": "exp",
        "timeout": "ttl", "queue": "lane", "timestamp": "at",
    ]
    /// The most of a name that is repeated, in bytes.
    private static let shownName = 64

    /// Probable mistakes in an accepted command: misspelt fields, and seconds in the place of milliseconds.
    static func warnings(of fields: Fields, _ operation: Operation) -> [String] {
        let own = operation.fields
        let unknown = fields.names.filter { !commonFields.contains($0) && !own.contains($0) }
        var warnings =
            unknown.isEmpty ? [] : warnings(of: unknown, besides: fields, commonFields.sorted() + own)
        for name in ["at", "exp", "after"] {
            guard let time = fields[name]?.intValue, Timestamp.looksLikeSeconds(time) else { continue }
            warnings.append("\(name) \(time) looks like seconds; it is in milliseconds since 1970")
        }
        if let time = fields["ttl"]?.intValue, time < 1_000 {
            warnings.append("ttl \(time) looks like seconds; it is in milliseconds")
        }
        if let trace = fields["trace"], TraceParent.valid(trace.stringValue) == nil {
            warnings.append("trace is no W3C traceparent and was ignored")
        }
        if let state = fields[TraceState.property], TraceState.valid(state.stringValue) == nil {
            warnings.append("tracestate is no W3C tracestate and was ignored")
        }
        return Array(warnings.prefix(maximumWarnings))
    }

    private static func warnings(of unknown: [String], besides fields: Fields, _ known: [String]) -> [String]
    {
        let missing = known.filter { fields[$0] == nil }
        return unknown.sorted().prefix(maximumWarnings).map { name in
            // A long name, or one of two letters, is no slip of the fingers.
            let plain = name.lowercased().filter { $0 != "_" && $0 != "-" }
            let slip =
                (3...32).contains(name.utf8.count)
                ? NearestNames.find(name, among: missing, limit: 1, slips: 2).first : nil
            let near = otherNames[plain].flatMap { missing.contains($0) ? $0 : nil } ?? slip
            let shown = Name.isValid(name) ? name : name.cut(to: shownName).quoted
            return "the field \(shown) is unknown and was ignored"
                + (near.map { "; did you mean \($0)?" } ?? "")
        }
    }
}

extension Command.Operation {
    /// The fields of this kind of command, beside those of all.
    fileprivate var fields: [String] {
        switch self {
        case .open: ["url", "params"]
        case .call: ["service", "method", "args"]
        case .navigate: ["action", "tab"]
        case .cancel: ["target"]
        case .failures: FailureRequest.fieldNames
        case .inspect: ["target", "sender"]
        case .log: ["level", "tag", "for"]
        case .maps: MapsRequest.fieldNames
        case .replay: Replay.fieldNames
        case .resolve: ResolveRequest.fields
        case .ping: ["spread"]
        }
    }
}
