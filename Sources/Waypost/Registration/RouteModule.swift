/// A part of an app that brings its routes and services, and is set up when they are first needed.
///
/// What it declares is visible at once. ``setUp()`` runs once, before the first open or call; nothing of the module
/// runs before it has ended.
public protocol RouteModule: Sendable {
    /// Its name, under which others depend on it.
    var name: String { get }
    /// The modules that must be set up before this one; none unless declared.
    var dependencies: [String] { get }
    /// The routes it brings; none unless declared.
    var routes: [Route] { get }
    /// The services that it exposes; none unless declared.
    var services: [ExposedService] { get }
    /// Prepares the module; does nothing unless declared.
    func setUp() async throws
}

extension RouteModule {
    /// The type's name.
    public var name: String { String(describing: Self.self) }
    /// None.
    public var dependencies: [String] { [] }
    /// None.
    public var routes: [Route] { [] }
    /// None.
    public var services: [ExposedService] { [] }
    /// Nothing to do.
    public func setUp() async throws {}
}
