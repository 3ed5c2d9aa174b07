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
    let methods: [ExposedMethod]

    /// A service that the registry makes when it is first needed.
    ///
    /// It can also be fetched by its type.
    public init<Service: Sendable>(
        _ name: String, lifetime: ServiceLifetime = .shared, make: @escaping @Sendable () throws -> Service,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, of: Service.self, methods: methods) { _ in
            [ServiceProvider(Service.self, name: name, lifetime: lifetime, make: make)]
        }
    }

    /// A service that is made of others, which its factory takes from the registry.
    ///
    ///     ExposedService("OrderService", make: { try OrderService(orders: $0.instance(of: Orders.self)) }) { … }
    public init<Service: Sendable>(
        _ name: String, lifetime: ServiceLifetime = .shared,
        make: @escaping @Sendable (ServiceRegistry) throws -> Service,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, of: Service.self, methods: methods) { registry in
            [
                ServiceProvider(Service.self, name: name, lifetime: lifetime) { [weak registry] in
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
        self.init(name, of: type, methods: methods) { _ in [] }
    }

    private init<Service: Sendable>(
        _ name: String, of type: Service.Type, methods: () -> [Exposed<Service>],
        providers: @escaping @Sendable (ServiceRegistry) -> [ServiceProvider]
    ) {
        self.name = name
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

    /// What a call brings along.
    struct Call: Sendable {
        var registry: ServiceRegistry
        var exposed: CallableService
        var source: ArgumentSource
        var result: ServiceResultType
        var context: OpenContext

        func service<Service>() throws -> Service {
            try registry.instance(of: Service.self, exposedBy: exposed)
        }
    }

    init(
        _ description: MethodDescription, names: Set<String>, base: String, mistake: String? = nil,
        work: HandlerBody<Call, JSONValue>
    ) {
        self.description = description
        self.names = names
        self.base = base
        self.mistake = mistake
        self.work = work
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
            mistake: mistake, work: method.work)
    }
}
