/// A named pattern, so that no path is written twice.
///
///     extension RouteKey {
///         static let userPage: RouteKey = "myapp://user/:id"
///     }
///     try router.register(.userPage) { request in … }
///     let opening = await router.open(.userPage, ["id": 42])
public struct RouteKey: RawRepresentable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
{
    /// The pattern.
    public let rawValue: String

    /// A key for a pattern.
    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// A key for a pattern written as a literal.
    public init(stringLiteral value: String) {
        rawValue = value
    }

    /// The pattern.
    public var description: String { rawValue }
}

extension Router {
    /// Registers a destination for the pattern of a key; see `register(_:name:priority:…)`.
    public func register(
        _ key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
        redirect: Route.Redirect? = nil, handler: @escaping Route.Handler
    ) throws(RegistrationError) {
        try register(
            key.rawValue, name: name, priority: priority, kind: kind, redirect: redirect, handler: handler)
    }

    /// Opens the URL that a key's pattern and these values make: placeholders first, the others in the query.
    ///
    /// - Parameters:
    ///   - key: The pattern.
    ///   - values: The values, by the names of placeholders or by other keys.
    ///   - scheme: The scheme for a pattern that has none.
    ///   - context: The caller, and its conditions.
    public func open(
        _ key: RouteKey, _ values: [String: JSONValue] = [:], scheme: String = "",
        context: OpenContext = .init()
    ) async -> Opening {
        do throws(RouteGenerationError) {
            let descriptor = try RouteDescriptor(key.rawValue, syntax: configuration.dialect.syntax)
            return await open(try descriptor.url(for: values, scheme: scheme), context: context)
        } catch {
            return Opening(
                outcome: .rejected(.badField("\(error)")), requested: key.rawValue, url: key.rawValue,
                ref: context.ref)
        }
    }
}
