/// Builds a URL and its parameters step by step, and opens it.
///
///     let opening = await RouteBuilder.build("scheme://router/demo")
///         .withInt(key: "intValue", value: 2)
///         .withBool(key: "boolValue", value: false)
///         .withAny(key: "any", value: model)
///         .open()
public struct RouteBuilder: Sendable {
    /// The URL, or the pattern that it is made of.
    public let url: String
    /// The pattern whose placeholders get the values; nil when it begins with a URL.
    private let key: RouteKey?
    /// The parameters so far; a later one of the same key wins.
    package private(set) var parameters: [String: JSONValue] = [:]
    /// The native values so far, which only a destination in this process can get.
    private(set) var objects: [String: any Sendable] = [:]
    /// The first value that can't be written as JSON; opening then ends in 422.
    private(set) var mistake: RouteGenerationError?

    /// Begins with a URL.
    public init(_ url: String) {
        self.url = url
        key = nil
    }

    /// Begins with a pattern: values of its placeholders go into the path.
    public init(_ key: RouteKey) {
        url = key.rawValue
        self.key = key
    }

    /// Begins with a URL, named as in TheRouter.
    public static func build(_ url: String) -> RouteBuilder { RouteBuilder(url) }

    /// Begins with a pattern, named as in TheRouter.
    public static func build(_ key: RouteKey) -> RouteBuilder { RouteBuilder(key) }

    /// Adds a value that can be encoded: a number, a text, a structure.
    public func with(_ key: String, _ value: some Encodable & Sendable) -> RouteBuilder {
        var builder = self
        do {
            builder.parameters[key] = try JSONValueEncoder().encode(value)
        } catch {
            builder.mistake = mistake ?? .unencodable(key, detail: error.words)
        }
        return builder
    }

    /// Adds an integer.
    public func withInt(key: String, value: Int) -> RouteBuilder { with(key, value) }
    /// Adds a truth value.
    public func withBool(key: String, value: Bool) -> RouteBuilder { with(key, value) }
    /// Adds a number.
    public func withDouble(key: String, value: Double) -> RouteBuilder { with(key, value) }
    /// Adds a number; its shortest decimal form is sent, 3.1415 and not 3.1414999961853027.
    public func withFloat(key: String, value: Float) -> RouteBuilder {
        with(key, Double(value.description) ?? Double(value))
    }
    /// Adds a text.
    public func withString(key: String, value: String) -> RouteBuilder { with(key, value) }

    /// Adds any value: as a native value, and as JSON if it can be encoded.
    public func withAny(key: String, value: any Sendable) -> RouteBuilder {
        var builder = self
        if let encodable = value as? any Encodable, let json = try? JSONValueEncoder().encode(encodable) {
            builder.parameters[key] = json
        }
        builder.objects[key] = value
        return builder
    }

    /// Adds all of a dictionary; values that are already in the builder stay.
    public func buildDictionary(param values: [String: JSONValue]) -> RouteBuilder {
        var builder = self
        builder.parameters.merge(values) { own, _ in own }
        return builder
    }

    /// Adds how to show the destination.
    public func withJumpType(_ type: JumpType) -> RouteBuilder { with("jumpType", type.rawValue) }

    /// Opens the URL with these parameters.
    nonisolated(nonsending) public func open(with router: Router = .shared, context: OpenContext = .init())
        async -> Opening
    {
        if let mistake {
            return Opening(
                outcome: .rejected(.badField("\(mistake)")), requested: url, url: url, ref: context.ref)
        }
        if let key { return await router.open(key, parameters, objects: objects, context: context) }
        return await router.open(url, parameters: parameters, objects: objects, context: context)
    }

    /// The command for an agent to open this URL: `{"id","type":"open","url","params"}`.
    ///
    /// - Throws: ``RouteGenerationError`` when a value can't be written as JSON, or in the path of a pattern.
    public func command(id: String) throws(RouteGenerationError) -> JSONValue {
        if let mistake { throw mistake }
        if let key = objects.keys.sorted().first(where: { parameters[$0] == nil }) {
            throw .unencodable(key, detail: "a native value cannot be sent")
        }
        var members: [String: JSONValue] = ["id": .string(id), "type": "open"]
        members["url"] = .string(
            try key.map { (key) throws(RouteGenerationError) in try key.url(parameters) } ?? url)
        if key == nil, !parameters.isEmpty { members["params"] = .object(parameters) }
        return .object(members)
    }
}
