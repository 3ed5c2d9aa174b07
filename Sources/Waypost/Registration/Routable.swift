/// A type that is the destination of routes.
///
///     enum OrderPage: Routable {
///         static func open(_ request: RouteRequest) async throws -> RouteAnswer {
///             let id = try request.parameters.value("id", as: Int.self)
///             return .opened(.string("order \(id)"))
///         }
///     }
///     try router.register([Route("myapp://orders/:id", to: OrderPage.self)])
///
/// With the package trait `Macros`, `@Routable("myapp://orders/:id")` on the type does both: it adds the
/// conformance and registers the type without a list.
///
/// A type that makes an instance of itself for each request is a ``RoutablePage``.
public protocol Routable: SendableMetatype {
    /// Opens the URL, or declines with `.pass`.
    static func open(_ request: RouteRequest) async throws -> RouteAnswer

    /// The URL to open instead, or nil; nil unless declared.
    ///
    /// It must have no side effects, because ``Router/resolve(_:parameters:)`` calls it too.
    static func redirect(_ request: RouteRequest) -> String?

    /// How the destination is shown when the call does not say it; nil, which means as the router does, unless
    /// declared.
    static var jumpType: JumpType? { get }

    /// What the author says about the destination, for interceptors, lists and tools; nothing unless declared.
    static var metadata: [String: JSONValue] { get }

    /// Parameters for opens that do not have them; none unless declared.
    static var defaults: [String: JSONValue] { get }

    /// The parameters that it reads beside those of the path; none unless declared, and the properties of a
    /// `Decodable` ``RoutablePage``.
    static var parameters: [RouteParameter] { get }
}

extension Routable {
    /// Nil.
    public static var jumpType: JumpType? { nil }

    /// Nothing.
    public static var metadata: [String: JSONValue] { [:] }

    /// None.
    public static var defaults: [String: JSONValue] { [:] }

    /// None.
    public static var parameters: [RouteParameter] { [] }

    /// Returns nil.
    public static func redirect(_ request: RouteRequest) -> String? { nil }
}

/// A destination of which each open makes an instance.
///
///     struct OrderPage: RoutablePage {
///         let id: Int
///         init(from request: RouteRequest) throws {
///             id = try request.parameters.value("id")
///         }
///     }
///
/// A `Decodable` one needs no initializer: its properties are read from the merged parameters.
public protocol RoutablePage: Routable {
    /// Creates the page; nil declines, and the next route that takes the URL is tried.
    init?(from request: RouteRequest) async throws

    /// Called when the page was created; its result is the value of the open.
    ///
    /// Does nothing and returns nil unless declared.
    func opened() async throws -> JSONValue?

    /// What a caller in this process gets as ``Opening/object``; nil unless declared.
    ///
    /// A page that is `Sendable` may give itself: `var object: (any Sendable)? { self }`.
    var object: (any Sendable)? { get }
}

extension RoutablePage {
    /// Returns nil.
    public func opened() async throws -> JSONValue? { nil }

    /// Nil.
    public var object: (any Sendable)? { nil }

    /// Creates a page, and calls its `opened()`.
    public static func open(_ request: RouteRequest) async throws -> RouteAnswer {
        guard let page = try await Self(from: request) else { return .pass }
        let value = try await page.opened()
        return page.object.map { .opened(value, object: $0) } ?? .opened(value)
    }
}

extension RoutablePage where Self: Decodable {
    /// The properties.
    public static var parameters: [RouteParameter] { RouteParameter.properties(of: Self.self) }

    /// Reads the properties from the merged parameters.
    ///
    /// - Throws: ``ParameterError`` naming the first that is missing or does not fit.
    public init(from request: RouteRequest) throws {
        self = try request.parameters.decode(Self.self)
    }
}
