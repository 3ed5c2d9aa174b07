extension Router {
    /// Registers a destination for the pattern of a key; see `register(_:name:priority:…)`.
    public func register(
        _ key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        metadata: [String: JSONValue] = [:], redirect: Route.Redirect? = nil,
        @_inheritActorContext handler: @escaping Route.Handler
    ) throws(RegistrationError) {
        try register(
            key.rawValue, name: name, priority: priority, kind: kind, metadata: metadata, redirect: redirect,
            handler: handler)
    }

    /// The same for a handler without `await`.
    public func register(
        _ key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        metadata: [String: JSONValue] = [:], redirect: Route.Redirect? = nil,
        @_inheritActorContext handler: @escaping Route.ImmediateHandler
    ) throws(RegistrationError) {
        try register(
            key.rawValue, name: name, priority: priority, kind: kind, metadata: metadata, redirect: redirect,
            handler: handler)
    }

    /// Opens the URL that a key's pattern and these values make: placeholders first, the others in the query.
    ///
    /// The destination gets the values with their types: an integer is not turned into text by the URL.
    /// - Parameters:
    ///   - key: The pattern.
    ///   - values: The values, by the names of placeholders or by other keys.
    ///   - objects: Native values for a destination in this process: models, closures.
    ///   - scheme: The scheme for a pattern that has none.
    ///   - context: The caller, and its conditions.
    nonisolated(nonsending) public func open(
        _ key: RouteKey, _ values: [String: JSONValue] = [:], objects: [String: any Sendable] = [:],
        scheme: String = "", context: OpenContext = .init()
    ) async -> Opening {
        do throws(RouteGenerationError) {
            let descriptor = try RouteDescriptor(
                key.rawValue, syntax: configuration.syntax, converters: configuration.converters)
            let url = try descriptor.url(for: values, scheme: scheme)
            var context = context
            context.typedValues = values
            return await open(url, objects: objects, context: context)
        } catch {
            return Opening(
                outcome: .rejected(.badField("\(error)")), requested: key.rawValue, url: key.rawValue,
                ref: context.ref)
        }
    }
}
