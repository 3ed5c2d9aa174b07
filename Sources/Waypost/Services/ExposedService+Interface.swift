extension ExposedService {
    /// A service that is fetched by its own type and by another, often a protocol; both give the same instance.
    ///
    ///     ExposedService(
    ///         "AppConfigService", as: (any AppConfigService).self, make: LocalAppConfig.init, convert: { $0 }
    ///     ) {
    ///         Exposed("value(of:)") { (config: LocalAppConfig, key: String) in config.value(of: key) }
    ///     }
    ///
    /// - Parameters:
    ///   - name: The name that callers use.
    ///   - interface: The other type.
    ///   - lifetime: Whether all callers get the same instance; `.shared` unless given.
    ///   - make: Creates the service when it is first needed.
    ///   - convert: Gives the service as the other type.
    ///   - methods: The methods that may be called from outside.
    public init<Service: Sendable, Interface: Sendable>(
        _ name: String, as interface: Interface.Type, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable () throws -> Service,
        @_inheritActorContext convert: @escaping @isolated(any) @Sendable (Service) -> Interface,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, lifetime: lifetime, make: make, methods: methods)
        provide(interface, lifetime, convert)
    }

    /// The same for a service that is made of others, which its factory takes from the registry.
    public init<Service: Sendable, Interface: Sendable>(
        _ name: String, as interface: Interface.Type, lifetime: ServiceLifetime = .shared,
        @_inheritActorContext make: @escaping @isolated(any) @Sendable (ServiceRegistry) throws -> Service,
        @_inheritActorContext convert: @escaping @isolated(any) @Sendable (Service) -> Interface,
        @ExposedBuilder<Service> methods: () -> [Exposed<Service>]
    ) {
        self.init(name, lifetime: lifetime, make: make, methods: methods)
        provide(interface, lifetime, convert)
    }

    private mutating func provide<Service: Sendable, Interface: Sendable>(
        _ interface: Interface.Type, _ lifetime: ServiceLifetime,
        _ convert: @escaping @isolated(any) @Sendable (Service) -> Interface
    ) {
        let (own, name) = (providers, name)
        let (actor, convert) = (convert.isolation ?? actor, unisolated(handler: convert))
        providers = { registry in
            // Weak, for the registry keeps the factory.
            let provider = ServiceProvider(interface, name: name, lifetime: lifetime, on: actor) {
                [weak registry] in
                guard let registry else { throw Failure.noService(name) }
                return try convert(registry.instance(of: Service.self, on: actor))
            }
            return own(registry) + [provider]
        }
    }
}

extension Exposed {
    /// The service as it is; written before a call that may be isolated, asynchronous or throwing.
    ///
    /// `@Exposed` cannot see which of these a method is, and with this before it `try await` is never too much.
    nonisolated(nonsending) public static func calling(_ service: Service) async throws -> Service { service }
}
