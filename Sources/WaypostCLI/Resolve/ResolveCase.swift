import Waypost
import WaypostAgent
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
    /// - Throws: ``Rejection`` 422 naming the field.
    init(_ json: JSONValue) throws(Rejection) {
        guard case .object = json else {
            throw Rejection(.badField, "a case should be an object but is \(json.kind)")
        }
        id = json["id"] ?? .null
        guard let url = try Self.text(json["open"], "open") else {
            throw Rejection(.badField, "open is missing")
        }
        self.url = url
        parameters = try Self.object(json["params"], "params") ?? [:]
        table.routes = try Self.texts(json["routes"], "routes")
        for (pattern, priority) in try Self.object(json["priorities"], "priorities") ?? [:] {
            guard let number = priority.intValue.flatMap(Int.init(exactly:)) else {
                throw Rejection(
                    .badField, "priorities: \(pattern) should have an integer but has \(priority.kind)")
            }
            guard table.routes?.contains(pattern) == true else {
                throw Rejection(.badField, "priorities: \(pattern) is none of the routes")
            }
            table.priorities[pattern] = number
        }
        table.maps = try Self.array(json["maps"], "maps") ?? []
        table.setup = try Self.setup(json)
        table.client = try Self.object(json["client"], "client").map { (client) throws(Rejection) in
            try Self.client(.object(client))
        }
        for (key, value) in try Self.object(json["expect"], "expect") ?? [:] {
            guard let key = Expected(rawValue: key) else {
                let known = Expected.allCases.map(\.rawValue).joined(separator: ", ")
                throw Rejection(
                    .badField, "expect: \(key.debugDescription) is not in an answer; possible keys: \(known)")
            }
            expected[key] = value
        }
    }

    private static func setup(_ json: JSONValue) throws(Rejection) -> RouterSetup? {
        let dialect = try text(json["dialect"], "dialect")
        let config = try object(json["config"], "config").map(JSONValue.object)
        guard dialect != nil || config != nil else { return nil }
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
            throw Rejection(.badField, error.detail)
        }
    }

    private static func client(_ json: JSONValue) throws(Rejection) -> ClientSetup {
        var client = ClientSetup()
        client.agent = try text(json["agent"], "client.agent")
        client.facts.build = try text(json["build"], "client.build")
        client.facts.locale = try text(json["locale"], "client.locale")
        client.at = try field(json["at"], "client.at", "milliseconds since 1970", \.intValue)
        for (name, value) in try object(json["labels"], "client.labels") ?? [:] {
            client.facts.labels[name] = try text(value, "client.labels.\(name)")
        }
        if let fault = client.facts.fault { throw Rejection(.badField, "client: \(fault)") }
        return client
    }

    // MARK: Fields; null is as good as absent

    private static func field<Value>(
        _ json: JSONValue?, _ name: String, _ wanted: String, _ read: (JSONValue) -> Value?
    ) throws(Rejection) -> Value? {
        guard let json, !json.isNull else { return nil }
        guard let value = read(json) else {
            throw Rejection(.badField, "\(name) should be \(wanted) but is \(json.kind)")
        }
        return value
    }

    private static func text(_ json: JSONValue?, _ name: String) throws(Rejection) -> String? {
        try field(json, name, "a string", \.stringValue)
    }

    private static func object(_ json: JSONValue?, _ name: String) throws(Rejection) -> [String: JSONValue]? {
        try field(json, name, "an object", \.objectValue)
    }

    private static func array(_ json: JSONValue?, _ name: String) throws(Rejection) -> [JSONValue]? {
        try field(json, name, "an array", \.arrayValue)
    }

    private static func texts(_ json: JSONValue?, _ name: String) throws(Rejection) -> [String]? {
        guard let elements = try array(json, name) else { return nil }
        var texts: [String] = []
        for (index, element) in elements.enumerated() {
            guard let text = element.stringValue else {
                throw Rejection(.badField, "\(name)[\(index)] should be a string but is \(element.kind)")
            }
            texts.append(text)
        }
        return texts
    }
}
