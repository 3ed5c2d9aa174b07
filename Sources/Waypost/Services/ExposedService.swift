/// A service whose methods may be called from outside, made by hand in one expression.
///
///     try registry.expose(
///         ExposedService("CalculatorService", make: CalculatorService.init) {
///             Exposed("add(a:b:)", idempotent: true) { (s: CalculatorService, a: Int, b: Int) in
///                 try s.add(a: a, b: b)
///             }
///         })
///
/// Only what is listed here can be called from outside: nothing is looked up by reflection.
public struct ExposedService: Sendable {
    /// The name for callers.
    public let name: String
    /// How it is made, by the types under which it is fetched; those that the registry has already stay.
    var providers: @Sendable (ServiceRegistry) -> [ServiceProvider]
    /// Where it is made; anywhere when there is none.
    let actor: (any Actor)?
    let methods: [ExposedMethod]

    /// A service that the registry makes when it is first needed.
    ///
    /// It can also be fetched by its type.
    public init<Service: Sendable>(
        _ name: String, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable () throws -> Service,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        let (actor, make) = (make.isolation, unisolated(factory: make))
        self.init(name, of: Service.self, on: actor, methods: methods) { _ in
            [ServiceProvider(Service.self, name: name, lifetime: lifetime, on: actor, make)]
        }
    }

    /// A service that is made of others, which its factory takes from the registry.
    ///
    ///     ExposedService("OrderService", make: { try OrderService(orders: $0.fetch(Orders.self)) }) { … }
    public init<Service: Sendable>(
        _ name: String, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable (ServiceRegistry) throws -> Service,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        let (actor, make) = (make.isolation, unisolated(handler: make))
        self.init(name, of: Service.self, on: actor, methods: methods) { registry in
            [
                ServiceProvider(Service.self, name: name, lifetime: lifetime, on: actor) { [weak registry] in
                    guard let registry else { throw Failure.noService(name) }
                    return try make(registry)
                }
            ]
        }
    }

    /// A service that exists already.
    public init<Service: Sendable>(
        _ name: String, instance: Service, @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, make: { instance }, methods: methods)
    }

    /// A service that is registered in the registry under its type, for instance a protocol.
    public init<Service: Sendable>(
        _ name: String, of type: Service.Type, @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, of: type, on: nil, methods: methods) { _ in [] }
    }

    private init<Service: Sendable>(
        _ name: String, of type: Service.Type, on actor: (any Actor)?,
        methods: () -> [Exposed<Service>],
        providers: @escaping @Sendable (ServiceRegistry) -> [ServiceProvider]
    ) {
        self.name = name
        self.actor = actor
        self.providers = providers
        self.methods = methods().map(ExposedMethod.init)
    }
}

/// An exposed method without the type of its service; shared by all calls.
final class ExposedMethod: Sendable {
    let description: MethodDescription
    /// All names under which it is called, without the base name.
    let names: Set<String>
    let base: String
    /// Why it cannot be exposed; nil for a good one.
    let mistake: String?
    let work: HandlerBody<Call, JSONValue>
    /// The type of its service; nil when it needs none.
    let service: ObjectIdentifier?

    /// What a call brings along.
    struct Call: Sendable {
        var registry: ServiceRegistry
        /// How to get the service.
        var entry: ServiceEntry?
        var source: ArgumentSource
        var result: ServiceResultType
        var context: OpenContext
        /// The service, when it had to be made elsewhere.
        var made: Boxed<any Sendable>?

        func service<Service>() throws -> Service {
            guard let made else { return try registry.instance(of: Service.self, from: entry, on: nil) }
            // With `as?`, the type of an optional service would be looked up each time.
            switch made.value {
            case let service as Service: return service
            default: throw Failure.handlerFailed("\(entry?.name ?? "what was made") is not a \(Service.self)")
            }
        }

        /// The call with the service, which was made on the actor of its factory.
        func making(_ entry: ServiceEntry, on actor: isolated any Actor) async throws -> Self {
            var call = self
            call.made = Boxed(try registry.instance(from: entry, on: actor))
            return call
        }
    }

    /// What a call runs: the method, behind the making of its service where that belongs to an actor.
    func work(from entry: ServiceEntry?) -> HandlerBody<Call, JSONValue> {
        guard let entry, let actor = entry.actor else { return work }
        return .waiting { [work] call in try await work(try await call.making(entry, on: actor)) }
    }

    init(
        _ description: MethodDescription, names: Set<String>, base: String, mistake: String? = nil,
        work: HandlerBody<Call, JSONValue>, service: ObjectIdentifier?
    ) {
        self.description = description
        self.names = names
        self.base = base
        self.mistake = mistake
        self.work = work
        self.service = service
    }

    convenience init<Service: Sendable>(_ method: Exposed<Service>) {
        let name = MethodName(method.name)
        let labels = name?.labels ?? []
        let selectors = method.selector.map { [$0] } ?? name?.selectors ?? []
        let description = MethodDescription(
            name: name?.full ?? method.name, selector: selectors.first ?? method.name,
            arguments: zip(labels, method.arguments).map { .init(label: $0, value: $1) },
            result: method.result, idempotent: method.idempotent)
        let mistake: String? =
            if name == nil {
                "\"\(method.name)\" is not a method name like add(a:b:)"
            } else if labels.count != method.arguments.count {
                "\(method.name) names \(labels.count) arguments, its closure takes \(method.arguments.count)"
            } else {
                nil
            }
        self.init(
            description, names: Set(selectors + [description.name]), base: name?.base ?? method.name,
            mistake: mistake, work: method.work, service: ObjectIdentifier(Service.self))
    }
}
