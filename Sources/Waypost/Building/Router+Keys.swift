extension Router {
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
            let url = try url(for: key, values, scheme: scheme)
            var context = context
            context.typedValues = values
            return await open(url, objects: objects, context: context)
        } catch {
            return Opening(
                outcome: .rejected(.badField("\(error)")), requested: key.rawValue, url: key.rawValue,
                ref: context.ref)
        }
    }

    /// Opens a typed route.
    ///
    /// - Parameters:
    ///   - route: The route with its parameters.
    ///   - objects: Native values for a destination in this process: models, closures.
    ///   - scheme: The scheme for a pattern that has none.
    ///   - context: The caller, and its conditions.
    nonisolated(nonsending) public func open<Typed: TypedRoute>(
        _ route: Typed, objects: [String: any Sendable] = [:], scheme: String = "",
        context: OpenContext = .init()
    ) async -> Opening {
        let values: [String: JSONValue]
        do {
            values = try JSONValueEncoder().encode(route).objectValue ?? [:]
        } catch {
            return Opening(
                outcome: .rejected(.badField("encode \(Typed.self): \(error.words)")),
                requested: Typed.key.rawValue, url: Typed.key.rawValue, ref: context.ref)
        }
        return await open(Typed.key, values, objects: objects, scheme: scheme, context: context)
    }

    /// Opens a typed route, and gives its answer.
    ///
    ///     let total = try await router.open(TotalRoute(id: 4))
    ///
    /// The arguments are those of ``open(_:objects:scheme:context:)-(Typed,_,_,_)``, which gives the ``Opening`` of such a
    /// route too where one is asked for.
    /// - Throws: The failure of the open; 422 `BAD_FIELD` when a redirect led to a route with another answer.
    nonisolated(nonsending) public func open<Typed: TypedRoute>(
        _ route: Typed, objects: [String: any Sendable] = [:], scheme: String = "",
        context: OpenContext = .init()
    ) async throws(Failure) -> Typed.Answer where Typed.Answer: Codable {
        let opening: Opening = await open(route, objects: objects, scheme: scheme, context: context)
        if let failure = opening.failure { throw failure }
        if let answer = opening.object(as: Typed.Answer.self) { return answer }
        do {
            return try JSONValueDecoder().decode(Typed.Answer.self, from: opening.value ?? .null)
        } catch {
            throw .badField(
                "the answer of \(opening.route ?? opening.url) is not that of \(Typed.self): \(error.words)")
        }
    }

    /// The URL that a key's pattern and these values make, with this router's dialect and converters.
    public func url(
        for key: RouteKey, _ values: [String: JSONValue] = [:], scheme: String = ""
    ) throws(RouteGenerationError) -> String {
        try descriptor(of: key).url(for: values, scheme: scheme)
    }

    /// The URL of a typed route, with this router's dialect and converters.
    public func url<Typed: TypedRoute>(
        for route: Typed, scheme: String = ""
    ) throws(RouteGenerationError) -> String {
        try descriptor(of: Typed.key).url(from: route, scheme: scheme)
    }

    private func descriptor(of key: RouteKey) throws(RouteGenerationError) -> RouteDescriptor {
        // A key that was registered in a group leads to the group's route.
        let whole = state.base.wholePatterns(of: key)
        guard whole.count < 2 else {
            throw .badPattern(key.rawValue, detail: "it is the key of \(whole.joined(separator: " and of "))")
        }
        return try RouteDescriptor(
            whole.first ?? key.rawValue, syntax: configuration.syntax, converters: configuration.converters)
    }

    /// Where the URL of a key's pattern and these values would lead; see ``resolve(_:parameters:)``.
    ///
    /// - Throws: ``RouteGenerationError`` when they make no URL.
    public func resolve(
        _ key: RouteKey, _ values: [String: JSONValue] = [:], scheme: String = ""
    ) throws(RouteGenerationError) -> Resolution {
        resolve(try url(for: key, values, scheme: scheme))
    }

    /// Whether a route takes the URL of a key's pattern and these values; false when they make none.
    public func canOpen(_ key: RouteKey, _ values: [String: JSONValue] = [:], scheme: String = "") -> Bool {
        guard let url = try? url(for: key, values, scheme: scheme) else { return false }
        return canOpen(url)
    }
}
