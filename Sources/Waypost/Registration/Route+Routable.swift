extension Route {
    /// A route to a type, by hand what `@Routable` emits.
    ///
    ///     try router.register([
    ///         Route("myapp://orders/:id", to: OrderPage.self, priority: 5),
    ///         Route("myapp://orders", to: OrderList.self),
    ///     ])
    ///
    /// - Parameters:
    ///   - pattern: The URLs it takes; see ``RoutePattern``.
    ///   - destination: The type.
    ///   - name: What relocation entries call `className`; `Module.Type` unless given.
    ///   - priority: A route with a higher priority is tried first; 0 unless set.
    ///   - kind: A page, an action or web content.
    ///   - takesDeeper: Whether it also matches deeper URLs that no other route matches.
    ///   - idempotent: Whether an open that a crash interrupted may run again.
    ///   - metadata: Metadata of this route; those of the type are added where a key is not among them.
    public init<Destination: Routable>(
        _ pattern: String, to destination: Destination.Type, name: String? = nil, priority: Int = 0,
        kind: RouteKind = .page, takesDeeper: Bool = false, idempotent: Bool = false,
        metadata: [String: JSONValue] = [:]
    ) {
        self.init(
            pattern, name: name ?? Self.className(of: destination), priority: priority, kind: kind,
            takesDeeper: takesDeeper, idempotent: idempotent, jumpType: Destination.jumpType,
            metadata: Destination.metadata.merging(metadata) { $1 }, defaults: Destination.defaults,
            parameters: Destination.parameters,
            redirect: { Destination.redirect($0) },
            handler: { try await Destination.open($0) })
    }

    /// A route to a type for the pattern of a key.
    public init<Destination: Routable>(
        _ key: RouteKey, to destination: Destination.Type, name: String? = nil, priority: Int = 0,
        kind: RouteKind = .page, takesDeeper: Bool = false, idempotent: Bool = false,
        metadata: [String: JSONValue] = [:]
    ) {
        self.init(
            key.rawValue, to: destination, name: name, priority: priority, kind: kind,
            takesDeeper: takesDeeper, idempotent: idempotent, metadata: metadata)
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
