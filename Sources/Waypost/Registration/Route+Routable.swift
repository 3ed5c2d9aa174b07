extension Route {
    /// A route to a type, by hand what `@Routable` emits.
    ///
    ///     try router.register([
    ///         Route("myapp://orders/:id", to: OrderPage.self, priority: 5),
    ///         Route("myapp://orders", to: OrderList.self),
    ///     ])
    ///
    /// What the type says of itself goes behind what is said here. Registering it throws ``RegistrationError`` when a
    /// property of a `Decodable` ``RoutablePage`` can never be read from its placeholder.
    /// - Parameters:
    ///   - pattern: The URLs it takes; see <doc:FindingAHandler>.
    ///   - destination: The type.
    ///   - name: What relocation entries call `className`; `Module.Type` unless given.
    ///   - priority: A route with a higher priority is tried first; 0 unless set.
    ///   - kind: A page, an action or web content.
    ///   - takesDeeper: Whether it also matches deeper URLs that no other route matches.
    ///   - idempotent: Whether an open that a crash interrupted may run again.
    ///   - jumpType: How it is shown when the call does not say it.
    ///   - metadata: What the author says about it.
    ///   - defaults: Parameters for opens that do not have them.
    ///   - parameters: What it reads beside the placeholders.
    ///   - redirect: A conditional redirect; that of the type unless given.
    public init<Destination: Routable>(
        _ pattern: RouteKey, to destination: Destination.Type, name: String? = nil, priority: Int = 0,
        kind: RouteKind = .page, takesDeeper: Bool = false, idempotent: Bool = false,
        jumpType: JumpType? = nil, metadata: [String: JSONValue] = [:],
        defaults: [String: JSONValue] = [:], parameters: [RouteParameter] = [], redirect: Redirect? = nil
    ) {
        self.init(
            pattern, name: name ?? Self.className(of: destination), priority: priority, kind: kind,
            takesDeeper: takesDeeper, idempotent: idempotent, jumpType: jumpType ?? Destination.jumpType,
            metadata: Destination.metadata.merging(metadata) { $1 },
            defaults: Destination.defaults.merging(defaults) { $1 },
            parameters: parameters + Destination.parameters,
            redirect: redirect ?? { Destination.redirect($0) },
            handler: { try await Destination.open($0) })
        if let type = destination as? any (RoutablePage & Decodable).Type {
            properties = TypedProperties(of: type)
        }
    }

    /// `Module.Type`, also for a private type, which Swift itself describes by an address that changes.
    static func className<Destination>(of type: Destination.Type) -> String {
        let name = String(reflecting: type)
        guard name.contains("(unknown context at ") else { return name }
        var parts: [Substring] = []
        var rest = name[...]
        while let open = rest.firstRange(of: "(unknown context at ") {
            parts.append(rest[..<open.lowerBound])
            rest = rest[open.upperBound...]
            guard let close = rest.firstRange(of: ").") else { break }
            rest = rest[close.upperBound...]
        }
        return parts.joined() + rest
    }
}
