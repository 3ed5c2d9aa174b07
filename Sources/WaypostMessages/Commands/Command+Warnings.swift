import Waypost

extension Command {
    /// The most warnings of one command.
    package static let maximumWarnings = 8

    /// The fields that any command may have.
    static let commonFields = [
        "id", "type", "exp", "ttl", "at", "v", "lane", "seq", "trace", "from", "aud",
    ]

    /// Probable mistakes in an accepted command: misspelt fields, and seconds in the place of milliseconds.
    static func warnings(of fields: Fields, _ operation: Operation) -> [String] {
        let own = operation.fields
        // A longer name is no slip of the fingers.
        let unknown = fields.names.filter {
            $0.utf8.count <= 32 && !own.contains($0) && !commonFields.contains($0)
        }
        var warnings: [String] = []
        for name in unknown.sorted().prefix(maximumWarnings) where name.utf8.count > 2 {
            let missing = (commonFields + own).filter { fields[$0] == nil }
            guard let near = NearestNames.find(name, among: missing, limit: 1, slips: 2).first else {
                continue
            }
            warnings.append("the field \(name) is unknown and was ignored; did you mean \(near)?")
        }
        for name in ["at", "exp"] {
            guard let time = fields[name]?.intValue, Timestamp.looksLikeSeconds(time) else { continue }
            warnings.append("\(name) \(time) looks like seconds; it is in milliseconds since 1970")
        }
        if let time = fields["ttl"]?.intValue, time < 1_000 {
            warnings.append("ttl \(time) looks like seconds; it is in milliseconds")
        }
        return Array(warnings.prefix(maximumWarnings))
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
