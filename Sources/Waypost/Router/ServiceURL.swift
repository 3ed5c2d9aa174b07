/// A call of a service, written as a URL as in TheRouter:
/// `scheme://services?protocol=P&method=openMiniProgramWithInfo:&resultType=0`.
struct ServiceURL: Sendable {
    let service: String
    let method: String
    let result: ServiceResultType
    let source: ArgumentSource

    private static let ownKeys: Set<String> = ["protocol", "method", "resultType"]

    /// Whether the URL is a service URL: scheme and host are compared, after parsing.
    ///
    /// A service URL that merely occurs inside another URL is not one.
    static func matches(_ url: RouteURL, _ configuration: RouterConfiguration) -> Bool {
        url.hasScheme(configuration.serviceScheme) && url.components == [configuration.serviceHost]
    }

    /// Reads the call; `caller` are the parameters beside the URL.
    ///
    /// What is called stands in the URL alone, so that who may send parameters can't choose another method.
    init(_ url: RouteURL, caller: [String: JSONValue]) throws(Failure) {
        service = try Self.name("protocol", url)
        method = try Self.name("method", url)
        var values: [String: JSONValue] = [:]
        for pair in url.query.pairs { values[pair.key] = .string(pair.value) }
        for (key, value) in caller where !value.isNull { values[key] = value }
        result = try Self.resultType(values["resultType"])
        var source = ArgumentSource(.labeled(values.filter { !Self.ownKeys.contains($0.key) }))
        source.readsText = true
        source.ignoresUnknown = true
        source.mayTakeAll = values["ivar1"] == nil
        self.source = source
    }

    private static func name(_ key: String, _ url: RouteURL) throws(Failure) -> String {
        guard let name = url.query[key], !name.isEmpty else {
            throw .badField("the service URL has no \(key)")
        }
        return name
    }

    private static func resultType(_ value: JSONValue?) throws(Failure) -> ServiceResultType {
        let number: Int64?
        switch value {
        case nil: return .value
        case .int(let integer): number = integer
        case .string(let text) where text.utf8.count == 1: number = Int64(text)
        default: number = nil
        }
        guard let number, let type = ServiceResultType(rawValue: Int(number)) else {
            throw .badField("resultType should be 0, 1 or 2 but is \(value?.kind ?? "missing")")
        }
        return type
    }
}

extension MethodDescription {
    /// Why the arguments that a service URL and what is beside it give do not fit; nil when they do.
    package func fault(in url: RouteURL, caller: [String: JSONValue]) -> Failure? {
        do throws(Failure) {
            return fault(in: try ServiceURL(url, caller: caller).source)
        } catch {
            return error
        }
    }
}
