/// A part of an app that brings its routes and services, and is set up when they are first needed.
///
/// What it declares is visible at once. ``setUp(in:)`` runs once, before the first open or call; nothing of the module
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
    /// The services that it brings for other code of the program, fetched by their types and not exposed; none unless
    /// declared.
    ///
    /// A type that is registered already keeps its service.
    var providers: [ServiceProvider] { get }
    /// Whether everything depends on it; false unless declared.
    ///
    /// No open and no call goes on before such a module is set up, however long that takes, and none while it has
    /// failed: for one whose set-up adds interceptors, hooks or maps that others must not miss.
    var isRequired: Bool { get }
    /// How long the set-up may take; 30 seconds unless declared, nil for no end.
    ///
    /// A set-up that takes longer is cancelled, and the module has failed. It is not waited for, and stays failed when it
    /// ends after all, until a module of its name is declared again.
    var setUpDeadline: Duration? { get }
    /// Prepares the module, and adds what belongs to its router: interceptors, hooks, more routes, maps.
    ///
    /// It is this or ``setUp()``, which it runs unless declared. The router outlives it; what the module adds may hold
    /// the module, but the module needs no router of its own.
    ///
    /// - Parameter router: The router that the module was declared at.
    /// - Throws: Anything; the module has failed then, with the error in the reason.
    func setUp(in router: Router) async throws
    /// Prepares a module that needs nothing of its router; does nothing unless declared.
    ///
    /// Set-ups of modules that do not depend on each other run at the same time. Opens and calls within it do not
    /// wait for other modules: what is not set up by then ends in 503 `MODULE`.
    /// - Throws: Anything; the module has failed then, with the error in the reason.
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
    /// None.
    public var providers: [ServiceProvider] { [] }
    /// False.
    public var isRequired: Bool { false }
    /// 30 seconds.
    public var setUpDeadline: Duration? { .seconds(30) }
    /// Runs ``setUp()``.
    public func setUp(in router: Router) async throws { try await setUp() }
    /// Nothing to do.
    public func setUp() async throws {}
}
