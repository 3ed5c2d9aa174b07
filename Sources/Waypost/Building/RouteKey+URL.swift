extension RouteKey {
    /// The URL with these values: those that placeholders name in the path, the others in the query.
    ///
    /// - Parameters:
    ///   - values: The values, by the names of placeholders or by other keys.
    ///   - scheme: The scheme for a pattern that has none.
    /// - Throws: ``RouteGenerationError``; also for a pattern with custom converters or of another dialect, for which
    ///   there is ``Router/url(for:_:scheme:)``.
    public func url(
        _ values: [String: JSONValue] = [:], scheme: String = ""
    ) throws(RouteGenerationError) -> String {
        try RouteDescriptor(self).url(for: values, scheme: scheme)
    }
}

extension TypedRoute {
    /// The URL of this route; ``Router/url(for:scheme:)`` for a pattern without a scheme or with custom converters.
    ///
    /// - Throws: ``RouteGenerationError`` when a property does not fit its placeholder.
    public var url: String {
        get throws(RouteGenerationError) { try RouteDescriptor(Self.key).url(from: self) }
    }
}
