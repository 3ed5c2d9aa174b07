#if Macros
/// Registers the type for these patterns, without a list.
///
///     @Routable("myapp://orders/:id", "https://example.com/orders/<int:id>", priority: 5)
///     struct OrderPage {
///         let id: Int
///         init(from request: RouteRequest) throws {
///             id = try request.parameters.value("id")
///         }
///     }
///
/// The type gets the conformance to ``Routable``, and when it has an `init(from:)` and no `static func open`, an
/// `open` that makes an instance and calls its `opened()`, if there is one. Its name is `Module.Type`. A pattern that is written as a
/// literal is read by the compiler: a mistake is an error at its character. A ``RouteKey`` such as `.chat` works as well,
/// and is read when it is registered.
///
/// So is a property of a `Decodable` ``RoutablePage`` that can never be read from its placeholder, as far as the spelled
/// types show it: `let id: Bool` for `<int:id>`, or a list for any.
///
/// It works on structures, classes, actors and enumerations that are not generic, at file scope or in a type.
/// By hand it is `Route("myapp://orders/:id", to: OrderPage.self, priority: 5)`.
///
/// - Parameters:
///   - patterns: The URLs it takes; see <doc:FindingAHandler>.
///   - name: What relocation entries call `className`; `Module.Type` unless given.
///   - priority: A route with a higher priority is tried first; 0 unless set.
///   - kind: A page, an action or web content.
///   - takesDeeper: Whether it also matches deeper URLs that no other route matches.
///   - idempotent: Whether an open that a crash interrupted may run again.
///   - jumpType: How it is shown when the call does not say it; that of the type unless given.
///   - metadata: Metadata of these routes; those of the type are added where a key is not among them.
///   - defaults: Parameters for opens that do not have them; those of the type are added likewise.
///   - parameters: What it reads beside the placeholders, before what the type says.
///   - converters: The names of custom converters in the patterns (``RouterConfiguration/converters``).
///   - redirect: The destination's own conditional redirect; that of the type unless given.
@attached(member, names: named(open))
@attached(extension, conformances: Routable)
public macro Routable(
    _ patterns: RouteKey..., name: String? = nil, priority: Int = 0, kind: RouteKind = .page,
    takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
    metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
    parameters: [RouteParameter] = [], converters: [String] = [], redirect: Route.Redirect? = nil
) = #externalMacro(module: "WaypostMacros", type: "RoutableMacro")

/// Registers a closure for these patterns, without a list; stands at file scope or in a type.
///
///     #route("myapp://cart/clear", idempotent: true) { request in
///         await Cart.shared.clear()
///         return .opened()
///     }
///
/// The closure captures nothing. By hand it is `router.register("myapp://cart/clear") { request in … }`.
///
/// - Parameters:
///   - patterns: The URLs it takes; see <doc:FindingAHandler>.
///   - name: What relocation entries call `className`; none unless given.
///   - priority: A route with a higher priority is tried first; 0 unless set.
///   - kind: An action unless set.
///   - takesDeeper: Whether it also matches deeper URLs that no other route matches.
///   - idempotent: Whether an open that a crash interrupted may run again.
///   - jumpType: How it is shown when the call does not say it.
///   - metadata: What the author says about it; see ``Route/metadata``.
///   - defaults: Parameters for opens that do not have them.
///   - parameters: What it reads beside the placeholders; see ``RouteParameter``.
///   - converters: The names of custom converters in the patterns (``RouterConfiguration/converters``).
///   - redirect: The destination's own conditional redirect; must have no effect.
///   - handler: The handler.
@freestanding(declaration)
public macro route(
    _ patterns: RouteKey..., name: String? = nil, priority: Int = 0, kind: RouteKind = .action,
    takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
    metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
    parameters: [RouteParameter] = [], converters: [String] = [], redirect: Route.Redirect? = nil,
    handler: @escaping Route.Handler
) = #externalMacro(module: "WaypostMacros", type: "RouteMacro")

/// Registers a closure for the pattern of a key, with ReerRouter's label; otherwise the same.
///
///     #route(key: .cart) { request in .opened(request.parameters["id"]) }
@freestanding(declaration)
public macro route(
    key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .action,
    takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
    metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
    parameters: [RouteParameter] = [], redirect: Route.Redirect? = nil, handler: @escaping Route.Handler
) = #externalMacro(module: "WaypostMacros", type: "RouteMacro")

/// Registers an action for the pattern of a key, as in ReerRouter.
///
///     #route(key: .testKey, action: { params in
///         print("testKey triggered")
///     })
@freestanding(declaration)
public macro route(
    key: RouteKey, name: String? = nil, priority: Int = 0, kind: RouteKind = .action,
    takesDeeper: Bool = false, idempotent: Bool = false, jumpType: JumpType? = nil,
    metadata: [String: JSONValue] = [:], defaults: [String: JSONValue] = [:],
    parameters: [RouteParameter] = [], redirect: Route.Redirect? = nil,
    action: nonisolated(nonsending) @escaping @Sendable (RouteParameters) async throws -> Void
) = #externalMacro(module: "WaypostMacros", type: "RouteMacro")

/// Registers the type as a service whose `@Exposed` methods may be called from outside.
///
///     @Service("CalculatorService")
///     actor Calculator {
///         @Exposed(idempotent: true)
///         func add(a: Int, b: Int) -> Int { a + b }
///     }
///
/// The service is made at its first need, by its initializer without arguments. One that is made of other services has
/// instead an initializer that takes the registry; both may throw:
///
///     init(services: ServiceRegistry) throws { counter = try services.fetch(Counter.self) }
///
/// It can be fetched by its type, and is `Sendable`: the macro adds that where it is not stated.
/// By hand it is ``ExposedService``.
///
/// - Parameters:
///   - name: The name that callers use; the type's unless given.
///   - lifetime: Whether all callers get the same instance.
@attached(member)
@attached(extension, conformances: Sendable)
public macro Service(_ name: String? = nil, lifetime: ServiceLifetime = .shared) =
    #externalMacro(module: "WaypostMacros", type: "ServiceMacro")

/// Registers the type as a service that is also fetched by a protocol, whose name is the service's.
///
///     @Service(as: (any AppConfigService).self)
///     final class LocalAppConfig: AppConfigService { … }
///
///     let config = try router.services.fetch((any AppConfigService).self)
///
/// - Parameters:
///   - name: The name that callers use; the protocol's unless given.
///   - interface: The protocol, as a type: `(any AppConfigService).self`.
///   - lifetime: Whether all callers get the same instance.
@attached(member)
@attached(extension, conformances: Sendable)
public macro Service<Interface>(
    _ name: String? = nil, as interface: Interface.Type, lifetime: ServiceLifetime = .shared
) = #externalMacro(module: "WaypostMacros", type: "ServiceMacro")

/// Opens a method of a `@Service` type to callers from outside.
///
/// Every argument is `Decodable` and `Sendable`, the result is `Encodable`; the method may be async and throw.
/// It stands in the body of the type. By hand it is ``Exposed``.
///
/// An argument with a default value may be left out, and the contract says so. A null is as good as nothing for it,
/// unless its type has a nil.
///
/// A parameter of the type ``OpenContext`` is no argument: the method learns by it who calls.
///
///     @Exposed
///     func print(_ text: String, context: OpenContext) { … }
///
/// - Parameters:
///   - selector: The Objective-C selector when it is not the derived one (`addWithA:b:`).
///   - idempotent: Whether running it twice is the same as running it once; then a call that a crash
///     interrupted is run again.
@attached(peer, names: prefixed(__exposed_))
public macro Exposed(selector: String? = nil, idempotent: Bool = false) =
    #externalMacro(module: "WaypostMacros", type: "ExposedMacro")
#endif
