import Waypost
import WaypostMessages

/// What a case is answered: where its URL leads, or why nowhere.
struct ResolveAnswer {
    private(set) var route: String?
    private(set) var parameters: [String: JSONValue] = [:]
    private(set) var url: String
    private(set) var hops: [String] = []
    private(set) var rules: [JSONValue] = []
    private(set) var presentation: JSONValue = [:]
    private(set) var error: JSONValue = .null
    private(set) var refused: [JSONValue] = []
    private(set) var inactive: [JSONValue] = []

    init(_ resolution: Resolution, _ maps: ResolveMaps) {
        self.init(resolution)
        refused = maps.refused
        inactive = maps.inactive
    }

    /// Where a URL leads without maps of a case.
    init(_ resolution: Resolution) {
        url = resolution.url
        hops = resolution.hops
        rules = resolution.decisions.map(\.json)
        if let rejection = resolution.error {
            error = Self.error(rejection)
        } else {
            route = resolution.route
            parameters = resolution.parameters.merged
            presentation = resolution.presentation.json
        }
    }

    /// A case that could not be tried.
    init(_ rejection: Failure, url: String) {
        self.url = url
        error = Self.error(rejection)
    }

    /// The answer as an object that is still open, for the caller to add to and to end.
    func writer(for id: JSONValue?) -> JSONWriter {
        var writer = JSONWriter()
        writer.beginObject()
        if let id { writer.member("id", id) }
        writer.member("route", route.map { .string($0) } ?? .null)
        writer.member("params", .object(parameters))
        writer.member("url", url)
        writer.member("hops", hops)
        if !rules.isEmpty { writer.member("rules", .array(rules)) }
        writer.member("presentation", presentation)
        writer.member("error", error)
        if !refused.isEmpty { writer.member("refused", .array(refused)) }
        if !inactive.isEmpty { writer.member("inactive", .array(inactive)) }
        return writer
    }

    /// What the answer has under a key that may be expected.
    subscript(key: ResolveCase.Expected) -> JSONValue {
        switch key {
        case .route: route.map { .string($0) } ?? .null
        case .params: .object(parameters)
        case .url: .string(url)
        case .hops: .array(hops.map { .string($0) })
        case .rules: .array(rules)
        case .presentation: presentation
        case .error: error
        case .refused: .array(refused)
        case .inactive: .array(inactive)
        }
    }

    private static func error(_ rejection: Failure) -> JSONValue {
        [
            "code": .int(Int64(rejection.code.number)), "name": .string(rejection.code.name),
            "detail": .string(rejection.detail),
        ]
    }
}
