/// A pattern, by its text or by a name, so that no path is written twice.
///
///     extension RouteKey {
///         static let userPage: RouteKey = "myapp://user/:id"
///     }
///     try router.register(.userPage) { request in … }
///     try router.register("myapp://help") { request in … }
///     let opening = await router.open(.userPage, ["id": 42])
///
/// A literal is one, with interpolation too; of other text one is made by ``init(_:)``.
public struct RouteKey: RawRepresentable, Sendable, Hashable, ExpressibleByStringInterpolation,
    CustomStringConvertible
{
    /// The pattern; <doc:FindingAHandler> says what it matches.
    public let rawValue: String

    /// A key for a pattern.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A key for a pattern.
    public init(_ pattern: String) { rawValue = pattern }

    /// A key for a pattern written as a literal.
    public init(stringLiteral value: String) { rawValue = value }

    /// The pattern.
    public var description: String { rawValue }
}
