import Waypost
import WaypostMessages

/// One line of a URL contract: routes and maps, a URL to open among them, and what is expected.
struct ResolveCase {
    /// What of an answer may be expected.
    enum Expected: String, CaseIterable {
        case route, params, url, hops, rules, presentation, error, refused, inactive
    }

    /// The routes and all that is laid over them; cases that follow each other often share them.
    struct Table: Hashable {
        /// The patterns and their priorities; nil for the command's own.
        var routes: [String]?
        var priorities: [String: Int] = [:]
        var maps: [JSONValue] = []
        /// Nil for the command's own.
        var setup: RouterSetup?
        /// Nil for the command's own.
        var client: ClientSetup?
    }

    private(set) var id: JSONValue
    private(set) var url: String
    private(set) var table = Table()
    private(set) var parameters: [String: JSONValue] = [:]
    private(set) var expected: [Expected: JSONValue] = [:]

    /// Reads a case.
    ///
    /// - Throws: ``Failure`` 422 naming the field.
    init(_ json: JSONValue) throws(Failure) {
        guard case .object = json else {
            throw Failure(.badField, "the case is \(json.kind); it must be an object")
        }
        try Self.check(json, for: Self.members)
        id = json["id"] ?? .null
        guard let url = try Self.text(json["open"], "open") else {
            throw Failure(.badField, "open is missing")
        }
        self.url = url
        parameters = try Self.object(json["params"], "params") ?? [:]
        table.routes = try Self.texts(json["routes"], "routes")
        for (pattern, priority) in try Self.object(json["priorities"], "priorities") ?? [:] {
            guard let number = priority.boundedInt.flatMap(Int.init(exactly:)) else {
                throw Failure(
                    .badField, "priorities: \(pattern) has \(priority.kind); it must have an integer")
            }
            guard table.routes?.contains(pattern) == true else {
                throw Failure(.badField, "priorities: \(pattern) is none of the routes")
            }
            table.priorities[pattern] = number
        }
        table.maps = try Self.array(json["maps"], "maps") ?? []
        table.setup = try Self.setup(json)
        table.client = try Self.object(json["client"], "client").map { (client) throws(Failure) in
            try Self.client(.object(client))
        }
        let expect = try Self.object(json["expect"], "expect") ?? [:]
        try Self.check(.object(expect), for: Expected.allCases.map(\.rawValue), in: "expect.")
        for (key, value) in expect { if let key = Expected(rawValue: key) { expected[key] = value } }
    }

    /// The members of a case.
    private static let members = [
        "client", "config", "dialect", "expect", "id", "maps", "open", "params", "priorities", "routes",
    ]

    /// A misspelt member would be a test that never runs.
    private static func check(_ json: JSONValue, for known: [String], in place: String = "") throws(Failure) {
        guard let key = json.objectValue?.keys.filter({ !known.contains($0) }).min() else { return }
        let near = NearestNames.find(key, among: known, limit: 1)
        throw Failure(
            .badField,
            "\(place)\(key.cut(to: 64)) is unknown; "
                + (near.first.map { "did you mean \($0)?" } ?? "known: \(known.joined(separator: ", "))"))
    }

    private static func setup(_ json: JSONValue) throws(Failure) -> RouterSetup? {
        let dialect = try text(json["dialect"], "dialect")
        let config = try object(json["config"], "config").map(JSONValue.object)
        guard dialect != nil || config != nil else { return nil }
        let known = ["allowedSchemes", "host", "ignoresCase", "webPath"]
        try check(config ?? [:], for: known, in: "config.")
        let host = try text(config?["host"], "config.host")
        let webPath = try text(config?["webPath"], "config.webPath")
        let schemes = try texts(config?["allowedSchemes"], "config.allowedSchemes")
        let ignoresCase = try field(
            config?["ignoresCase"], "config.ignoresCase", "true or false", \.boolValue)
        do throws(RouterSetup.Fault) {
            return try RouterSetup(
                dialect: dialect ?? Dialect.waypost.name, host: host, webPath: webPath,
                allowedSchemes: schemes, ignoresCase: ignoresCase ?? false)
        } catch {
            throw Failure(.badField, error.detail)
        }
    }

    private static func client(_ json: JSONValue) throws(Failure) -> ClientSetup {
        try check(json, for: ["agent", "at", "build", "labels", "locale"], in: "client.")
        var client = ClientSetup()
        client.agent = try text(json["agent"], "client.agent")
        client.facts.build = try text(json["build"], "client.build")
        client.facts.locale = try text(json["locale"], "client.locale")
        client.at = try field(json["at"], "client.at", "milliseconds since 1970", \.boundedInt)
        for (name, value) in try object(json["labels"], "client.labels") ?? [:] {
            client.facts.labels[name] = try text(value, "client.labels.\(name)")
        }
        if let fault = client.facts.fault { throw Failure(.badField, "client: \(fault)") }
        return client
    }

    // MARK: Fields; null is as good as absent

    private static func field<Value>(
        _ json: JSONValue?, _ name: String, _ wanted: String, _ read: (JSONValue) -> Value?
    ) throws(Failure) -> Value? {
        guard let json, !json.isNull else { return nil }
        guard let value = read(json) else {
            throw Failure(.badField, "\(name) is \(json.kind); it must be \(wanted)")
        }
        return value
    }

    private static func text(_ json: JSONValue?, _ name: String) throws(Failure) -> String? {
        try field(json, name, "a string", \.stringValue)
    }

    private static func object(_ json: JSONValue?, _ name: String) throws(Failure) -> [String: JSONValue]? {
        try field(json, name, "an object", \.objectValue)
    }

    private static func array(_ json: JSONValue?, _ name: String) throws(Failure) -> [JSONValue]? {
        try field(json, name, "an array", \.arrayValue)
    }

    private static func texts(_ json: JSONValue?, _ name: String) throws(Failure) -> [String]? {
        guard let elements = try array(json, name) else { return nil }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue else {
                throw Failure(.badField, "\(name)[\(index)] is \(element.kind); it must be a string")
            }
            texts.append(text)
        }
        return texts
    }
}
